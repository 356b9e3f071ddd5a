"""Which part of the text is held out from training: chosen by hash, or the tail of a short corpus.

By hash, a document's side depends on its text alone: not on the order of files or the number of threads, and
two copies of a document never stand on both sides. A corpus of a few documents, one book say, is too coarse
for that: there the last lines are held out.
"""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from groundup.errors import DataError

HEAD_CHARS = 8 << 20  # a corpus shorter than this,
MIN_DOCUMENTS = 100  # with fewer documents than this, is cut at its tail
_HASHES = 1 << 64


class Part(NamedTuple):
    """A document or a piece of one, in UTF-8, on its way into a split.

    `special` says whether the spelling of a special token in it means the token or is ordinary text.
    """

    text: bytes
    ends_document: bool
    special: Literal["token", "text"]
    split: Literal["train", "valid"] = "train"


def read_head(parts: Iterator[Part]) -> tuple[list[Part], bool]:
    """The first parts of a corpus, and whether the whole of it is only these few documents."""
    (head,), is_short = read_heads([parts])
    return head, is_short


def read_heads(corpora: Sequence[Iterator[Part]]) -> tuple[list[list[Part]], bool]:
    """The first parts of several corpora, one after the other, and whether all of them is only these few documents."""
    heads: list[list[Part]] = [[] for _ in corpora]
    num_chars = num_documents = 0
    for head, parts in zip(heads, corpora, strict=True):
        for part in parts:
            head.append(part)
            num_chars += len(part.text.decode())
            num_documents += part.ends_document
            if num_chars > HEAD_CHARS or num_documents >= MIN_DOCUMENTS:
                return heads, False
    return heads, True


class HashChooser:
    """Holds out the parts whose hash, a number below 2^64, falls below a share of that range."""

    def __init__(self, fraction: float) -> None:
        self._threshold = round(fraction * _HASHES)
        self._lowest, self._highest = _HASHES, -1

    def choose(self, parts: Iterable[Part]) -> Iterator[Part]:
        """The parts with their split. Where a document goes on in the other split, its part ends there."""
        chosen = (self._chosen(part) for part in parts)
        for part, following in itertools.pairwise(itertools.chain(chosen, (None,))):
            assert part is not None
            moves = following is not None and following.split != part.split
            yield part._replace(ends_document=True) if moves and not part.ends_document else part

    def choosing(self, read: Callable[[], Iterator[Part]]) -> Callable[[], Iterator[Part]]:
        """A corpus whose parts have their split, each time it is read."""
        return lambda: self.choose(read())

    def _chosen(self, part: Part) -> Part:
        number = int.from_bytes(hashlib.blake2b(part.text, digest_size=8).digest())
        self._lowest, self._highest = min(self._lowest, number), max(self._highest, number)
        return part._replace(split="valid") if number < self._threshold else part

    def mend(self) -> bool:
        """True if one split got nothing; then the threshold is moved just so far that a second pass mends it.

        Raises DataError if all parts are the same text, which no threshold can divide.
        """
        if self._lowest < self._threshold <= self._highest:
            return False
        if self._lowest == self._highest:
            raise DataError(
                "all documents are the same text, so that none can be held out; "
                "give files of your own for validation, or valid_fraction=0"
            )
        self._threshold = self._lowest + 1 if self._threshold <= self._lowest else self._highest
        return True


def hold_out_tail(parts: Iterable[Part], fraction: float) -> Iterator[Part]:
    """The documents with the last `fraction` of their characters held out, cut between two lines if they are near.

    Near means that the tail grows or shrinks by at most half; else the cut falls before a near space, or inside
    a word. Both sides get at least one character that is no white space. Raises DataError if there is only one.
    """
    documents = _joined(parts)
    text = "".join(document for document, _ in documents)
    first, last = len(text) - len(text.lstrip()), len(text.rstrip())  # where the first character stands, the last ends
    tail = min(max(1, round((last - first) * fraction)), last - first - 1)
    if text and tail < 1:
        raise DataError("the text is a single character, so that none can be held out; give more, or valid_fraction=0")
    start = 0  # of the document
    for document, last_part in documents:
        end = start + len(document)
        cut = min(max(start, last - tail), end)
        if start < cut < end:
            low, high = max(start, first + 1, cut - tail // 2), min(end, last - 1, cut + tail // 2)
            cut = start + _find_cut(document, cut - start, range(low - start, high - start + 1))
            if not text[start:cut].strip():  # blank lines are no document: they stay with the rest
                cut = start
            elif not text[cut:end].strip():
                cut = end
        if start < cut:
            yield last_part._replace(text=text[start:cut].encode())
        if cut < end:
            yield last_part._replace(text=text[cut:end].encode(), split="valid")
        start = end


def _joined(parts: Iterable[Part]) -> list[tuple[str, Part]]:
    """The text of each document, and the part that ends it."""
    documents: list[tuple[str, Part]] = []
    texts: list[bytes] = []
    for part in parts:
        texts.append(part.text)
        if part.ends_document:
            documents.append((b"".join(texts).decode(), part))
            texts = []
    return documents


def _find_cut(text: str, wanted: int, allowed: range) -> int:
    """The place nearest to `wanted` where a line starts or the text ends, else where a space stands, else `wanted`."""
    lines = (text.rfind("\n", 0, wanted) + 1, (text.find("\n", wanted) + 1) or len(text))
    spaces = (text.rfind(" ", 0, wanted), text.find(" ", wanted))
    for places in (lines, spaces):
        near = [place for place in places if place in allowed]
        if near:
            return min(near, key=lambda place: abs(place - wanted))
    return wanted
