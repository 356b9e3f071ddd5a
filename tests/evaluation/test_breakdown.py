"""The parts of a loss add up to it, and each is what a sum written out by hand says."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from groundup.config import ModelConfig
from groundup.data.shards import open_tokens, prepare
from groundup.errors import DataError
from groundup.evaluation.breakdown import (
    DocumentScore,
    PositionScore,
    beginning,
    by_octave,
    evaluate_by_document,
    evaluate_by_position,
    ranked,
    total,
)
from groundup.evaluation.likelihood import evaluate
from groundup.model.transformer import TransformerLM
from groundup.tokenizer.bpe import Tokenizer

BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], special_tokens=["<|endoftext|>"])
END, CONTEXT = 256, 16
TEXTS = ["Ein Haus.", "", "Zwölf Boxkämpfer 🥊 jagen Viktor quer über den großen Sylter Deich.", "x", "Ende"]


@pytest.fixture
def run() -> SimpleNamespace:
    torch.manual_seed(0)
    shape = {"vocab_size": 257, "context_length": CONTEXT, "d_model": 16, "num_layers": 1, "num_heads": 2}
    return SimpleNamespace(model=TransformerLM(ModelConfig(**shape)), tokenizer=BYTES)


@pytest.fixture
def ids() -> np.ndarray:
    return np.concatenate([[*text.encode(), END] for text in TEXTS]).astype(np.uint16)


def nats_by_hand(model: nn.Module, ids: np.ndarray) -> list[float]:
    """-log p of each id but the first, window by window, in float64."""
    nats: list[float] = []
    double, tokens = model.double().eval(), torch.from_numpy(ids.astype(np.int64))
    for start in range(0, len(tokens) - 1, CONTEXT):
        window = tokens[start : start + CONTEXT + 1]
        nats += nn.functional.cross_entropy(double(window[:-1]), window[1:], reduction="none").tolist()
    model.float()
    return nats


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_documents_by_hand(run, ids, batch_size):
    expected, start = nats_by_hand(run.model, ids), 0
    scores = evaluate_by_document(run, ids, batch_size=batch_size)
    assert [score.index for score in scores] == [0, 1, 2, 3, 4]
    for score, text in zip(scores, TEXTS, strict=True):
        size = len(text.encode()) + 1
        nats = expected[max(0, start - 1) : start + size - 1]  # that of the first id of all does not exist
        is_first = start == 0
        assert (score.start, score.num_targets) == (start, size - is_first)
        assert score.num_bytes == len(text.encode()) - is_first
        assert score.nats == pytest.approx(math.fsum(nats), abs=1e-4)  # float32 logits
        start += size


@pytest.mark.parametrize("batch_size", [1, 3, 32])
def test_positions_by_hand(run, ids, batch_size):
    expected = nats_by_hand(run.model, ids)
    scores = evaluate_by_position(run, ids, batch_size=batch_size)
    assert [(score.first, score.last) for score in scores] == [(place, place) for place in range(1, CONTEXT + 1)]
    for score in scores:
        nats = expected[score.first - 1 :: CONTEXT]
        assert score.num_targets == len(nats)
        assert score.nats == pytest.approx(math.fsum(nats), abs=1e-4)


def test_the_parts_add_up(run, ids):
    whole = evaluate(run, ids)
    for scores in (evaluate_by_document(run, ids), evaluate_by_position(run, ids)):
        parts = total(scores)
        assert (parts.num_targets, parts.num_bytes) == (whole.num_targets, whole.num_bytes)
        assert parts.nats_per_token == pytest.approx(whole.nats_per_token, abs=1e-12)
        assert parts.bits_per_byte == pytest.approx(whole.bits_per_byte, abs=1e-12)


def test_a_context_of_ones_own(run, ids):
    scores = evaluate_by_position(run, ids, context_length=5)
    assert [score.num_targets for score in scores] == [-(-(len(ids) - 1 - place) // 5) for place in range(5)]
    assert total(evaluate_by_document(run, ids, context_length=5)).nats == pytest.approx(total(scores).nats)


def test_a_text_shorter_than_the_context(run):
    scores = evaluate_by_position(run, np.array([1, 2, 3], dtype=np.uint16))
    assert [(score.first, score.num_targets) for score in scores] == [(1, 1), (2, 1)]


def test_a_document_that_goes_on_and_one_that_is_the_first_token(run):
    ids = np.array([END, 65, 66, END, 67], dtype=np.uint16)
    scores = evaluate_by_document(run, ids)
    assert [(score.index, score.start, score.num_targets, score.num_bytes) for score in scores] == [
        (1, 1, 3, 2),
        (2, 4, 1, 1),
    ]


def test_a_prepared_folder_and_its_text(run, tmp_path):
    texts = [f"Story {number} of a hundred or so" for number in range(120)]
    (tmp_path / "a.txt").write_text("<|endoftext|>".join(texts), encoding="utf-8")
    prepare(tmp_path / "a.txt", BYTES, tmp_path / "data", valid_fraction=0.2)
    tokens = open_tokens(tmp_path / "data", "valid")
    scores = evaluate_by_document(run, tmp_path / "data")
    assert {beginning(tokens, score, BYTES) for score in scores} < set(texts)
    assert beginning(tokens, scores[0], BYTES, max_tokens=5) == "Story"


def test_documents_cannot_be_told_apart_without_an_end(run, ids):
    run.tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)} | {256: b"end"}, [])
    with pytest.raises(DataError, match=r"no <\|endoftext\|>, so that documents cannot be told apart"):
        evaluate_by_document(run, ids)


def score(index: int, nats: float, num_targets: int = 9, num_bytes: int = 9) -> DocumentScore:
    return DocumentScore(index=index, start=0, num_targets=num_targets, num_bytes=num_bytes, nats=nats)


def test_the_hardest_stand_first():
    documents = [score(0, 1.0), score(1, 3.0), score(2, 9.0, num_targets=2), score(3, 3.0), score(4, 5.0, num_bytes=0)]
    assert [document.index for document in ranked(documents)] == [2, 1, 3, 0]
    assert [document.index for document in ranked(documents, min_targets=3)] == [1, 3, 0]
    assert ranked([]) == []


def test_groups_grow_with_the_distance():
    positions = [PositionScore(first=p, last=p, num_targets=2, num_bytes=3, nats=float(p)) for p in range(1, 21)]
    groups = by_octave(positions)
    assert [(group.first, group.last) for group in groups] == [(1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 20)]
    assert [group.nats for group in groups] == [1, 2, 7, 26, 100, 74]
    assert total(groups) == total(positions)


def test_nothing_is_no_number():
    nothing = total([])
    assert math.isnan(nothing.nats_per_token) and nothing.bits_per_byte is None
