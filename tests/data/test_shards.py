"""From documents to a dataset folder: exact ids, whatever the shape of the corpus, whole or not at all."""

import errno
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from groundup.corpus import END_OF_TEXT
from groundup.data import held_out, shard_writer, shards
from groundup.data.shards import open_tokens, prepare, read_manifest
from groundup.errors import DataError, TokenizerError
from groundup.tokenizer import patterns
from groundup.tokenizer.bpe import Tokenizer

STORIES = [f"Story {i}: é 二 🏠\r\n" + f"once {i * i} upon\n" * (i % 5) for i in range(300)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "two words ü.txt"
    path.write_bytes(END_OF_TEXT.join(STORIES).encode())
    return path


def documents_in(folder: Path, split: str) -> list[str]:
    """What byte_tokenizer's ids in a split spell, document by document."""
    ids = open_tokens(folder, split)[:]
    assert ids[-1] == 256, "the last document is ended as well"
    parts = np.split(ids, np.flatnonzero(ids == 256) + 1)[:-1]
    return [part[:-1].astype(np.uint8).tobytes().decode() for part in parts]


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_every_document_is_in_one_split_and_ended(tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer) -> None:
    manifest = prepare(corpus, byte_tokenizer, tmp_path / "set", valid_fraction=0.1)
    train, valid = documents_in(tmp_path / "set", "train"), documents_in(tmp_path / "set", "valid")
    assert sorted(train + valid) == sorted(STORIES)
    assert train == [story for story in STORIES if story in train], "in the order of the corpus"
    assert 10 < len(valid) < 60
    for name, documents in (("train", train), ("valid", valid)):
        split = manifest.splits[name]
        assert split.documents == len(documents)
        assert split.bytes == sum(len(document.encode()) for document in documents)
        assert split.tokens == split.bytes + split.documents
    assert manifest == read_manifest(tmp_path / "set")
    assert (manifest.held_out, manifest.dtype, manifest.vocab_size) == ("hash", "uint16", 257)
    assert manifest.sources == (str(corpus),)
    assert Tokenizer.load(tmp_path / "set" / "tokenizer.json").fingerprint == manifest.tokenizer


def test_the_result_does_not_depend_on_threads_batches_or_shape(
    tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(corpus, byte_tokenizer, tmp_path / "base", num_workers=1)
    base = {name: open_tokens(tmp_path / "base", name)[:].tolist() for name in ("train", "valid")}
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": story}) + "\n" for story in STORIES))
    (tmp_path / "a.gz").write_bytes(gzip.compress(corpus.read_bytes()))
    monkeypatch.setattr(shard_writer, "_BATCH_BYTES", 100)
    for number, (path, workers) in enumerate([(corpus, 4), (tmp_path / "a.jsonl", None), (tmp_path / "a.gz", 2)]):
        out = tmp_path / str(number)
        prepare(path, byte_tokenizer, out, num_workers=workers, shard_tokens=1000)
        assert len(list(out.glob("train-*.bin"))) > 3
        assert {name: open_tokens(out, name)[:].tolist() for name in base} == base


@pytest.mark.parametrize("name", ["GPT2", "CL100K", "LLAMA3", "QWEN2", "O200K", "SMOLLM"])
def test_a_trained_tokenizer_encodes_pieces_as_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {
        256: b" t",
        257: b"he",
        258: b" the",
        259: b"!\n",
        260: b"/\n",
    }
    merges = [(b" ", b"t"), (b"h", b"e"), (b" t", b"he"), (b"!", b"\n"), (b"/", b"\n")]
    pattern = getattr(patterns, f"{name}_PATTERN")
    tokenizer = Tokenizer(vocab, merges, [END_OF_TEXT], pattern=pattern)
    text = "the the!\n\n\nthe  the 'tis\r\n\r\nit's/\nthe\n\n" * 40
    (tmp_path / "a.txt").write_bytes(text.encode())
    monkeypatch.setattr(shards, "_PIECE_CHARS", 10)
    prepare(tmp_path / "a.txt", tokenizer, tmp_path / "set", valid_fraction=0.0)
    assert open_tokens(tmp_path / "set")[:].tolist() == [*tokenizer.encode(text), tokenizer.end_of_text_id]
    monkeypatch.setattr(held_out, "HEAD_CHARS", 100)
    manifest = prepare(tmp_path / "a.txt", tokenizer, tmp_path / "set", valid_fraction=0.5)
    assert manifest.held_out == "hash"
    assert min(split.documents for split in manifest.splits.values()) > 3, "it was cut"


def test_a_vocabulary_of_seventy_thousand_entries(tmp_path: Path) -> None:
    vocab = {id: f"<{id}>".encode() for id in range(256, 69_998)} | {69_998: b"zz"}
    tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)} | vocab, [(b"z", b"z")], [END_OF_TEXT])
    assert (len(tokenizer.vocab), tokenizer.end_of_text_id) == (70_000, 69_999)
    (tmp_path / "a.txt").write_text("zz zzz", encoding="utf-8")
    manifest = prepare(tmp_path / "a.txt", tokenizer, tmp_path / "set", valid_fraction=0.0)
    assert (manifest.dtype, manifest.vocab_size) == ("uint32", 70_000)
    ids = open_tokens(tmp_path / "set")
    assert ids.dtype == np.uint32
    assert ids[:].tolist() == [69_998, 32, 69_998, ord("z"), 69_999]


@pytest.mark.parametrize("kind", ["special token", "pattern"])
def test_documents_stay_whole_where_a_cut_might_be_wrong(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"a b"}
    if kind == "pattern":
        tokenizer = Tokenizer(vocab | {257: b"a "}, [(b"a", b" "), (b"a ", b"b")], [END_OF_TEXT], pattern=r"[\s\S]+")
    else:
        tokenizer = Tokenizer(vocab, [], [END_OF_TEXT, "a b"])
    (tmp_path / "a.txt").write_text("a b" * 20)
    monkeypatch.setattr(shards, "_PIECE_CHARS", 4)
    prepare(tmp_path / "a.txt", tokenizer, tmp_path / "set", valid_fraction=0.0)
    assert open_tokens(tmp_path / "set")[:].tolist() == [256] * 20 + [tokenizer.end_of_text_id]


def test_long_texts_are_held_out_in_pieces(
    tmp_path: Path, byte_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "_PIECE_CHARS", 100)
    monkeypatch.setattr(held_out, "HEAD_CHARS", 1000)
    text = "".join(f"{i} times\n" for i in range(3000))
    (tmp_path / "book.txt").write_text(text)
    manifest = prepare(tmp_path / "book.txt", byte_tokenizer, tmp_path / "set", valid_fraction=0.1)
    train, valid = documents_in(tmp_path / "set", "train"), documents_in(tmp_path / "set", "valid")
    assert manifest.held_out == "hash"
    assert len(train) > 10 and len(valid) > 10, "the text breaks where a piece is missing"
    assert sorted(sorted(train + valid, key=text.index)) == sorted(train + valid)
    assert "".join(sorted(train + valid, key=text.index)) == text


def test_a_split_without_documents_is_mended(tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer) -> None:
    for fraction in (1e-9, 1 - 1e-9):
        manifest = prepare(corpus, byte_tokenizer, tmp_path / "set", valid_fraction=fraction)
        assert min(split.documents for split in manifest.splits.values()) == 1
        assert sum(split.documents for split in manifest.splits.values()) == 300
        names = {path.name for path in (tmp_path / "set").glob("*.bin")}
        assert names == {shard.file for split in manifest.splits.values() for shard in split.shards}


def test_a_short_text_holds_out_its_tail(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    lines = [f"A line of verse, the {i}th\n" for i in range(100, 200)]
    (tmp_path / "verse.txt").write_text("".join(lines))
    manifest = prepare(tmp_path / "verse.txt", byte_tokenizer, tmp_path / "set")
    assert manifest.held_out == "tail"
    assert documents_in(tmp_path / "set", "train") == ["".join(lines[:95])]
    assert documents_in(tmp_path / "set", "valid") == ["".join(lines[95:])]


def test_a_text_of_one_sentence(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("Once upon a time.")
    prepare(tmp_path / "a.txt", byte_tokenizer, tmp_path / "set")
    assert documents_in(tmp_path / "set", "train") + documents_in(tmp_path / "set", "valid") == [
        "Once upon a time",
        ".",
    ]


def test_validation_files(tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "v.txt").write_text("held out<|endoftext|>by hand")
    manifest = prepare(corpus, byte_tokenizer, tmp_path / "set", valid_paths=tmp_path / "v.txt")
    assert (manifest.held_out, manifest.valid_sources) == ("file", (str(tmp_path / "v.txt"),))
    assert documents_in(tmp_path / "set", "train") == STORIES
    assert documents_in(tmp_path / "set", "valid") == ["held out", "by hand"]


def test_nothing_held_out(tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer) -> None:
    manifest = prepare(corpus, byte_tokenizer, tmp_path / "set", valid_fraction=0.0)
    assert (manifest.held_out, manifest.splits["valid"].shards) == ("none", ())
    assert documents_in(tmp_path / "set", "train") == STORIES


def test_copies_of_one_document_cannot_be_held_out(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("the same<|endoftext|>" * 100)
    with pytest.raises(DataError, match="all documents are the same text"):
        prepare(tmp_path / "a.txt", byte_tokenizer, tmp_path / "set")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("data", [b"", b" \n\r\n\t", b"<|endoftext|>\n<|endoftext|>"])
@pytest.mark.parametrize("fraction", [0.0, 0.05])
def test_a_corpus_without_text(tmp_path: Path, byte_tokenizer: Tokenizer, data: bytes, fraction: float) -> None:
    (tmp_path / "a.txt").write_bytes(data)
    with pytest.raises(DataError, match=r"there is no text in .*a\.txt; nothing was written"):
        prepare(tmp_path / "a.txt", byte_tokenizer, tmp_path / "set", valid_fraction=fraction)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_validation_files_without_text(tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "v.txt").touch()
    with pytest.raises(DataError, match=r"there is no text in .*v\.txt"):
        prepare(corpus, byte_tokenizer, tmp_path / "set", valid_paths=tmp_path / "v.txt")


def test_a_tokenizer_without_end_of_text(tmp_path: Path, corpus: Path) -> None:
    tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    with pytest.raises(DataError, match=r"has no <\|endoftext\|>, .*special_tokens=\['<\|endoftext\|>'\]"):
        prepare(corpus, tokenizer, tmp_path / "set")


@pytest.mark.parametrize("fraction", [-0.1, 1.0, 1.5])
def test_a_fraction_that_cannot_be(tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer, fraction: float) -> None:
    with pytest.raises(DataError, match=f"valid_fraction is {fraction}"):
        prepare(corpus, byte_tokenizer, tmp_path / "set", valid_fraction=fraction)


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def fill_disk(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("older", [True, False])
@pytest.mark.parametrize("failure", ["bad document", "Ctrl-C", "full disk", "full disk at the end", "unknown byte"])
def test_what_fails_leaves_the_older_dataset_and_nothing_else(
    tmp_path: Path,
    corpus: Path,
    byte_tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    failure: str,
    older: bool,
) -> None:
    if older:
        prepare(corpus, byte_tokenizer, tmp_path / "set")
    before = content(tmp_path / "set") if older else {}
    tokenizer, progress = byte_tokenizer, None
    expected: type[BaseException] = DataError
    monkeypatch.setattr(shard_writer, "_BATCH_BYTES", 1000)
    if failure == "bad document":
        corpus.write_bytes(corpus.read_bytes() + b"\xff")
    elif failure == "Ctrl-C":
        progress, expected = stop, KeyboardInterrupt
    elif failure == "unknown byte":
        tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(128)}, [], [END_OF_TEXT])
        expected = TokenizerError
    else:
        monkeypatch.setattr(*((shards, "write_manifest") if "end" in failure else (Path, "open")), fill_disk)
    with pytest.raises(expected) as caught:
        prepare(tmp_path / corpus.name, tokenizer, tmp_path / "set", progress=progress)
    if failure == "full disk at the end":
        assert "set cannot be written: No space left on device; nothing was changed there" in str(caught.value)
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} == {corpus.name} | ({"set"} if older else set())
    if older:
        assert content(tmp_path / "set") == before


def test_a_dataset_is_replaced_whole(tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer) -> None:
    prepare(corpus, byte_tokenizer, tmp_path / "set", shard_tokens=500)
    prepare(corpus, byte_tokenizer, tmp_path / "set")
    names = {path.name for path in (tmp_path / "set").iterdir()}
    assert names == {"manifest.json", "tokenizer.json", "train-00000.bin", "valid-00000.bin"}


def test_only_a_dataset_is_replaced(tmp_path: Path, corpus: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    for out in (tmp_path / "home", tmp_path):
        with pytest.raises(DataError, match="so it is no dataset to be replaced"):
            prepare(corpus, byte_tokenizer, out)
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "train.bin").touch()
    with pytest.raises(DataError, match="so it is no dataset to be replaced"):
        prepare(corpus, byte_tokenizer, tmp_path / "raw")
    with pytest.raises(DataError, match="is a file; name a folder"):
        prepare(corpus, byte_tokenizer, corpus)
    (tmp_path / "empty").mkdir()
    prepare(corpus, byte_tokenizer, tmp_path / "empty")
    prepare(corpus, byte_tokenizer, tmp_path / "not" / "yet" / "there")
    assert (tmp_path / "home" / "thesis.tex").read_text() == "years of work"


LOCALE = """
import locale, sys
from groundup.data.shards import prepare, read_manifest
from groundup.tokenizer.bpe import Tokenizer
assert locale.getpreferredencoding(False).lower() not in ("utf-8", "utf8"), locale.getpreferredencoding(False)
tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], ["<|endoftext|>"])
prepare(sys.argv[1], tokenizer, sys.argv[2])
assert ascii(read_manifest(sys.argv[2]).sources[0]) == r"'Gr\\xf6\\xdfe \\u6570\\u636e.jsonl'"
"""


def test_another_locale_changes_nothing(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "Größe 数据.jsonl").write_text('{"text": "é 二 🏠 words"}', encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-X", "utf8=0", "-c", LOCALE, "Größe 数据.jsonl", "out ü"],
        cwd=tmp_path,
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert documents_in(tmp_path / "out ü", "train") == ["é 二 🏠 word"]
    assert documents_in(tmp_path / "out ü", "valid") == ["s"]


def test_a_file_name_that_is_no_text(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))
    path.write_text("some words")
    assert prepare(path, byte_tokenizer, tmp_path / "set").sources == (f"{tmp_path}/\ufffd.txt",)
    assert read_manifest(tmp_path / "set").sources == (f"{tmp_path}/\ufffd.txt",)


MEMORY = """
import resource, sys
from groundup.data import held_out, shard_writer
from groundup.data.shards import prepare
from groundup.tokenizer.bpe import Tokenizer
held_out.HEAD_CHARS, shard_writer._BATCH_BYTES = 1 << 20, 1 << 19
tokenizer = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], ["<|endoftext|>"])
prepare(sys.argv[1], tokenizer, sys.argv[2], num_workers=1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.parametrize("separator", ["<|endoftext|>", ""])
def test_peak_memory_does_not_grow_with_the_corpus(tmp_path: Path, separator: str) -> None:
    block = f"{'One of many lines of text. ' * 40}\n{separator}".encode() * 940  # about a megabyte
    peaks = []
    for megabytes in (3, 18):
        path = tmp_path / f"{megabytes}.txt.gz"
        path.write_bytes(b"".join(gzip.compress(str(i).encode() + block, compresslevel=1) for i in range(megabytes)))
        done = subprocess.run(
            [sys.executable, "-c", MEMORY, str(path), str(tmp_path / "set")], capture_output=True, text=True, check=True
        )
        peaks.append(int(done.stdout))  # KiB on Linux
    assert peaks[1] - peaks[0] < 6 << 10, peaks
