"""The manifest: read as it was written, and refused where it does not fit."""

import json
from pathlib import Path

import pytest

from groundup.data.manifest import Manifest, Shard, Split, check_tokenizer, read_manifest, verify_shards, write_manifest
from groundup.data.shards import prepare
from groundup.errors import DataError
from groundup.tokenizer.bpe import Tokenizer

MANIFEST = Manifest(
    version=1,
    dtype="uint16",
    vocab_size=257,
    tokenizer="ab" * 32,
    held_out="file",
    sources=("Größe 1.txt", "b.txt"),
    valid_sources=("c.txt",),
    splits={
        "train": Split(9, 2, 31, (Shard("train-00000.bin", 5, "00"), Shard("train-00001.bin", 4, "11"))),
        "valid": Split(0, 0, 0, ()),
    },
)


def test_read_as_written(tmp_path: Path) -> None:
    write_manifest(MANIFEST, tmp_path)
    assert read_manifest(tmp_path) == MANIFEST
    assert read_manifest(str(tmp_path)).id_dtype.str == "<u2"


def test_no_manifest(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        with pytest.raises(DataError, match=r"holds no manifest\.json; make a dataset with 'groundup data prepare'"):
            read_manifest(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "format version 2; this program reads 1"),
        ({"dtype": "float16"}, "dtype is 'float16'"),
        ({"splits": {"train": {"tokens": 3}}}, "is not a manifest"),
        ({"splits": 7}, "is not a manifest"),
        ({"surprise": 1}, "is not a manifest"),
        (
            {"splits": {"train": {"tokens": 3, "documents": 1, "bytes": 9, "shards": []}}},
            "shards of 'train' do not add up to its 3 tokens",
        ),
    ],
)
def test_a_manifest_that_does_not_fit(tmp_path: Path, change: dict, message: str) -> None:
    write_manifest(MANIFEST, tmp_path)
    values = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    (tmp_path / "manifest.json").write_text(json.dumps(values | change))
    with pytest.raises(DataError, match=message):
        read_manifest(tmp_path)


@pytest.mark.parametrize(("text", "message"), [("{", "cannot be read"), ("[]", "format version None")])
def test_what_is_no_manifest(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read_manifest(tmp_path)


def test_another_tokenizer_is_refused_with_both_hashes(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("some text")
    manifest = prepare(tmp_path / "a.txt", byte_tokenizer, tmp_path / "set")
    check_tokenizer(manifest, byte_tokenizer)
    changed = Tokenizer(byte_tokenizer.vocab, [], ["<|endoftext|>", "<|more|>"])
    with pytest.raises(DataError, match=rf"{byte_tokenizer.fingerprint}.*{changed.fingerprint}"):
        check_tokenizer(manifest, changed)


def test_shards_are_compared_with_their_hashes(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("some text")
    prepare(tmp_path / "a.txt", byte_tokenizer, tmp_path / "set")
    verify_shards(tmp_path / "set")
    shard = tmp_path / "set" / "valid-00000.bin"
    data = bytearray(shard.read_bytes())
    data[1] ^= 1
    shard.write_bytes(data)
    with pytest.raises(DataError, match=r"valid-00000\.bin is not as it was written"):
        verify_shards(tmp_path / "set")
    shard.unlink()
    with pytest.raises(DataError, match="no file"):
        verify_shards(tmp_path / "set")
