"""The options of the leaderboard lab: each is the base where it should be, and its formula where it is not."""

import dataclasses

import pytest
import torch
from torch import Tensor

from groundup.config import ModelConfig
from groundup.errors import ConfigError
from groundup.generation.engine import complete_ids
from groundup.generation.sampling import SamplingConfig
from groundup.kernels.registry import choose
from groundup.model.kv_cache import KVCache
from groundup.model.ops import mixed
from groundup.model.transformer import TransformerLM
from groundup.model.variants import VariantLM, build_model, soft_cap, squared_relu

TINY = ModelConfig(vocab_size=50, context_length=16, d_model=24, num_layers=3, num_heads=4, d_ff=40)
OPTIONS = [
    {"ffn": "relu2"},
    {"value_residual": True},
    {"value_residual": True, "num_kv_heads": 2, "qk_norm": True},
    {"embedding_shortcut": True},
    {"scale_embeddings": True, "tie_embeddings": True},
    {"logit_cap": 5.0},
    {
        "ffn": "relu2",
        "value_residual": True,
        "embedding_shortcut": True,
        "scale_embeddings": True,
        "logit_cap": 5.0,
        "zero_outputs": True,
    },
]


def made(seed: int = 0, **changes) -> TransformerLM:
    torch.manual_seed(seed)
    return build_model(dataclasses.replace(TINY, **changes))


def some_ids(*shape: int) -> Tensor:
    return torch.randint(0, TINY.vocab_size, shape, generator=torch.Generator().manual_seed(1))


def test_without_an_option_the_model_is_the_base_itself():
    base = made()
    assert type(base) is TransformerLM
    torch.manual_seed(0)
    again = TransformerLM(TINY)
    assert all(torch.equal(one, other) for one, other in zip(base.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_the_base_class_refuses_what_it_would_not_compute(changes):
    with pytest.raises(ConfigError, match=r"use model\.variants\.build_model"):
        TransformerLM(dataclasses.replace(TINY, **changes))


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_a_variant_begins_with_the_weights_of_the_base(changes):
    model = made(**changes)
    assert isinstance(model, VariantLM) and model.config == dataclasses.replace(TINY, **changes)
    plain = {"ffn": "silu"} if changes.get("ffn") == "relu2" else {}
    kept = ("num_kv_heads", "qk_norm", "tie_embeddings", "zero_outputs")
    base = made(**plain, **{name: value for name, value in changes.items() if name in kept}).state_dict()
    ours = model.state_dict()
    shares = {"value_residual": "value_share", "embedding_shortcut": "stream_shares"}
    more = {f"layers.{i}.{shares[name]}" for name in shares if name in changes for i in (1, 2)}
    assert set(ours) == set(base) | more
    assert all(torch.equal(ours[name], base[name]) for name in base)


def test_squared_relu_and_its_gradient():
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    assert torch.equal(squared_relu(x), torch.where(x > 0, x * x, 0.0))
    assert torch.autograd.gradcheck(squared_relu, (x,))
    (slope,) = torch.autograd.grad(squared_relu(x).sum(), x)
    torch.testing.assert_close(slope, 2 * x.detach().clamp(min=0))


def test_the_squared_relu_stands_between_the_two_matrices():
    model = made(ffn="relu2")
    x = torch.randn(2, 24)
    ffn = model.layers[1].ffn
    expected = (x @ ffn.w1.weight.T).clamp(min=0) ** 2 @ ffn.w2.weight.T
    torch.testing.assert_close(ffn(x), expected)


def set_shares(model: TransformerLM, value: float) -> None:
    with torch.no_grad():
        for layer in model.layers[1:]:
            layer.value_share.fill_(value)


def test_value_residual_with_share_0_is_the_base_to_the_bit():
    model, base = made(value_residual=True), made()
    set_shares(model, 0.0)
    ids = some_ids(2, 9)
    assert torch.equal(model(ids), base(ids))
    for one in (model, base):
        one.ops.cross_entropy(one(ids), ids).backward()
    gradients = dict(model.named_parameters())
    for name, parameter in base.named_parameters():
        torch.testing.assert_close(gradients[name].grad, parameter.grad, rtol=1e-5, atol=1e-8)
    assert all(gradients[f"layers.{i}.value_share"].grad.abs() > 0 for i in (1, 2))


def test_value_residual_with_share_1_attends_to_the_values_of_the_first_layer():
    """Then the value projections of the other layers make no difference."""
    model, ids = made(value_residual=True), some_ids(2, 9)
    set_shares(model, 1.0)
    before = model(ids)
    rows = 24  # of the values, the last third
    with torch.no_grad():
        model.layers[2].attn.qkv_weight[-rows:].normal_()
    torch.testing.assert_close(model(ids), before)
    with torch.no_grad():
        model.layers[0].attn.qkv_weight[-rows:].normal_()
    assert (model(ids) - before).abs().max() > 0.01


@pytest.mark.parametrize("name", ["value_residual", "embedding_shortcut"])
def test_shortcuts_need_pre_norm(name):
    with pytest.raises(ConfigError, match=f"norm is 'post' and {name} is on; it needs norm pre"):
        dataclasses.replace(TINY, norm="post", **{name: True})


def test_an_embedding_shortcut_begins_as_the_base_to_the_bit():
    model, base, ids = made(embedding_shortcut=True), made(), some_ids(2, 9)
    assert torch.equal(model(ids), base(ids))
    model.ops.cross_entropy(model(ids), ids).backward()
    assert all((model.layers[i].stream_shares.grad.abs() > 0).all() for i in (1, 2))


def test_an_embedding_shortcut_mixes_the_stream_before_the_layer():
    model, base = made(embedding_shortcut=True), made()
    x, embedded = torch.randn(2, 5, 24), torch.randn(2, 5, 24)
    with torch.no_grad():
        model.layers[1].stream_shares.copy_(torch.tensor([0.5, 2.0]))
    torch.testing.assert_close(model.layers[1](x, None, None, embedded), base.layers[1](0.5 * x + 2 * embedded))
    assert torch.equal(model.layers[0](x, None, None, embedded), base.layers[0](x))


def test_scaled_embeddings_begin_at_unit_size():
    model, plain = made(scale_embeddings=True, tie_embeddings=True), made(tie_embeddings=True)
    ids = some_ids(4, 16)
    scaled = model.token_embeddings(ids)
    torch.testing.assert_close(scaled, plain.token_embeddings(ids) * 24**0.5)
    assert float(scaled.detach().square().mean().sqrt()) == pytest.approx(1.0, rel=0.1)
    assert model.lm_head.weight is model.token_embeddings.weight


def test_soft_cap_is_the_identity_near_0_and_never_passes_the_cap():
    small = torch.linspace(-0.1, 0.1, 11, dtype=torch.float64)
    torch.testing.assert_close(soft_cap(small, 30.0), small, rtol=1e-5, atol=0)
    large = torch.tensor([20.0, 1e4, -1e30])
    assert (soft_cap(large, 15.0).abs() <= 15.0).all() and soft_cap(large, 15.0)[0] < 15.0
    x = torch.randn(20, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: soft_cap(x, 2.0), (x,))
    assert soft_cap(torch.ones(1, dtype=torch.bfloat16), 15.0).dtype == torch.float32


def test_the_cap_is_on_the_logits_of_the_base():
    model, base, ids = made(logit_cap=2.0), made(), some_ids(2, 9)
    torch.testing.assert_close(model(ids), 2 * torch.tanh(base(ids) / 2))
    torch.testing.assert_close(model(ids), model.lm_head(model.hidden(ids)))


@pytest.mark.parametrize("changes", [{}, *OPTIONS], ids=str)
def test_zero_outputs_begin_by_changing_nothing(changes):
    model = made(**changes | {"zero_outputs": True})
    ids = some_ids(2, 9)
    embedded = model.token_embeddings(ids)
    torch.testing.assert_close(model.hidden(ids), model.ln_final(embedded))
    model.ops.cross_entropy(model(ids), ids).backward()
    assert all(layer.ffn.w2.weight.grad.abs().max() > 0 for layer in model.layers)


def away_from_the_start(model: TransformerLM) -> TransformerLM:
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5).add_(0.1 * torch.randn(parameter.shape, generator=generator))
    return model.eval()


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_a_cache_changes_nothing(changes):
    model, ids = away_from_the_start(made(**changes)), some_ids(2, 12)
    cache = KVCache(model.config, 2)
    parts = []
    with torch.no_grad():
        for part in ids.split((5, 1, 4, 2), dim=1):
            parts.append(model(part, cache=cache))
            cache.advance(part.shape[1])
        torch.testing.assert_close(torch.cat(parts, dim=1), model(ids), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_no_token_sees_what_comes_after_it(changes):
    model, ids = away_from_the_start(made(**changes)), some_ids(1, 10)
    other = ids.clone()
    other[:, 6:] = (ids[:, 6:] + 1) % TINY.vocab_size
    with torch.no_grad():
        torch.testing.assert_close(model(ids)[:, :6], model(other)[:, :6], rtol=0, atol=0)


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_layers_computed_again_give_the_same_gradients(changes):
    ids, found = some_ids(2, 9), []
    for checkpointed in (False, True):
        torch.manual_seed(0)
        config = dataclasses.replace(TINY, dropout=0.2, **changes)
        model = build_model(config, checkpoint_activations=checkpointed).train()
        torch.manual_seed(3)
        model.ops.cross_entropy(model(ids), ids).backward()
        found.append([parameter.grad for parameter in model.parameters()])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_kernels_and_bf16_are_near_the_reference(changes):
    model, ids = away_from_the_start(made(**changes)), some_ids(3, 11)
    with torch.no_grad():
        expected = model(ids)
        for ops, tolerance in ((choose("cpu", torch.float32), 1e-5), (mixed(torch.bfloat16), 0.1)):
            other = build_model(model.config, ops=ops).eval()
            other.load_state_dict(model.state_dict())
            found = other(ids)
            assert (found - expected).norm() < tolerance * expected.norm()


def test_dropout_follows_the_mode_of_the_model():
    model, ids = made(value_residual=True, dropout=0.5), some_ids(2, 9)
    assert not torch.equal(model(ids), model(ids))
    model.eval()
    assert torch.equal(model(ids), model(ids))


@pytest.mark.parametrize("changes", OPTIONS, ids=str)
def test_it_writes_text_by_the_reference(changes):
    """What native code would write is another model's: it is not asked."""
    model = away_from_the_start(made(**changes))
    ids = [3, 1, 4]
    config = SamplingConfig(temperature=0.0, max_tokens=6)
    written = complete_ids(model, [ids], config)[0].ids
    expected = list(ids)
    with torch.no_grad():
        for _ in range(6):
            expected.append(int(model(torch.tensor([expected]))[0, -1].argmax()))
    assert written == expected[3:]
