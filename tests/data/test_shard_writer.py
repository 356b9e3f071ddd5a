"""Ids on disk: in order, in shards of any size, and never cut down to fit."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from groundup.data import shard_writer
from groundup.data.held_out import Part
from groundup.data.shard_writer import write_splits
from groundup.errors import DataError
from groundup.files import sha256_file
from groundup.tokenizer.bpe import Tokenizer

PARTS = [
    Part(b"abc", False, "token"),
    Part(b"def", True, "token"),
    Part("éx".encode(), True, "text", "valid"),
    Part(b"g" * 20, True, "token"),
    Part(b"h", True, "token", "valid"),
]
TRAIN = [*b"abcdef", 256, *b"g" * 20, 256]
VALID = [*"éx".encode(), 256, *b"h", 256]


@pytest.mark.parametrize("shard_tokens", [1, 3, 7, 14, 27, 28, 1000])
def test_shards_join_to_the_split(tmp_path: Path, byte_tokenizer: Tokenizer, shard_tokens: int) -> None:
    splits = write_splits(PARTS, tokenizer=byte_tokenizer, folder=tmp_path, shard_tokens=shard_tokens)
    for name, ids in (("train", TRAIN), ("valid", VALID)):
        shards = splits[name].shards
        read = [np.fromfile(tmp_path / shard.file, dtype="<u2") for shard in shards]
        assert np.concatenate(read).tolist() == ids
        assert [len(part) for part in read] == [shard.tokens for shard in shards]
        assert all(shard.tokens == shard_tokens for shard in shards[:-1])
        assert [shard.file for shard in shards] == [f"{name}-{i:05d}.bin" for i in range(len(shards))]
        assert [sha256_file(tmp_path / shard.file) for shard in shards] == [shard.sha256 for shard in shards]
    assert (splits["train"].documents, splits["train"].bytes, splits["train"].tokens) == (2, 26, 28)
    assert (splits["valid"].documents, splits["valid"].bytes, splits["valid"].tokens) == (2, 4, 6)


def test_older_shards_in_the_folder_go_away(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    write_splits(PARTS, tokenizer=byte_tokenizer, folder=tmp_path, shard_tokens=2)
    write_splits(PARTS, tokenizer=byte_tokenizer, folder=tmp_path, shard_tokens=100)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train-00000.bin", "valid-00000.bin"]


def test_the_spelling_of_a_special_token(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    spelled = b"a<|endoftext|>"
    parts = [Part(spelled, True, "token"), Part(spelled, True, "text"), Part(b"b", True, "token")]
    write_splits(parts, tokenizer=byte_tokenizer, folder=tmp_path, shard_tokens=1000)
    ids = np.fromfile(tmp_path / "train-00000.bin", dtype="<u2").tolist()
    assert ids == [97, 256, 256, *spelled, 256, 98, 256]


def test_a_large_vocabulary_is_written_as_uint32(tmp_path: Path) -> None:
    words = {256 + i: f"{i:05d}".encode() for i in range(69_744)}
    tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)} | words, [], ["<|endoftext|>"])
    write_splits([Part(b"a", True, "token")], tokenizer=tokenizer, folder=tmp_path, shard_tokens=10)
    assert np.fromfile(tmp_path / "train-00000.bin", dtype="<u4").tolist() == [97, 70_000]


@pytest.mark.parametrize(("largest", "dtype"), [(65_534, "<u2"), (65_535, "<u2"), (65_536, "<u4")])
def test_the_border_between_the_types(tmp_path: Path, largest: int, dtype: str) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {largest - 1: b"xyz"}
    tokenizer = Tokenizer(vocab, [], ["<|endoftext|>"])
    write_splits([Part(b"a", True, "token")], tokenizer=tokenizer, folder=tmp_path, shard_tokens=10)
    assert np.fromfile(tmp_path / "train-00000.bin", dtype=dtype).tolist() == [97, largest]


def test_an_id_above_the_type_is_refused(
    tmp_path: Path, byte_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = np.array([1, 65_536], dtype=np.uint32), np.array([2], dtype=np.uint64)
    monkeypatch.setattr(Tokenizer, "encode_joined", lambda *_, **__: wrong)
    with pytest.raises(DataError, match="id 65536 does not fit into uint16, which ends at 65535"):
        write_splits([Part(b"a", True, "token")], tokenizer=byte_tokenizer, folder=tmp_path, shard_tokens=10)


def test_progress_counts_the_bytes_of_the_text(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    seen: list[int] = []
    write_splits(PARTS, tokenizer=byte_tokenizer, folder=tmp_path, shard_tokens=10, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 30


def test_a_disk_that_fails_while_more_is_encoded(
    tmp_path: Path, byte_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(shard_writer, "_FLUSH_BYTES", 10)
    write_splits(PARTS, tokenizer=byte_tokenizer, folder=tmp_path, shard_tokens=7)
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input/output error"):
        write_splits(PARTS, tokenizer=byte_tokenizer, folder=tmp_path, shard_tokens=1000)
