"""Every adapter against an oracle, called with the keywords that the course's tests use.

The parts behind the adapters have thorough tests of their own; these hold names, shapes and types, and that
weights go where they belong.
"""

import io
import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import adapters, oracles

BATCH, SEQ, D_MODEL, HEADS, D_FF, VOCAB, LAYERS, THETA = 4, 12, 64, 4, 128, 100, 3, 10_000.0
CONTEXT = 16  # longer than the sequences, as in the course's tests


@pytest.fixture
def weights() -> dict[str, Tensor]:
    return oracles.random_weights(VOCAB, D_MODEL, D_FF, LAYERS)


@pytest.fixture
def x() -> Tensor:
    return torch.randn(BATCH, SEQ, D_MODEL, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def ids() -> Tensor:
    return torch.randint(VOCAB, (BATCH, SEQ), generator=torch.Generator().manual_seed(2))


def close(actual: Tensor, expected: Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(actual, expected, atol=tolerance, rtol=tolerance)


# Layers


def test_linear(weights, x):
    weight = weights["layers.0.ffn.w1.weight"]
    close(
        adapters.run_linear(d_in=D_MODEL, d_out=D_FF, weights=weight, in_features=x), F.linear(x, weight), 1e-5
    )  # float32 sums of 64 products, in another order


def test_embedding(weights, ids):
    table = weights["token_embeddings.weight"]
    actual = adapters.run_embedding(vocab_size=VOCAB, d_model=D_MODEL, weights=table, token_ids=ids)
    assert torch.equal(actual, F.embedding(ids, table))


def test_swiglu(weights, x):
    w1, w2, w3 = (weights[f"layers.0.ffn.{name}.weight"] for name in ("w1", "w2", "w3"))
    actual = adapters.run_swiglu(d_model=D_MODEL, d_ff=D_FF, w1_weight=w1, w2_weight=w2, w3_weight=w3, in_features=x)
    close(actual, oracles.swiglu(x, w1, w2, w3), 1e-5)


def test_silu(x):
    close(adapters.run_silu(in_features=10 * x), F.silu(10 * x))


def test_rmsnorm(weights, x):
    gain = weights["layers.1.ln1.weight"]
    actual = adapters.run_rmsnorm(d_model=D_MODEL, eps=1e-5, weights=gain, in_features=x)
    close(actual, F.rms_norm(x, (D_MODEL,), gain, 1e-5))


@pytest.mark.parametrize("dim", [-1, 0, 1])
@pytest.mark.parametrize("shift", [0, 100, 10_000])
def test_softmax(dim, shift):
    x = torch.randint(-8, 8, (3, 4, 5), generator=torch.Generator().manual_seed(3)).float()
    close(adapters.run_softmax(in_features=x + shift, dim=dim), F.softmax(x, dim=dim))


def test_rope(x):
    positions = torch.arange(SEQ)
    actual = adapters.run_rope(d_k=D_MODEL, theta=THETA, max_seq_len=SEQ, in_query_or_key=x, token_positions=positions)
    close(actual, oracles.rotated(x, positions, THETA))
    scattered = torch.randint(CONTEXT, (BATCH, SEQ), generator=torch.Generator().manual_seed(4))
    close(adapters.run_rope(D_MODEL, THETA, CONTEXT, x, scattered), oracles.rotated(x, scattered, THETA))


# Attention


@pytest.mark.parametrize("leading", [(8,), (4, 2)], ids=["3d", "4d"])
def test_scaled_dot_product_attention(leading):
    generator = torch.Generator().manual_seed(5)
    q = torch.randn(*leading, SEQ, D_MODEL, generator=generator)
    k, v = (torch.randn(*leading, CONTEXT, D_MODEL, generator=generator) for _ in range(2))
    mask = torch.rand(*leading, SEQ, CONTEXT, generator=generator) > 0.5
    close(adapters.run_scaled_dot_product_attention(Q=q, K=k, V=v), F.scaled_dot_product_attention(q, k, v))
    actual = adapters.run_scaled_dot_product_attention(Q=q, K=k, V=v, mask=mask)
    close(actual, F.scaled_dot_product_attention(q, k, v, attn_mask=mask), 1e-5)


def test_a_query_that_may_attend_to_nothing_gets_zeros(x):
    mask = torch.ones(SEQ, SEQ, dtype=torch.bool)
    mask[3] = False
    actual = adapters.run_scaled_dot_product_attention(x, x, x, mask)
    assert torch.equal(actual[:, 3], torch.zeros(BATCH, D_MODEL)) and actual.isfinite().all()


def test_multihead_self_attention(weights, x):
    attention = oracles.part(weights, "layers.0.attn.")
    actual = adapters.run_multihead_self_attention(**shape_and_projections(attention), in_features=x)
    close(actual, oracles.multihead(x, attention, HEADS, theta=None), 1e-5)


@pytest.mark.parametrize("positions", [None, "seq", "one row", "each row"])
def test_multihead_self_attention_with_rope(weights, x, positions):
    attention = oracles.part(weights, "layers.0.attn.")
    shuffled = torch.stack([torch.randperm(CONTEXT)[:SEQ] for _ in range(BATCH)])
    given = {"seq": torch.arange(SEQ), "one row": torch.arange(SEQ)[None], "each row": shuffled}.get(positions)
    actual = adapters.run_multihead_self_attention_with_rope(
        **shape_and_projections(attention), max_seq_len=CONTEXT, theta=THETA, in_features=x, token_positions=given
    )
    close(actual, oracles.multihead(x, attention, HEADS, THETA, given), 1e-5)


def shape_and_projections(attention: dict[str, Tensor]) -> dict:
    projections = {f"{name[0]}_proj_weight": weight for name, weight in attention.items()}
    return {"d_model": D_MODEL, "num_heads": HEADS, **projections}


# The model


def test_transformer_block(weights, x):
    layer = oracles.part(weights, "layers.0.")
    actual = adapters.run_transformer_block(
        d_model=D_MODEL, num_heads=HEADS, d_ff=D_FF, max_seq_len=CONTEXT, theta=THETA, weights=layer, in_features=x
    )
    close(actual, oracles.block(x, layer, HEADS, THETA), 1e-5)


@pytest.mark.parametrize("length", [SEQ, SEQ // 2, 1])
def test_transformer_lm(weights, ids, length):
    actual = adapters.run_transformer_lm(
        vocab_size=VOCAB,
        context_length=CONTEXT,
        d_model=D_MODEL,
        num_layers=LAYERS,
        num_heads=HEADS,
        d_ff=D_FF,
        rope_theta=THETA,
        weights=weights,
        in_indices=ids[:, :length],
    )
    # The logits of a short text are those of the long one up to there: nothing looks ahead.
    close(actual, oracles.logits(ids, weights, LAYERS, HEADS, THETA)[:, :length], 1e-4)


# Loss, optimizer, schedule


@pytest.mark.parametrize("scale", [1, 1000])
def test_cross_entropy(scale):
    inputs = scale * torch.rand(8, 5, generator=torch.Generator().manual_seed(6))
    targets = torch.tensor([1, 0, 2, 2, 4, 1, 4, 0])
    close(adapters.run_cross_entropy(inputs=inputs, targets=targets), F.cross_entropy(inputs, targets))


@pytest.mark.parametrize("max_norm", [1e-2, 1e3])
@pytest.mark.parametrize("kind", [tuple, list, iter])
def test_gradient_clipping(max_norm, kind):
    ours, theirs = gradients(), gradients()
    nn.utils.clip_grad_norm_(theirs, max_norm)
    adapters.run_gradient_clipping(parameters=kind(ours), max_l2_norm=max_norm)
    assert ours[-1].grad is None
    for our, their in zip(ours[:-1], theirs[:-1], strict=True):
        close(our.grad, their.grad)


def gradients() -> list[nn.Parameter]:
    """Parameters with gradients; the last one is frozen and has none."""
    generator = torch.Generator().manual_seed(7)
    parameters = [nn.Parameter(torch.randn(5, 5, generator=generator)) for _ in range(4)]
    parameters[-1].requires_grad_(False)
    torch.cat([parameter.square() for parameter in parameters]).sum().backward()
    return parameters


def test_cosine_schedule():
    def rate(it: int) -> float:
        return adapters.run_get_lr_cosine_schedule(
            it=it, max_learning_rate=1, min_learning_rate=0.1, warmup_iters=7, cosine_cycle_iters=21
        )

    expected = [it / 7 for it in range(7)]
    expected += [0.1 + 0.9 * math.cos(math.pi * step / 28) ** 2 for step in range(15)]  # half-angle form
    assert [rate(it) for it in range(25)] == pytest.approx([*expected, 0.1, 0.1, 0.1], abs=1e-12)


def test_adamw():
    def trained(optimizer_class: Callable[..., torch.optim.Optimizer]) -> Tensor:
        generator = torch.Generator().manual_seed(8)
        weight = nn.Parameter(torch.randn(2, 3, generator=generator, dtype=torch.float64))
        optimizer = optimizer_class([weight], lr=1e-2, weight_decay=0.01, betas=(0.9, 0.999), eps=1e-8)
        for _ in range(200):
            x = torch.rand(3, generator=generator, dtype=torch.float64)
            optimizer.zero_grad()
            (weight @ x - torch.stack([x[0] + x[1], -x[2]])).square().sum().backward()
            optimizer.step()
        return weight.detach()

    close(trained(adapters.get_adamw_cls()), trained(torch.optim.AdamW), 1e-12)


# Data and checkpoints


def test_get_batch():
    starts = Counter()
    for _ in range(300):
        inputs, targets = adapters.run_get_batch(dataset=np.arange(100), batch_size=32, context_length=7, device="cpu")
        assert inputs.shape == targets.shape == (32, 7) and inputs.dtype == targets.dtype == torch.int64
        assert torch.equal(inputs + 1, targets)
        starts.update(inputs[:, 0].tolist())
    assert sorted(starts) == list(range(93))
    expected = 300 * 32 / 93
    assert max(abs(count - expected) for count in starts.values()) < 6 * math.sqrt(expected)


@pytest.mark.parametrize("device", ["cuda:99", "cuda"])
def test_get_batch_on_a_device_that_is_not_there(device):
    if device == "cuda" and torch.cuda.is_available():
        pytest.skip("this machine has CUDA")
    with pytest.raises((RuntimeError, AssertionError)):
        adapters.run_get_batch(dataset=np.arange(100), batch_size=2, context_length=7, device=device)


@pytest.mark.parametrize("kind", ["path", "str", "file"])
def test_checkpoint_of_any_module(tmp_path, kind):
    model, optimizer = trained_network(steps=10)
    file = io.BytesIO()
    out = {"path": tmp_path / "model.pt", "str": str(tmp_path / "model.pt"), "file": file}[kind]
    adapters.run_save_checkpoint(model, optimizer, iteration=10, out=out)
    file.seek(0)
    other, other_optimizer = trained_network(steps=0)
    assert adapters.run_load_checkpoint(src=out, model=other, optimizer=other_optimizer) == 10

    torch.testing.assert_close(other.state_dict(), model.state_dict(), atol=0, rtol=0)
    ours, theirs = other_optimizer.state_dict(), optimizer.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]  # betas are still a tuple
    torch.testing.assert_close(ours["state"], theirs["state"], atol=0, rtol=0)


def trained_network(steps: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    optimizer = adapters.get_adamw_cls()(model.parameters(), lr=1e-3, weight_decay=0.01, betas=(0.9, 0.999), eps=1e-8)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.rand(4, 6)).square().sum().backward()
        optimizer.step()
    return model, optimizer


# Tokenizer

STRINGS = ["", "s", "🙃", "Hello, how are you?", "Héllò hôw are ü? 🙃", "a\n\n\nb", "\r\n \t x", "it's 'LL 123abc"]


@pytest.fixture(scope="module")
def gpt2(shared) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    return oracles.gpt2_vocabulary(shared / "data/gpt2")


@pytest.fixture(scope="module")
def reference(gpt2):
    return oracles.tiktoken_gpt2(gpt2[0])


@pytest.mark.parametrize("text", STRINGS)
def test_tokenizer_on_strings(gpt2, reference, text):
    tokenizer = adapters.get_tokenizer(*gpt2)
    assert tokenizer.encode(text) == reference.encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("name", ["address.txt", "german.txt", "tinystories_sample.txt"])
def test_tokenizer_on_the_course_texts(gpt2, reference, shared, name):
    path = shared / "data/cs336" / name
    text = path.read_text(encoding="utf-8")
    tokenizer = adapters.get_tokenizer(vocab=gpt2[0], merges=gpt2[1], special_tokens=[oracles.END_OF_TEXT])
    ids = tokenizer.encode(text)
    assert ids == reference.encode(text, allowed_special={oracles.END_OF_TEXT})
    assert tokenizer.decode(ids) == text
    with path.open(encoding="utf-8") as file:  # line by line
        assert list(tokenizer.encode_iterable(file)) == ids


def test_special_tokens(gpt2, reference):
    tokenizer = adapters.get_tokenizer(*gpt2, [oracles.END_OF_TEXT])
    text = f"Héllò hôw {2 * oracles.END_OF_TEXT} are ü? 🙃\n\n{oracles.END_OF_TEXT}\n\nx"
    ids = tokenizer.encode(text)
    assert ids == reference.encode(text, allowed_special={oracles.END_OF_TEXT})
    assert [tokenizer.decode([id]) for id in ids].count(oracles.END_OF_TEXT) == 3
    assert tokenizer.decode(ids) == text


def test_the_longer_of_two_special_tokens_wins(gpt2):
    vocab, merges = gpt2
    double = 2 * oracles.END_OF_TEXT
    given = {**vocab, len(vocab): double.encode()}
    tokenizer = adapters.get_tokenizer(given, merges, [oracles.END_OF_TEXT, double])
    text = f"Hello, how {double} are you?{oracles.END_OF_TEXT}"
    tokens = [tokenizer.decode([id]) for id in tokenizer.encode(text)]
    assert (tokens.count(double), tokens.count(oracles.END_OF_TEXT)) == (1, 1)
    assert "".join(tokens) == text


# Training a vocabulary


@pytest.mark.parametrize("kind", [str, Path])
def test_train_bpe_gives_the_reference_merges(shared, kind):
    folder = shared / "data/cs336"
    vocab, merges = adapters.run_train_bpe(
        input_path=kind(folder / "corpus.en"), vocab_size=500, special_tokens=[oracles.END_OF_TEXT]
    )
    assert merges == oracles.read_merges(folder / "train-bpe-reference-merges.txt")
    names = json.loads((folder / "train-bpe-reference-vocab.json").read_text(encoding="utf-8"))
    expected = {id: oracles.to_bytes(name) for name, id in names.items()}
    assert set(vocab) == set(expected) and set(vocab.values()) == set(expected.values())
    assert type(vocab) is dict and all(type(pair) is tuple for pair in merges)


def test_train_bpe_learns_nothing_of_a_special_token(tmp_path):
    path = tmp_path / "stories.txt"
    path.write_text(f"a tale\n{oracles.END_OF_TEXT}\n" * 500, encoding="utf-8")
    vocab, merges = adapters.run_train_bpe(path, 300, [oracles.END_OF_TEXT])
    others = [token for token in vocab.values() if token != oracles.END_OF_TEXT.encode()]
    assert len(others) == len(vocab) - 1 and len(merges) == len(others) - 256
    assert not any(b"<|" in token or b"endof" in token for token in others)
