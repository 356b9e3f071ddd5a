"""What is held out: by hash, whatever the order; the tail of a short text, between two lines."""

import itertools
import random

import pytest

from groundup.data import held_out
from groundup.data.held_out import HashChooser, Part, hold_out_tail, read_head
from groundup.errors import DataError


def documents(*texts: str) -> list[Part]:
    return [Part(text.encode(), True, "token") for text in texts]


def sides(parts: list[Part]) -> dict[str, str]:
    return {part.text.decode(): part.split for part in parts}


STORIES = documents(*(f"story number {i}" for i in range(2000)))


@pytest.mark.parametrize("fraction", [0.01, 0.05, 0.5])
def test_about_the_fraction_is_held_out(fraction: float) -> None:
    held = sum(part.split == "valid" for part in HashChooser(fraction).choose(STORIES))
    assert abs(held - 2000 * fraction) < 5 * (2000 * fraction * (1 - fraction)) ** 0.5


def test_a_document_keeps_its_side_in_any_order_and_company() -> None:
    shuffled = random.Random(0).sample(STORIES, len(STORIES))
    base = sides(list(HashChooser(0.1).choose(STORIES)))
    assert sides(list(HashChooser(0.1).choose(shuffled))) == base
    assert sides(list(HashChooser(0.1).choose(STORIES[:50] * 2))) == dict(list(base.items())[:50])


def test_the_sides_are_those_of_today() -> None:
    """A dataset prepared again must hold out the same documents: another hash would leak them into training."""
    held = [part.text.decode() for part in HashChooser(0.05).choose(STORIES[:200]) if part.split == "valid"]
    assert held == [f"story number {i}" for i in (8, 83, 86, 105, 108, 127, 168)]


@pytest.mark.parametrize(("fraction", "empty"), [(1e-9, "valid"), (1 - 1e-9, "train")])
def test_a_split_that_got_nothing_gets_one_document(fraction: float, empty: str) -> None:
    chooser = HashChooser(fraction)
    assert empty not in sides(list(chooser.choose(STORIES))).values()
    assert chooser.mend()
    second = [part.text for part in chooser.choose(STORIES) if part.split == empty]
    assert len(second) == 1
    assert not chooser.mend()
    again = HashChooser(fraction)
    list(again.choose(reversed(STORIES)))
    again.mend()
    assert [part.text for part in again.choose(reversed(STORIES)) if part.split == empty] == second


def test_copies_of_one_document_cannot_be_divided() -> None:
    chooser = HashChooser(0.05)
    list(chooser.choose(documents("same") * 100))
    with pytest.raises(DataError, match="all documents are the same text"):
        chooser.mend()


def test_a_document_that_changes_sides_ends_there() -> None:
    pieces = [Part(f"piece {i}".encode(), i == 39, "token") for i in range(40)]
    chosen = list(HashChooser(0.3).choose(pieces))
    assert b"".join(part.text for part in chosen) == b"".join(part.text for part in pieces)
    assert len({part.split for part in chosen}) == 2
    for part, following in itertools.pairwise(chosen):
        assert part.ends_document == (part.split != following.split)
    assert chosen[-1].ends_document


def test_which_corpus_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "HEAD_CHARS", 1000)
    assert read_head(iter(documents(*["a"] * 99))) == (documents(*["a"] * 99), True)
    assert read_head(iter(documents(*["a"] * 100)))[1] is False
    rest = iter(documents("a" * 600, "b" * 600, "c"))
    assert read_head(rest) == (documents("a" * 600, "b" * 600), False)
    assert next(rest).text == b"c"
    foreign = documents("é" * 600, "二" * 400)
    assert read_head(iter(foreign)) == (foreign, True), "characters are counted, not bytes"
    assert read_head(iter([])) == ([], True)


def tail(fraction: float, *texts: str) -> tuple[list[str], list[str]]:
    parts = list(hold_out_tail(documents(*texts), fraction))
    assert all(part.ends_document for part in parts)
    assert b"".join(part.text for part in parts).decode() == "".join(texts)
    assert all(part.text for part in parts)
    splits = [part.split for part in parts]
    assert splits == sorted(splits), "training first"
    return tuple([part.text.decode() for part in parts if part.split == split] for split in ("train", "valid"))  # type: ignore[return-value]


def test_a_tail_starts_with_a_line() -> None:
    lines = [f"line {i}\n" for i in range(100, 200)]
    assert tail(0.1, "".join(lines)) == (["".join(lines[:90])], ["".join(lines[90:])])
    windows = [f"line {i}\r\n" for i in range(100, 200)]
    assert tail(0.1, "".join(windows)) == (["".join(windows[:90])], ["".join(windows[90:])])


def test_a_tail_of_one_line_starts_with_a_word() -> None:
    words = [f"word{i}" for i in range(100, 200)]
    assert tail(0.1, " ".join(words)) == ([" ".join(words[:90])], [" " + " ".join(words[90:])])


def test_a_tail_inside_a_word() -> None:
    assert tail(0.25, "abcdefgh") == (["abcdef"], ["gh"])
    assert tail(0.25, "二二二二二二二🏠") == (["二二二二二二"], ["二🏠"])


def test_a_tail_of_several_documents() -> None:
    assert tail(0.5, "aaaa", "bbbb") == (["aaaa"], ["bbbb"])
    assert tail(0.25, "aaaa", "bbbb") == (["aaaa", "bb"], ["bb"])
    assert tail(0.3, "aaaaaaaaaa", "b", "c", "d") == (["aaaaaaaaaa"], ["b", "c", "d"]), "a near end of a document"
    assert tail(0.2, "a" * 50 + "\n", "b" * 6, "c" * 4, "dddd") == (["a" * 50 + "\n"], ["bbbbbb", "cccc", "dddd"])


def test_blank_lines_are_no_document_of_their_own() -> None:
    assert tail(0.5, "\n\n\nabcdefgh") == (["\n\n\nabcd"], ["efgh"])
    assert tail(0.5, "abcd", "\n\nefgh") == (["abcd"], ["\n\nefgh"])
    assert tail(0.5, "abcd\n\n", "efgh") == (["abcd\n\n"], ["efgh"])


@pytest.mark.parametrize("fraction", [1e-9, 0.05, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("texts", [("Once upon a time.\n",), ("ab",), ("a", "b"), ("a\n\n\n\n", "b \n"), ("\na b\n",)])
def test_no_side_is_ever_empty(fraction: float, texts: tuple[str, ...]) -> None:
    train, valid = tail(fraction, *texts)
    assert "".join(train).strip() and "".join(valid).strip()


def test_a_single_character_cannot_be_divided() -> None:
    with pytest.raises(DataError, match="single character"):
        tail(0.05, "a\n")


def test_pieces_of_a_document_are_joined_first() -> None:
    pieces = [Part(b"one two", False, "text"), Part(b" three", False, "text"), Part(b" four", True, "text")]
    assert list(hold_out_tail(pieces, 0.3)) == [
        Part(b"one two three", True, "text", "train"),
        Part(b" four", True, "text", "valid"),
    ]
