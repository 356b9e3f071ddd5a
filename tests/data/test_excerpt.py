"""A first look at a corpus, and the part of it that a run takes."""

import itertools
import json
import re
from types import SimpleNamespace

import pytest

from groundup.data import excerpt
from groundup.data.excerpt import LEAST_BYTES, PIECE_CHARS, survey, take_text
from groundup.errors import DataError


def texts_of(path):
    return [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]


def take(tmp_path, source, **options):
    train, valid = tmp_path / "train.jsonl", tmp_path / "valid.jsonl"
    sizes = take_text(source, train, valid, **{"valid_fraction": 0.1, **options})
    return texts_of(train), texts_of(valid), sizes


@pytest.fixture
def corpus(text, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_survey_counts_packs_and_tries_vocabularies(corpus, text):
    found = survey(corpus)
    assert found.is_whole and found.documents == 200
    assert abs(found.size_bytes - len(text.replace("<|endoftext|>", "").encode())) <= 2  # blank lines at the end
    (size, width), *_ = found.bytes_per_token
    assert 257 <= size <= 512 and 1 < width < 20
    assert 0 < found.packed_bits_per_byte < 8
    assert found.read_bytes_per_s > 0 and found.encode_bytes_per_s > 0


def test_a_survey_of_a_large_text_ends_early(tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("".join(f"The number {i} follows the number {i - 1}.\n" for i in range(30_000)), encoding="utf-8")
    found = survey(path, limit_bytes=200_000)
    assert not found.is_whole and 200_000 <= found.size_bytes <= 200_000 + 2 * PIECE_CHARS
    assert found.bytes_per_token[0][0] == 512


@pytest.mark.parametrize(("content", "says"), [("", "no text"), ("Too short.", "10 bytes")])
def test_a_text_that_is_too_small_is_one_sentence(tmp_path, content, says):
    path = tmp_path / "small.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=rf"{says}.*small\.txt|small\.txt.*{says}"):
        survey(path)
    assert len(content) < LEAST_BYTES


def test_documents_are_on_one_side_and_all_are_there(corpus, text, tmp_path):
    train, valid, sizes = take(tmp_path, corpus)
    whole = [document for document in text.split("<|endoftext|>") if document.strip()]
    assert sorted(train + valid) == sorted(whole)
    assert 5 <= len(valid) <= 40
    assert sizes == tuple(sum(len(document.encode()) for document in side) for side in (train, valid))


def test_a_single_text_is_cut_at_its_tail(tmp_path):
    path = tmp_path / "book.txt"
    content = "".join(f"Line {i} of a short book, and then more.\n" for i in range(100))
    path.write_text(content, encoding="utf-8")
    train, valid, _ = take(tmp_path, path)
    assert (len(train), len(valid)) == (1, 1) and train[0] + valid[0] == content
    assert valid[0].startswith("Line ") and 0.05 < len(valid[0]) / len(content) < 0.15


def test_every_nth_piece_goes_through_the_whole_corpus(corpus, tmp_path):
    train, valid, _ = take(tmp_path, corpus, every=4)
    numbers = sorted(int(re.findall(r"Number (\d+)", document)[0]) for document in train + valid)
    assert numbers == list(range(0, 200, 4))


def test_reading_ends_at_the_limit(corpus, tmp_path):
    train, valid, sizes = take(tmp_path, corpus, limit_bytes=5_000)
    assert 4_900 <= sum(sizes) <= 5_200 and train and valid


def test_a_spelled_separator_in_json_lines_stays_text(tmp_path):
    path = tmp_path / "documents.jsonl"
    lines = [json.dumps({"text": f"one<|endoftext|>two, number {i}"}) for i in range(150)]
    path.write_text("\n".join(lines), encoding="utf-8")
    train, valid, _ = take(tmp_path, path)
    assert len(train) + len(valid) == 150 and "<|endoftext|>" in train[0]


def test_the_speed_of_encoding_is_in_bytes(tmp_path, monkeypatch):
    """Twice as many bytes as characters, and a clock that moves by a second at each look."""
    path = tmp_path / "greek.txt"
    path.write_text("αβγδε" * 1000, encoding="utf-8")
    monkeypatch.setattr(excerpt, "time", SimpleNamespace(perf_counter=itertools.count().__next__))
    assert survey(path).encode_bytes_per_s == 1000
