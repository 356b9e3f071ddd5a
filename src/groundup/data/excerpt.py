"""A first look at a corpus of any size, and as much of it as a run has use for, with a part held out.

`survey` says how much text there is, how far it can be packed and what a token holds at each size of vocabulary:
what a run is planned from. `take_text` writes two files of JSON lines, for training and for validation, so that the
tokenizer learns from the training text alone. Then `shards.py` encodes them.
"""

import bz2
import itertools
import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from groundup.corpus import END_OF_TEXT, Source, expand_paths, iter_pieces
from groundup.corpus.paths import has_fields
from groundup.data.held_out import HashChooser, Part, hold_out_tail, read_head
from groundup.errors import DataError
from groundup.files import StrPath, open_atomic
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.learning import Learning
from groundup.tokenizer.train import BpeTrainer

PIECE_CHARS = 1 << 16  # long documents are read, skipped and held out in pieces of about this size
SAMPLE_BYTES = 4_000_000
PACKED_BYTES = 900_000  # what bzip2 sees at once
VOCAB_SIZES = (512, 1024, 2048, 4096, 8192, 16384)
FIRST_SIZE = 257  # the bytes and the end of a text
LEAST_BYTES = 2_000  # shorter texts hold nothing that could be learned and then tested


@dataclass(frozen=True)
class Corpus:
    """What a run is planned from.

    Args:
        size_bytes: UTF-8 bytes of the text, as far as it was read.
        is_whole: False if there is more.
        documents: Documents, or pieces of long ones, among them.
        bytes_per_token: For each size of vocabulary that the text can fill, how many bytes a token of unseen text
            holds, in growing order of size.
        packed_bits_per_byte: What bzip2 makes of (part of) it: how regular the text is.
        read_bytes_per_s, encode_bytes_per_s: How fast it was read, and turned into ids by one thread.
    """

    size_bytes: int
    is_whole: bool
    documents: int
    bytes_per_token: tuple[tuple[int, float], ...]
    packed_bits_per_byte: float
    read_bytes_per_s: float
    encode_bytes_per_s: float


def survey(paths: StrPath | Sequence[StrPath], *, limit_bytes: int = 64_000_000) -> Corpus:
    """Read a corpus, at most about `limit_bytes` of it, and say what is in it.

    Raises DataError for text that cannot be read, and for a text of less than a few thousand bytes.
    """
    sources = expand_paths(paths)
    started = time.perf_counter()
    size_bytes = documents = 0
    sample = _EvenSample(SAMPLE_BYTES)
    is_whole = True
    for text, ends_document, *_ in _iter_parts(sources):
        size_bytes += len(text)
        documents += ends_document
        sample.add(text)
        if size_bytes >= limit_bytes:
            is_whole = False
            break
    elapsed_s = max(1e-6, time.perf_counter() - started)
    names = ", ".join(map(str, sources[:3]))
    if size_bytes == 0:
        raise DataError(f"there is no text in {names}; give a file with text")
    if size_bytes < LEAST_BYTES:
        raise DataError(
            f"{names} holds {size_bytes:,} bytes of text; a model needs at least {LEAST_BYTES:,} to learn from and to "
            "be tested on, and a megabyte to become any good"
        )
    packed = b"".join(sample.texts)[:PACKED_BYTES]
    bytes_per_token, encode_bytes_per_s = _bytes_per_token(sample.texts)
    return Corpus(
        size_bytes=size_bytes,
        is_whole=is_whole,
        documents=max(1, documents),
        bytes_per_token=bytes_per_token,
        packed_bits_per_byte=8 * len(bz2.compress(packed)) / len(packed),
        read_bytes_per_s=size_bytes / elapsed_s,
        encode_bytes_per_s=encode_bytes_per_s,
    )


def take_text(
    paths: StrPath | Sequence[StrPath],
    train_file: Path,
    valid_file: Path,
    *,
    valid_fraction: float,
    every: int = 1,
    limit_bytes: int | None = None,
) -> tuple[int, int]:
    """Write a corpus to two files of JSON lines; returns the UTF-8 bytes of text in each.

    What is held out is chosen as `prepare` does it (held_out.py). With `every` = n only each n-th document, or
    piece of about 64,000 characters of a long one, is taken: a cut through all of a corpus that is too large to be
    read in the time. Reading ends after `limit_bytes`. Raises DataError as `prepare` does.
    """
    sources = expand_paths(paths)

    def read() -> Iterator[Part]:
        return _thinned(_limited(_iter_parts(sources), limit_bytes), every)

    parts = read()
    head, is_short = read_head(parts)
    if is_short:
        return _write(hold_out_tail(head, valid_fraction), train_file, valid_file)
    chooser = HashChooser(valid_fraction)
    sizes = _write(chooser.choose(itertools.chain(head, parts)), train_file, valid_file)
    return _write(chooser.choose(read()), train_file, valid_file) if chooser.mend() else sizes


class _EvenSample:
    """Texts spread evenly over all that is added, `limit_bytes` at most: when it is full, every other one goes."""

    def __init__(self, limit_bytes: int) -> None:
        self.texts: list[bytes] = []
        self._limit_bytes, self._size_bytes, self._every, self._number = limit_bytes, 0, 1, 0

    def add(self, text: bytes) -> None:
        if self._number % self._every == 0:
            self.texts.append(text)
            self._size_bytes += len(text)
            while self._size_bytes > self._limit_bytes and len(self.texts) > 1:
                self.texts = self.texts[::2]
                self._size_bytes = sum(map(len, self.texts))
                self._every *= 2
        self._number += 1


def _bytes_per_token(texts: Sequence[bytes]) -> tuple[tuple[tuple[int, float], ...], float]:
    """For each size of vocabulary, learned from nine tenths of the text, what a token of the rest holds.

    And how many bytes one thread encodes in a second. A text too short for the smallest size has the one it fills.
    """
    joined = b"".join(texts)
    cut = len(joined) * 9 // 10
    known, unseen = (part.decode("utf-8", "ignore") for part in (joined[:cut], joined[cut:]))
    trainer = BpeTrainer([END_OF_TEXT])
    trainer.add_documents([known])
    vocab, merges = trainer.learn(VOCAB_SIZES[-1], Learning(min_frequency=2))
    unseen_bytes = len(unseen.encode())
    found = []
    rate = math.inf
    for size in [size for size in VOCAB_SIZES if size <= len(vocab)] or [len(vocab)]:
        tokenizer = Tokenizer({id: vocab[id] for id in range(size)}, merges[: size - FIRST_SIZE], [END_OF_TEXT])
        started = time.perf_counter()
        count = len(tokenizer.encode_to_array(unseen, special="text"))
        rate = min(rate, unseen_bytes / max(1e-6, time.perf_counter() - started))
        found.append((size, unseen_bytes / max(1, count)))
    return tuple(found), rate


def _iter_parts(sources: Sequence[Source]) -> Iterator[Part]:
    for source in sources:
        for text, ends_document in iter_pieces(source, max_chars=PIECE_CHARS):
            yield Part(text, ends_document, "text" if has_fields(source) else "token")


def _limited(parts: Iterable[Part], limit_bytes: int | None) -> Iterator[Part]:
    size_bytes = 0
    for part in parts:
        size_bytes += len(part.text)
        if limit_bytes is not None and size_bytes >= limit_bytes:
            yield part._replace(ends_document=True)
            return
        yield part


def _thinned(parts: Iterable[Part], every: int) -> Iterator[Part]:
    """Each `every`-th part; what is skipped after it ends its document."""
    for number, part in enumerate(parts):
        if number % every == 0:
            yield part if every == 1 else part._replace(ends_document=True)


def _write(parts: Iterable[Part], train_file: Path, valid_file: Path) -> tuple[int, int]:
    """The parts as JSON lines, a document a line."""
    sizes = {"train": 0, "valid": 0}
    waiting: dict[str, list[bytes]] = {"train": [], "valid": []}
    with ExitStack() as stack:
        files = {
            name: stack.enter_context(open_atomic(path))
            for name, path in (("train", train_file), ("valid", valid_file))
        }

        def write(name: str) -> None:
            text = b"".join(waiting[name]).decode()
            files[name].write(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
            waiting[name].clear()

        for part in parts:
            sizes[part.split] += len(part.text)
            waiting[part.split].append(part.text)
            if part.ends_document:
                write(part.split)
        for name, texts in waiting.items():
            if texts:
                write(name)
    return sizes["train"], sizes["valid"]
