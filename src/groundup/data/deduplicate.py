"""Exact copies of documents left out, in one pass, with 16 bytes of memory for each document besides empty slots.

A document is known by a 128-bit hash of its bytes, so that only identical ones are copies: another space, and it
is another document. With 10^9 documents the chance that two different ones are taken for copies is below 10^-20.
"""

import contextlib
import hashlib
import tempfile
from collections.abc import Callable, Iterator

from groundup.data.held_out import Part

_DIGEST_BYTES = 16
_FREE = bytes(_DIGEST_BYTES)
_SPOOLED_BYTES = 16 << 20  # a longer document waits on the disk for its end


class Copies:
    """Lets the first of identical documents pass, in all corpora together, and counts the others.

    Attributes:
        documents, bytes: What was left out in the first pass over each corpus.
    """

    def __init__(self) -> None:
        self.documents = self.bytes = 0
        self._seen = DigestSet()

    def without(self, read: Callable[[], Iterator[Part]]) -> Callable[[], Iterator[Part]]:
        """A corpus without copies: a function that reads it from its start, as often as it is called.

        Each call leaves out the documents that the first call, which must have come to its end, left out: one
        that is read again is no copy of itself. That takes a byte for each document.
        """
        passed = bytearray()  # whether each document did
        is_first = True

        def read_without() -> Iterator[Part]:
            nonlocal is_first
            known, is_first = not is_first, False
            for number, (pieces, digest) in enumerate(_iter_held(read())):
                if known:
                    goes_on = bool(passed[number])
                else:
                    goes_on = self._seen.add(digest)
                    passed.append(goes_on)
                    if not goes_on:
                        self.documents += 1
                        self.bytes += pieces.size
                with contextlib.closing(pieces):
                    if goes_on:
                        yield from pieces

        return read_without


class DigestSet:
    """Hashes of 16 bytes in one table, a third larger than what is in it, or up to twice: a set takes some 100 each.

    >>> seen = DigestSet()
    >>> [seen.add(bytes([number]) * 16) for number in (1, 2, 1)]
    [True, True, False]
    """

    def __init__(self) -> None:
        self._num_slots = 1024
        self._slots = bytearray(self._num_slots * _DIGEST_BYTES)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        """Of the table."""
        return len(self._slots)

    def add(self, digest: bytes) -> bool:
        """Put a digest in; returns whether it was not there yet."""
        place = self._find(digest)
        if self._slots[place : place + _DIGEST_BYTES] == digest:
            return False
        self._slots[place : place + _DIGEST_BYTES] = digest
        self._count += 1
        if 4 * self._count > 3 * self._num_slots:
            self._grow()
        return True

    def _find(self, digest: bytes) -> int:
        """Where the digest stands, or the first free slot after the one that is its own (linear probing)."""
        slot = int.from_bytes(digest[:8]) % self._num_slots
        while True:
            place = slot * _DIGEST_BYTES
            if self._slots[place : place + _DIGEST_BYTES] in (digest, _FREE):
                return place
            slot = (slot + 1) % self._num_slots

    def _grow(self) -> None:
        old, self._num_slots = self._slots, self._num_slots * 3 // 2
        self._slots = bytearray(self._num_slots * _DIGEST_BYTES)
        for start in range(0, len(old), _DIGEST_BYTES):
            digest = bytes(old[start : start + _DIGEST_BYTES])
            if digest != _FREE:
                place = self._find(digest)
                self._slots[place : place + _DIGEST_BYTES] = digest


class _Pieces:
    """The parts of one document: in memory, from some megabytes on in a temporary file."""

    def __init__(self) -> None:
        self.size = 0
        self._lengths: list[int] = []
        self._last: Part | None = None
        self._file: tempfile.SpooledTemporaryFile[bytes] | None = None

    def add(self, part: Part) -> None:
        if self._last is not None:  # most documents are one part
            if self._file is None:
                self._file = tempfile.SpooledTemporaryFile(max_size=_SPOOLED_BYTES)  # noqa: SIM115 - closed by close
            self._file.write(self._last.text)
            self._lengths.append(len(self._last.text))
        self._last = part
        self.size += len(part.text)

    def __iter__(self) -> Iterator[Part]:
        assert self._last is not None
        if self._file is not None:
            self._file.seek(0)
            for length in self._lengths:
                yield self._last._replace(text=self._file.read(length), ends_document=False)
        yield self._last

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def _iter_held(parts: Iterator[Part]) -> Iterator[tuple[_Pieces, bytes]]:
    """Each document, held until its end, with the hash of its bytes."""
    pieces, hashed = _Pieces(), hashlib.blake2b(digest_size=_DIGEST_BYTES)
    for part in parts:
        pieces.add(part)
        hashed.update(part.text)
        if part.ends_document:
            yield pieces, hashed.digest()
            pieces, hashed = _Pieces(), hashlib.blake2b(digest_size=_DIGEST_BYTES)
