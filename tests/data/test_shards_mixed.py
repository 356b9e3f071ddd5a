"""`prepare` with weights and without copies: what is asked for is written, and said in the manifest."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from groundup.corpus import END_OF_TEXT
from groundup.data import held_out, shard_writer, shards
from groundup.data.manifest import LeftOut
from groundup.data.shards import open_tokens, prepare, read_manifest
from groundup.errors import DataError
from groundup.tokenizer.bpe import Tokenizer

STORIES = [f"Story {number}: " + "once upon a time " * (number % 7) for number in range(400)]
BOOKS = [f"Book {number}: " + "chapter the next " * (number % 11) for number in range(150)]


def documents_in(folder: Path, split: str) -> list[str]:
    """What byte_tokenizer's ids in a split spell, document by document."""
    ids = open_tokens(folder, split)[:]
    parts = np.split(ids, np.flatnonzero(ids == 256) + 1)[:-1]
    return [part[:-1].astype(np.uint8).tobytes().decode() for part in parts]


def write(path: Path, documents: list[str]) -> Path:
    path.write_text(END_OF_TEXT.join(documents), encoding="utf-8")
    return path


@pytest.fixture
def corpora(tmp_path: Path) -> list[Path]:
    return [write(tmp_path / "stories.txt", STORIES), write(tmp_path / "books.txt", BOOKS)]


def size(documents: list[str]) -> int:
    return sum(len(document.encode()) for document in documents)


def test_the_training_text_has_the_shares(tmp_path: Path, corpora: list[Path], byte_tokenizer: Tokenizer) -> None:
    out = tmp_path / "set"
    manifest = prepare(corpora, byte_tokenizer, out, weights=[1, 3], valid_fraction=0.0)
    train = documents_in(out, "train")
    stories = [document for document in train if document.startswith("Story")]
    books = [document for document in train if document.startswith("Book")]
    assert stories == STORIES, "each once, in order"
    assert books[: 2 * len(BOOKS)] == BOOKS * 2
    assert abs(size(books) - 3 * size(stories)) <= 3 * max(map(len, train))
    one, other = manifest.mixture
    assert (one.source, one.weight, one.passes, one.documents, one.bytes) == (
        str(corpora[0]), 1.0, 1, len(STORIES), size(STORIES)
    )  # fmt: skip
    assert (other.documents, other.bytes) == (len(books), size(books))
    assert other.passes == -(-len(books) // len(BOOKS))
    assert (manifest.mixed_until, manifest.left_out) == ("all", None)
    assert manifest.splits["train"].bytes == one.bytes + other.bytes
    assert read_manifest(out) == manifest


def test_until_the_first_nothing_is_repeated(tmp_path: Path, corpora: list[Path], byte_tokenizer: Tokenizer) -> None:
    manifest = prepare(corpora, byte_tokenizer, tmp_path / "set", weights=[1, 3], mix_until="first", valid_fraction=0.0)
    train = documents_in(tmp_path / "set", "train")
    assert len(set(train)) == len(train)
    assert set(BOOKS) <= set(train)
    assert [corpus.passes for corpus in manifest.mixture] == [1, 1]


def test_what_is_held_out_is_never_trained_on(
    tmp_path: Path, corpora: list[Path], byte_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(corpora, byte_tokenizer, tmp_path / "plain", valid_fraction=0.1)
    plain = documents_in(tmp_path / "plain", "valid")
    for number, pieces in enumerate((1 << 16, 20)):
        monkeypatch.setattr(shards, "_PIECE_CHARS", pieces)
        out = tmp_path / str(number)
        manifest = prepare(corpora, byte_tokenizer, out, weights=[1, 5], valid_fraction=0.1)
        train, valid = documents_in(out, "train"), documents_in(out, "valid")
        assert (manifest.held_out, manifest.mixture[1].passes > 3) == ("hash", True)
        assert not set(train) & set(valid)
        if pieces > 100:
            assert sorted(valid) == sorted(plain), "the same documents, each once"


def test_of_short_corpora_each_gives_its_tail(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    lines = {name: [f"{name} line {number}\n" for number in range(100, 200)] for name in ("verse", "prose")}
    paths = [write(tmp_path / f"{name}.txt", ["".join(some)]) for name, some in lines.items()]
    manifest = prepare(paths, byte_tokenizer, tmp_path / "set", weights=[1, 4])
    assert manifest.held_out == "tail"
    assert sorted(documents_in(tmp_path / "set", "valid")) == sorted("".join(some[95:]) for some in lines.values())
    train = documents_in(tmp_path / "set", "train")
    assert train == ["".join(lines["verse"][:95]), *["".join(lines["prose"][:95])] * 4]


def test_a_glob_is_one_corpus(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    for number in range(3):
        write(tmp_path / f"part {number}.txt", STORIES[number * 100 : number * 100 + 100])
    write(tmp_path / "books.txt", BOOKS)
    paths = [str(tmp_path / "part *.txt"), str(tmp_path / "books.txt")]
    manifest = prepare(paths, byte_tokenizer, tmp_path / "set", weights=[1, 1], valid_fraction=0.0)
    assert [corpus.source for corpus in manifest.mixture] == paths
    assert len(manifest.sources) == 4
    with pytest.raises(DataError, match="there are 3 weights for 2 corpora"):
        prepare(paths, byte_tokenizer, tmp_path / "set", weights=[1, 1, 1])


@pytest.mark.parametrize("options", [{"weights": [2, 1], "dedup": True}, {"weights": [1, 2], "mix_until": "first"}])
def test_the_result_does_not_depend_on_threads_or_batches(
    tmp_path: Path,
    corpora: list[Path],
    byte_tokenizer: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    options: dict[str, Any],
) -> None:
    prepare(corpora, byte_tokenizer, tmp_path / "base", num_workers=1, **options)
    monkeypatch.setattr(shard_writer, "_BATCH_BYTES", 100)
    prepare(corpora, byte_tokenizer, tmp_path / "again", num_workers=4, **options)
    for split in ("train", "valid"):
        assert documents_in(tmp_path / "again", split) == documents_in(tmp_path / "base", split)


def test_copies_are_left_out_and_counted(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    one = write(tmp_path / "one.txt", STORIES[:200] + STORIES[100:200])
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps({"text": story}) + "\n" for story in STORIES[150:250]), encoding="utf-8")
    manifest = prepare([one, other], byte_tokenizer, tmp_path / "set", dedup=True, valid_fraction=0.1)
    found = documents_in(tmp_path / "set", "train") + documents_in(tmp_path / "set", "valid")
    assert sorted(found) == sorted(STORIES[:250])
    assert manifest.left_out == LeftOut(150, size(STORIES[100:200]) + size(STORIES[150:200]))
    assert manifest.mixture == () and manifest.mixed_until is None
    assert read_manifest(tmp_path / "set") == manifest


def test_none_found_is_not_the_same_as_none_looked_for(
    tmp_path: Path, corpora: list[Path], byte_tokenizer: Tokenizer
) -> None:
    assert prepare(corpora, byte_tokenizer, tmp_path / "set", dedup=True).left_out == LeftOut(0, 0)
    assert prepare(corpora, byte_tokenizer, tmp_path / "set").left_out is None


def test_what_is_validated_on_is_left_out_of_training(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    train, valid = write(tmp_path / "t.txt", STORIES[:200]), write(tmp_path / "v.txt", STORIES[150:250] * 2)
    manifest = prepare(train, byte_tokenizer, tmp_path / "set", valid_paths=valid, dedup=True)
    assert documents_in(tmp_path / "set", "train") == STORIES[:150]
    assert documents_in(tmp_path / "set", "valid") == STORIES[150:250]
    assert manifest.left_out is not None and manifest.left_out.documents == 150


def test_copies_are_left_out_of_a_mixture_and_repeats_are_not(
    tmp_path: Path, corpora: list[Path], byte_tokenizer: Tokenizer
) -> None:
    write(corpora[1], BOOKS * 2 + STORIES[:10])
    manifest = prepare(corpora, byte_tokenizer, tmp_path / "set", weights=[1, 4], dedup=True, valid_fraction=0.0)
    train = documents_in(tmp_path / "set", "train")
    assert manifest.left_out is not None and manifest.left_out.documents == len(BOOKS) + 10
    counts = {document: train.count(document) for document in BOOKS}
    assert set(counts.values()) <= {manifest.mixture[1].passes, manifest.mixture[1].passes - 1}
    assert manifest.mixture[1].passes > 2
    assert [document for document in train if document.startswith("Story")] == STORIES


def test_a_second_go_counts_anew(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    path = write(tmp_path / "a.txt", STORIES + STORIES[:50])
    manifest = prepare(path, byte_tokenizer, tmp_path / "set", dedup=True, valid_fraction=1e-9)
    assert manifest.splits["valid"].documents == 1, "it took a second go"
    assert manifest.left_out == LeftOut(50, size(STORIES[:50]))


def test_long_documents_in_pieces(tmp_path: Path, byte_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "_PIECE_CHARS", 50)
    monkeypatch.setattr(held_out, "HEAD_CHARS", 100)
    long = ["".join(f"{name} {i} words\n" for i in range(100)) for name in "abcdef"]
    paths = [write(tmp_path / "one.txt", [*long[:3], long[0]]), write(tmp_path / "two.txt", [*long[3:], long[1]])]
    manifest = prepare(paths, byte_tokenizer, tmp_path / "set", weights=[1, 1], dedup=True, valid_fraction=0.0)
    assert set(documents_in(tmp_path / "set", "train")) == set(long)
    assert manifest.left_out is not None and manifest.left_out.documents == 2


def test_an_older_manifest_is_read(tmp_path: Path, corpora: list[Path], byte_tokenizer: Tokenizer) -> None:
    manifest = prepare(corpora, byte_tokenizer, tmp_path / "set")
    path = tmp_path / "set" / "manifest.json"
    values = json.loads(path.read_text(encoding="utf-8"))
    for name in ("mixture", "mixed_until", "left_out"):
        del values[name]
    path.write_text(json.dumps(values), encoding="utf-8")
    assert read_manifest(tmp_path / "set") == manifest
