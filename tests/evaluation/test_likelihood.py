"""Likelihood against sums written out, whatever the batch; and nothing else changes by measuring."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from groundup.config import ModelConfig
from groundup.data.batches import batch_at
from groundup.data.shards import open_tokens, prepare
from groundup.errors import DataError
from groundup.evaluation.likelihood import evaluate, evaluate_tokens
from groundup.model.transformer import TransformerLM
from groundup.tokenizer.bpe import Tokenizer

BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], special_tokens=["<|endoftext|>"])
END = 256
CONTEXT = 16
TEXT = "Zwölf Boxkämpfer 🥊 jagen Viktor quer über den großen Sylter Deich. 十二人のボクサー。" * 3


def make_model(**variant) -> TransformerLM:
    torch.manual_seed(0)
    shape = {"vocab_size": 257, "context_length": CONTEXT, "d_model": 16, "num_layers": 1, "num_heads": 2}
    return TransformerLM(ModelConfig(**{**shape, **variant}))


class Fixed(nn.Module):
    """The same logits at every place."""

    def __init__(self, logits: torch.Tensor) -> None:
        super().__init__()
        self.config = ModelConfig(vocab_size=len(logits), context_length=CONTEXT)
        self.logits = nn.Parameter(logits)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.logits.expand(*ids.shape, -1)


def make_tokens(count: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 257, count).astype(np.uint16)


def by_hand(model: nn.Module, tokens: np.ndarray, context_length: int) -> float:
    """Mean of -log p over all targets, window by window, in float64."""
    double = model.double().eval()
    nats, ids = [], torch.from_numpy(tokens.astype(np.int64))
    for start in range(0, len(ids) - 1, context_length):
        window = ids[start : start + context_length + 1]
        logits = double(window[:-1])
        nats += nn.functional.cross_entropy(logits, window[1:], reduction="none").tolist()
    model.float()
    assert len(nats) == len(tokens) - 1
    return math.fsum(nats) / len(nats)


@pytest.mark.parametrize("count", [2, CONTEXT, CONTEXT + 1, CONTEXT + 2, 4 * CONTEXT + 8])
@pytest.mark.parametrize("context_length", [None, 5])
def test_every_token_but_the_first_is_scored_once(count, context_length):
    model, tokens = make_model(), make_tokens(count)
    result = evaluate_tokens(model, tokens, context_length=context_length)
    assert result.num_targets == count - 1
    # 1e-6: float32 logits of size 1
    assert result.nats_per_token == pytest.approx(by_hand(model, tokens, context_length or CONTEXT), abs=1e-6)
    assert result.perplexity == pytest.approx(math.exp(result.nats_per_token))
    assert (result.bits_per_byte, result.num_bytes) == (None, None)
    assert result.seconds > 0


def test_the_batch_size_changes_nothing():
    model, tokens = make_model(num_kv_heads=1), make_tokens(70 * CONTEXT + 5)
    results = [evaluate_tokens(model, tokens, batch_size=size) for size in (1, 7, 64)]
    assert {result.num_targets for result in results} == {70 * CONTEXT + 4}
    assert max(r.nats_per_token for r in results) - min(r.nats_per_token for r in results) < 1e-6


def test_known_logits_give_known_numbers():
    lengths = np.array([1, 3, 0, 2])
    tokens = np.array([3, 0, 1, 2, 1], dtype=np.uint16)
    result = evaluate_tokens(Fixed(torch.zeros(4)), tokens, byte_lengths=lengths)
    assert result.nats_per_token == pytest.approx(math.log(4), abs=1e-7)
    assert result.perplexity == pytest.approx(4, abs=1e-6)
    assert result.num_bytes == 1 + 3 + 0 + 3  # not the 2 of the first token
    assert result.bits_per_byte == pytest.approx(4 * 2 / 7, abs=1e-6)

    probabilities = torch.tensor([0.125, 0.25, 0.125, 0.5])
    result = evaluate_tokens(Fixed(probabilities.log()), tokens, byte_lengths=lengths)
    assert result.bits_per_byte == pytest.approx((3 + 2 + 3 + 2) / 7, abs=1e-6)


def test_the_extremes_are_numbers_too():
    surprised = Fixed(torch.tensor([0.0, 2000.0]))
    result = evaluate_tokens(surprised, np.zeros(9, dtype=np.uint16), byte_lengths=np.zeros(2, dtype=np.int64))
    assert (result.nats_per_token, result.perplexity) == (2000.0, math.inf)
    assert (result.bits_per_byte, result.num_bytes) == (None, 0)  # only special tokens: no bytes to share
    assert math.isnan(evaluate_tokens(Fixed(torch.full((2,), math.nan)), np.zeros(9, np.uint16)).perplexity)


def test_scored_bytes_are_the_bytes_of_the_text():
    # Merges that end within characters: no such token is UTF-8 by itself.
    first, second = "ö".encode()[:1], "ä".encode()[:1]
    merges = [(b"w", first), (b"k", second)]
    tokenizer = Tokenizer(
        {**{byte: bytes([byte]) for byte in range(256)}, 256: b"w" + first, 257: b"k" + second},
        merges,
        special_tokens=["<|endoftext|>"],
    )
    ids = np.array(tokenizer.encode(f"{TEXT}<|endoftext|>{TEXT}<|endoftext|>"), dtype=np.uint16)
    assert {256, 257, 258} <= set(ids.tolist())
    result = evaluate_tokens(make_model(vocab_size=259), ids, byte_lengths=tokenizer.byte_lengths(), context_length=7)
    assert result.num_bytes == 2 * len(TEXT.encode()) - len(tokenizer.token_bytes(int(ids[0])))
    expected = result.nats_per_token * result.num_targets / math.log(2) / result.num_bytes
    assert result.bits_per_byte == pytest.approx(expected)


def test_measuring_leaves_no_trace():
    model, tokens = make_model(dropout=0.5), make_tokens(200)
    model.train()
    model.layers[0].ffn.eval()
    modes = [module.training for module in model.modules()]
    state = torch.get_rng_state()

    def batch():
        return batch_at(tokens, step=3, batch_size=2, context_length=CONTEXT, seed=1)[0].tolist()

    before = batch()
    first, second = (evaluate_tokens(model, tokens) for _ in range(2))
    assert first.nats_per_token == second.nats_per_token  # dropout was off
    assert [module.training for module in model.modules()] == modes
    assert torch.equal(torch.get_rng_state(), state)
    assert batch() == before
    assert all(parameter.grad is None for parameter in model.parameters())
    assert torch.is_grad_enabled()


def test_modes_come_back_after_an_error_too():
    model = make_model().train()
    with pytest.raises(DataError, match="holds 1 ids"):
        evaluate_tokens(model, make_tokens(1))
    with pytest.raises(DataError, match="outside the vocabulary of 257"):
        evaluate_tokens(model, np.full(5, 257, dtype=np.uint16))
    with pytest.raises(DataError, match="outside the vocabulary of 9"):
        evaluate_tokens(model, np.full(5, 9, dtype=np.uint16), byte_lengths=np.ones(9, dtype=np.int64))
    assert all(module.training for module in model.modules())


def test_progress_counts_targets():
    seen = []
    evaluate_tokens(make_model(), make_tokens(3 * CONTEXT + 5), batch_size=2, progress=seen.append)
    assert seen == [2 * CONTEXT, 3 * CONTEXT, 3 * CONTEXT + 4]


def test_a_bf16_model_is_measured_in_float32():
    tokens = make_tokens(100)
    exact = evaluate_tokens(make_model(), tokens).nats_per_token
    assert evaluate_tokens(make_model().bfloat16(), tokens).nats_per_token == pytest.approx(exact, abs=0.02)


@pytest.fixture
def run() -> SimpleNamespace:
    return SimpleNamespace(model=make_model(), tokenizer=BYTES)


def numbers(result) -> tuple:
    return result.nats_per_token, result.bits_per_byte, result.num_targets, result.num_bytes


def test_files_count_as_the_dataset_that_they_make(tmp_path, run):
    text, lines = tmp_path / "stories.txt", tmp_path / "stories.jsonl"
    text.write_text(f"{TEXT}\n<|endoftext|>\nEin Ende.<|endoftext|> \n", encoding="utf-8")
    documents = [TEXT, "Mit <|endoftext|> im Text."]
    lines.write_text("".join(json.dumps({"text": each}) + "\n" for each in documents), encoding="utf-8")
    prepare(text, BYTES, tmp_path / "data", valid_paths=[text, lines], num_workers=1)

    result = evaluate(run, [str(text), str(lines)])
    assert numbers(evaluate(run, tmp_path / "data")) == numbers(result)
    assert numbers(evaluate(run, str(tmp_path / "data"), split="train")) == numbers(evaluate(run, text))
    assert numbers(evaluate(run, str(tmp_path / "stories.*"))) == numbers(evaluate(run, [lines, text]))

    ids = open_tokens(tmp_path / "data", "valid")
    assert numbers(evaluate(run, ids)) == numbers(evaluate(run, np.asarray(ids))) == numbers(result)
    np.save(tmp_path / "ids.npy", np.asarray(ids))
    np.asarray(ids).tofile(tmp_path / "ids.bin")
    for file in ("ids.npy", "ids.bin"):
        assert numbers(evaluate(run, tmp_path / file, batch_size=3)) == pytest.approx(numbers(result), abs=1e-6)


def test_scored_bytes_of_a_file_are_its_documents(tmp_path, run):
    path = tmp_path / "a.txt"
    path.write_text(f"{TEXT}<|endoftext|>\n{TEXT}", encoding="utf-8")
    assert evaluate(run, path).num_bytes == 2 * len(TEXT.encode()) + 1 - 1  # a newline more, the first byte less


def test_a_dataset_of_another_tokenizer_is_refused(tmp_path, run):
    other = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], special_tokens=["<|endoftext|>", "<|x|>"])
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    prepare(tmp_path / "a.txt", other, tmp_path / "data", num_workers=1)
    with pytest.raises(DataError) as error:
        evaluate(run, tmp_path / "data")
    assert other.fingerprint in str(error.value) and BYTES.fingerprint in str(error.value)


def test_what_cannot_be_scored_is_one_clear_error(tmp_path, run):
    (tmp_path / "empty.txt").write_text(" \n", encoding="utf-8")
    with pytest.raises(DataError, match="holds no text"):
        evaluate(run, tmp_path / "empty.txt")
    with pytest.raises(DataError, match="does not exist"):
        evaluate(run, tmp_path / "missing.txt")
    with pytest.raises(DataError, match=r"holds no manifest\.json"):
        evaluate(run, tmp_path)
    no_end = SimpleNamespace(model=run.model, tokenizer=Tokenizer({0: b"a"}, []))
    (tmp_path / "a.txt").write_text("aaa", encoding="utf-8")
    with pytest.raises(DataError, match="tokenizer has no"):
        evaluate(no_end, tmp_path / "a.txt")
