"""The ladder of benchmarks/ladder.py: its rungs give the same results, and gains are over the right rungs."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import ladder
from bench.ladder_encoding import EncodingTexts, RememberingTokenizer, encoding_rungs
from bench.ladder_training import RUNGS_OF_TRAINING, learn_from_text, learn_with_index
from bench.plot import plot_ladder
from bench.results import keep_results
from bench.table import significant

from groundup import _native
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.reference import ReferenceTokenizer, count_words, learn_merges, train_bpe_reference

TEXT = "low lower lowest; new newer newest. Wide, wider, widest\n\n" * 3 + "eine Brücke über den Fluß"
SCALE = ladder.Scale(encode=60, encode_short=20, train_short=30, train=60, few_merges=4, many_merges=9)

# Rungs


@given(st.text(alphabet="ab é", max_size=40), st.integers(0, 12))
def test_every_rung_of_training_learns_the_same_merges(text, num_merges):
    expected = learn_merges(count_words(text), num_merges)
    assert {name: rung.learn(text, num_merges) for name, rung in RUNGS_OF_TRAINING.items()} == dict.fromkeys(
        RUNGS_OF_TRAINING, expected
    )


def test_a_token_made_in_two_ways_stays_in_the_queue():
    # Both a+bc and ab+c make abc, so the count of a pair with it can rise after it was first seen.
    words = {b"abcx": 3, b"abq": 9, b"bcr": 8, b"zbcx": 2, b"xabcx": 4}
    assert learn_with_index(words, 12) == learn_merges(words, 12)


@given(st.text(alphabet="ab é", max_size=40))
def test_remembering_words_changes_no_id(text):
    vocab, merges = train_bpe_reference("ab ab éé aab abab " * 2, 262)
    assert RememberingTokenizer(vocab, merges).encode(text) == ReferenceTokenizer(vocab, merges).encode(text)


def test_each_rung_of_encoding_gives_the_ids_of_the_reference():
    vocab, merges = train_bpe_reference(TEXT, 280)
    texts = EncodingTexts(vocab, merges, TEXT[:20].encode(), TEXT.encode(), b"another text")
    expected = texts.reference().encode(TEXT)
    try:
        for name, rung in encoding_rungs().items():
            _native.use_instruction_set(rung.instruction_set or _native.instruction_sets()[0])
            assert list(rung.prepare(texts, TEXT.encode())()) == expected, name
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])


def test_a_processor_without_vectors_has_fewer_rungs(monkeypatch):
    monkeypatch.setattr(_native, "instruction_sets", lambda: ["portable"])
    names = list(encoding_rungs())
    assert len(names) == len(set(names)) == 8 and not any("portable" in name for name in names)


# What is made of them


@pytest.fixture(autouse=True)
def one_call_is_enough(monkeypatch):
    """Five calls of each rung, where they are short, are for times that mean something."""
    monkeypatch.setattr(ladder, "_typical_s", lambda measure: measure())


@pytest.fixture
def tokenizer():
    return Tokenizer(*train_bpe_reference(TEXT, 280))


def test_a_gain_is_over_the_rung_that_is_built_on(tokenizer):
    ladders = ladder.climb(TEXT, TEXT[::-1], tokenizer, SCALE, 2)
    assert list(ladders) == ["encode", "train, few merges", "train, many merges"]
    for climbed in ladders.values():
        first, *rest = climbed["rungs"].values()
        assert first["gain"] is None and first["base"] is None
        for one in rest:
            base = climbed["rungs"][one["base"]]["bytes_per_s"]["rounds"]
            ratios = [our / their for our, their in zip(one["bytes_per_s"]["rounds"], base, strict=True)]
            assert [one["gain"]["low"], one["gain"]["high"]] == [min(ratios), max(ratios)]
    bases = {name: one["base"] for name, one in ladders["encode"]["rungs"].items()}
    assert bases["again, as list[int]"] == bases["again, two threads"] == "the same text again"
    assert ladders["train, few merges"]["num_merges"] == 4
    assert list(ladders["train, many merges"]["rungs"]) == ["an index and a queue", "core", "core, two threads"]


def test_other_ids_are_not_measured(tokenizer, monkeypatch):
    monkeypatch.setattr(RememberingTokenizer, "apply_merges", lambda self, word: (word[:1],))
    with pytest.raises(ValueError, match="each distinct word once gives another result"):
        ladder.climb(TEXT, TEXT, tokenizer, SCALE, 1)


def test_other_merges_are_not_measured(monkeypatch):
    monkeypatch.setattr("bench.ladder_training.learn_in_core", lambda text, n, threads: learn_from_text(text, n)[::-1])
    with pytest.raises(ValueError, match="core gives another result"):
        ladder.climb_training(TEXT, 5, ["reference.py", "core"], 1)


def test_a_ladder_becomes_a_table_a_file_and_a_picture(tokenizer, tmp_path):
    ladders = ladder.climb(TEXT, TEXT, tokenizer, SCALE, 1)
    header, first, second, *_ = ladder.ladder_table("encode", ladders["encode"]).splitlines()
    assert header.split() == ["encode", "MB/s", "low", "high", "gain"]
    assert first.split()[0] == "reference.py" and len(first.split()) == 4
    rungs = ladders["encode"]["rungs"]
    assert second.split()[-1] == significant(rungs["each distinct word once"]["gain"]["median"])
    record = {"benchmark": "ladder", "date": "2025-03-01", "machine": {"processor": "Some CPU"}, "ladders": ladders}
    keep_results(record, plot_ladder, tmp_path)
    path = tmp_path / "2025-03-01-some-cpu-ladder.json"
    assert json.loads(path.read_text(encoding="utf-8")) == record
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
