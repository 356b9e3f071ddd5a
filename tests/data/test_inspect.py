"""A look into a dataset: figures counted by hand."""

from pathlib import Path

import numpy as np
import pytest

from groundup.data.inspect import TokenCount, summarize
from groundup.data.shards import prepare
from groundup.errors import DataError
from groundup.tokenizer.bpe import Tokenizer


def prepared(tmp_path: Path, tokenizer: Tokenizer, text: str) -> Path:
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "v.txt").write_text("xyz", encoding="utf-8")
    prepare(tmp_path / "a.txt", tokenizer, tmp_path / "set", valid_paths=tmp_path / "v.txt")
    return tmp_path / "set"


def test_the_summary_of_a_small_dataset(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    folder = prepared(tmp_path, byte_tokenizer, "éaaa bb<|endoftext|>a")
    summary = summarize(folder, top=3)
    assert summary.folder == folder
    assert (summary.dtype, summary.vocab_size, summary.held_out) == ("uint16", 257, "file")
    assert summary.tokenizer == byte_tokenizer.fingerprint
    assert (summary.sources, summary.valid_sources) == ((str(tmp_path / "a.txt"),), (str(tmp_path / "v.txt"),))
    assert summary.splits["train"].documents == 2
    assert summary.bytes_per_token == {"train": 9 / 11, "valid": 3 / 4}
    assert (summary.first_document, summary.first_document_is_whole) == ("éaaa bb", True)
    assert (summary.counted_tokens, summary.distinct_tokens) == (11, 6)
    assert summary.top_tokens == (
        TokenCount(97, "a", 4, 4 / 11),
        TokenCount(98, "b", 2, 2 / 11),
        TokenCount(256, "<|endoftext|>", 2, 2 / 11),
    )


def test_limits(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    folder = prepared(tmp_path, byte_tokenizer, "abcdef" * 100)
    summary = summarize(folder, document_tokens=6, count_tokens=3)
    assert (summary.first_document, summary.first_document_is_whole) == ("abcdef", False)
    assert [count.text for count in summary.top_tokens] == ["a", "b", "c"]


def test_an_empty_split(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("some text")
    prepare(tmp_path / "a.txt", byte_tokenizer, tmp_path / "set", valid_fraction=0.0)
    assert summarize(tmp_path / "set").bytes_per_token == {"train": 9 / 10, "valid": 0}


def test_a_dataset_that_does_not_fit_together(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    folder = prepared(tmp_path, byte_tokenizer, "some text")
    other = Tokenizer(byte_tokenizer.vocab, [], ["<|endoftext|>", "<|more|>"])
    other.save(folder / "tokenizer.json")
    with pytest.raises(DataError, match=rf"{byte_tokenizer.fingerprint}.*{other.fingerprint}"):
        summarize(folder)
    byte_tokenizer.save(folder / "tokenizer.json")
    shard = folder / "train-00000.bin"
    np.full(shard.stat().st_size // 2, 300, dtype=np.uint16).tofile(shard)
    with pytest.raises(DataError, match="the shards hold id 300, outside the vocabulary of 257 entries"):
        summarize(folder)
