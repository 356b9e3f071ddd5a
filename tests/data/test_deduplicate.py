"""Copies of documents are left out, byte for byte, whatever their length; the memory for it is bounded."""

import functools
import hashlib
import random
import tempfile
from collections.abc import Sequence

import pytest

from groundup.data import deduplicate
from groundup.data.deduplicate import Copies, DigestSet
from groundup.data.held_out import Part
from groundup.data.mixing import Reader


def reader(parts: Sequence[Part]) -> Reader:
    return functools.partial(iter, parts)


def documents(*texts: str) -> list[Part]:
    return [Part(text.encode(), True, "token") for text in texts]


def pieces(*texts: str) -> list[Part]:
    return [Part(text.encode(), number == len(texts) - 1, "text") for number, text in enumerate(texts)]


def test_the_first_of_identical_documents_stays() -> None:
    copies = Copies()
    found = list(copies.without(reader(documents("one", "two", "one", "two ", "one", "")))())
    assert found == documents("one", "two", "two ", "")
    assert (copies.documents, copies.bytes) == (2, 6)


def test_copies_are_found_across_corpora() -> None:
    copies = Copies()
    first, second = copies.without(reader(documents("one", "two"))), copies.without(reader(documents("two", "six")))
    assert [*first(), *second()] == documents("one", "two", "six")
    assert (copies.documents, copies.bytes) == (1, 3)


def test_a_corpus_that_is_read_again_is_no_copy_of_itself() -> None:
    copies = Copies()
    read = copies.without(reader(documents("one", "two", "one")))
    other = copies.without(reader(documents("two", "six")))
    for _ in range(3):
        assert list(read()) == documents("one", "two")
        assert list(other()) == documents("six")
    assert copies.documents == 2, "what a second reading leaves out was counted"


@pytest.mark.parametrize("spooled_bytes", [10, 1 << 20])
def test_long_documents_are_compared_whole_and_come_as_they_were(
    monkeypatch: pytest.MonkeyPatch, spooled_bytes: int
) -> None:
    monkeypatch.setattr(deduplicate, "_SPOOLED_BYTES", spooled_bytes)
    one, other = pieces("a long ", "story ö ", "ends."), pieces("a long ", "story ö ", "goes on.")
    cut_elsewhere = pieces("a lo", "ng story ö ends.")
    copies = Copies()
    assert list(copies.without(reader([*one, *other, *cut_elsewhere, *other]))()) == [*one, *other]
    assert copies.documents == 2
    assert copies.bytes == len("a long story ö ends.".encode()) + len("a long story ö goes on.".encode())


def test_a_long_document_waits_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    files, make = [], tempfile.SpooledTemporaryFile

    def opened(**options):
        files.append(make(**options))
        return files[-1]

    monkeypatch.setattr(deduplicate, "_SPOOLED_BYTES", 1000)
    monkeypatch.setattr(deduplicate.tempfile, "SpooledTemporaryFile", opened)
    long = pieces(*["x" * 100] * 50)
    for number, part in enumerate(Copies().without(reader(long))()):
        assert part == long[number]
        assert files[0]._rolled, "not in memory"
    assert files[0].closed


def test_a_reader_that_stops_early_leaves_no_file_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deduplicate, "_SPOOLED_BYTES", 1)
    parts = Copies().without(reader(pieces("one ", "two ", "three")))()
    assert next(parts).text == b"one "
    parts.close()  # a warning of an open file would be an error


def test_the_table_is_a_set() -> None:
    draw = random.Random(0)
    words = [bytes([draw.randrange(256), draw.randrange(30)]) for _ in range(5000)]
    digests = [hashlib.blake2b(word, digest_size=16).digest() for word in words]
    seen: set[bytes] = set()
    table = DigestSet()
    for digest in digests:
        assert table.add(digest) == (digest not in seen)
        seen.add(digest)
    assert len(table) == len(seen) > 3000


def test_digests_that_want_the_same_slot() -> None:
    table = DigestSet()
    alike = [bytes(7) + bytes([7, number]) + bytes(7) for number in range(200)]
    assert all(map(table.add, alike))
    assert not any(map(table.add, alike))


def test_the_table_takes_16_bytes_for_a_digest_and_at_most_as_many_free_ones() -> None:
    table = DigestSet()
    for number in range(4000):
        table.add(hashlib.blake2b(number.to_bytes(4), digest_size=16).digest())
        if number >= 1000:
            assert 16 * len(table) * 4 / 3 <= table.size_bytes <= 16 * len(table) * 2.05
