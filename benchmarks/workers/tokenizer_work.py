"""What a tokenizer is asked to do, the same for all: timed calls, and their ids against those of the reference.

A worker says how its tokenizer is called; reading, timing and comparing stand here. Runs in the environments
of all peers, so: standard library only.
"""

import gc
import hashlib
import json
import os
import time
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from process_memory import peak_memory_bytes
from protocol import Operation, serve

GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
END_OF_TEXT = "<|endoftext|>"
CORES_OF_ONE_THREAD = 1.3  # more processor time than this per second of the clock is more than one thread


class Encoder:
    """A tokenizer with its vocabulary. Each call is the fastest one that the library documents for its purpose.

    `calls` tells in words what they are. What `prepare` does to a text is not timed: bytes or str, as it likes.
    """

    calls: ClassVar[dict[str, str]]

    def prepare(self, text: str) -> Any:
        return text

    def encode(self, text: Any) -> Any:
        """The ids of a text in whatever form is fastest."""
        raise NotImplementedError

    def encode_list(self, text: Any) -> list[int]:
        raise NotImplementedError

    def encode_small(self, text: Any) -> Any:
        """As encode, for a text of a page."""
        return self.encode(text)

    def encode_batch(self, texts: list[Any]) -> Any:
        """The ids of many texts, in as many threads as were set up."""
        raise NotImplementedError

    def for_decoding(self, encoded: Any) -> Any:
        """What `encode` returned as `decode` likes it best; not timed."""
        return encoded

    def decode(self, ids: Any) -> str | bytes:
        raise NotImplementedError

    def raw_ids(self, encoded: Any) -> bytes:
        """What `encode`, `encode_list` or `encode_small` returned as 32-bit numbers, one after the other."""
        return array("I", encoded).tobytes()

    def raw_batch_ids(self, encoded: Any) -> bytes:
        """The same of what `encode_batch` returned."""
        return b"".join(map(self.raw_ids, encoded))


class EncoderWork:
    """The operations on an encoder; `make(folder, threads)` loads it from what bench/tokenizer_inputs.py wrote."""

    def __init__(self, make: Callable[[Path, int], Encoder], versions: Callable[[], dict[str, str]]) -> None:
        self._make, self._versions = make, versions
        self._folder, self._threads = Path(), 1
        self._encoder: Encoder | None = None
        self._prepared: dict[str, Any] = {}  # of the file with the texts: "again" is with the same object

    def set_up(self, folder: str, threads: int) -> dict[str, Any]:
        """Load the vocabulary; a call of each kind on one letter, so that what is imported late is there."""
        limit_threads(threads)
        self._folder, self._threads = Path(folder), threads
        encoder = self._renew()
        letter = encoder.prepare("a")
        for call in (encoder.encode, encoder.encode_list, encoder.encode_small):
            call(letter)
        encoder.encode_batch([letter, letter])
        return {"versions": self._versions(), "calls": encoder.calls}

    def encode(self, text: str, reference: str, form: str, fresh: bool = False) -> dict[str, Any]:
        """Encode the text in a file; `form` is "fastest" or "list". `fresh`: with an object that saw no text."""
        encoder = self._renew() if fresh else self._current()
        prepared = self._prepare(text, encoder.prepare)
        call = {"fastest": encoder.encode, "list": encoder.encode_list}[form]
        encoded, facts = self._timed(lambda: call(prepared))
        return facts | {"problem": facts["problem"] or difference(encoder.raw_ids(encoded), reference)}

    def encode_batch(self, texts: str, reference: str) -> dict[str, Any]:
        """Encode the documents in a JSON file with one call."""
        encoder = self._current()
        prepared = self._prepare_all(texts, encoder)
        encoded, facts = self._timed(lambda: encoder.encode_batch(prepared))
        return facts | {"problem": facts["problem"] or difference(encoder.raw_batch_ids(encoded), reference)}

    def encode_each(self, texts: str, reference: str) -> dict[str, Any]:
        """Encode the documents in a JSON file with one call each."""
        encoder = self._current()
        prepared, call = self._prepare_all(texts, encoder), encoder.encode_small
        encoded, facts = self._timed(lambda: [call(text) for text in prepared])
        return facts | {
            "problem": facts["problem"] or difference(b"".join(map(encoder.raw_ids, encoded)), reference),
            "seconds": facts["seconds"] / len(prepared),
        }

    def decode(self, text: str) -> dict[str, Any]:
        """Decode the ids of the text in a file, which is to come out again."""
        encoder = self._current()
        ids = encoder.for_decoding(encoder.encode(self._prepare(text, encoder.prepare)))
        decoded, facts = self._timed(lambda: encoder.decode(ids))
        decoded = decoded.encode() if isinstance(decoded, str) else decoded
        return facts | {"problem": None if decoded == Path(text).read_bytes() else "decodes to another text"}

    def write_ids(self, out: str, text: str | None = None, texts: str | None = None) -> dict[str, Any]:
        """Write the ids of a text, or of all documents, for `difference` to compare with."""
        encoder = self._current()
        strings = [read_text(text)] if text else json.loads(Path(texts or "").read_text(encoding="utf-8"))
        Path(out).write_bytes(b"".join(encoder.raw_ids(encoder.encode(encoder.prepare(one))) for one in strings))
        return {}

    def operations(self) -> dict[str, Operation]:
        work = (self.set_up, self.encode, self.encode_batch, self.encode_each, self.decode, self.write_ids)
        return {operation.__name__: operation for operation in work}

    def _renew(self) -> Encoder:
        self._encoder = self._make(self._folder, self._threads)
        return self._encoder

    def _current(self) -> Encoder:
        assert self._encoder is not None, "set_up comes first"
        return self._encoder

    def _prepare(self, text: str, prepare: Callable[[str], Any]) -> Any:
        if text not in self._prepared:
            self._prepared[text] = prepare(read_text(text))
        return self._prepared[text]

    def _prepare_all(self, texts: str, encoder: Encoder) -> list[Any]:
        if texts not in self._prepared:
            documents = json.loads(Path(texts).read_text(encoding="utf-8"))
            self._prepared[texts] = [encoder.prepare(document) for document in documents]
        return self._prepared[texts]

    def _timed(self, call: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
        """What it returns, seconds, and whether it took more processors than it was given."""
        result, seconds, cores = timed(call)
        too_many = self._threads == 1 and seconds > 0.05 and cores > CORES_OF_ONE_THREAD
        problem = f"took {cores:.1f} processors where one was allowed" if too_many else None
        return result, {"seconds": seconds, "problem": problem}


def serve_encoder(make: Callable[[Path, int], Encoder], versions: Callable[[], dict[str, str]]) -> None:
    """Answer for a tokenizer that encodes but does not train."""
    serve(EncoderWork(make, versions).operations())


Merges = Iterable[tuple[bytes, bytes]]
# (files, number of merges, different bytes in them, threads) -> what finds the merges in the result
Train = Callable[[Sequence[str], int, int, int], Callable[[], Merges]]


def train_operation(train: Train, call: str, versions: Callable[[], dict[str, str]]) -> Operation:
    """The operation that learns merges from files and times it, with the peak memory of the process."""

    def operation(files: list[str], num_merges: int, alphabet: int, threads: int, out: str) -> dict[str, Any]:
        limit_threads(threads)
        merges_of, seconds, _ = timed(lambda: train(files, num_merges, alphabet, threads))
        peak_bytes = peak_memory_bytes()
        merges = json.dumps([(left.hex(), right.hex()) for left, right in merges_of()])
        Path(out).write_text(merges, encoding="utf-8")
        return {
            "seconds": seconds,
            "peak_bytes": peak_bytes,
            "digest": hashlib.sha256(merges.encode()).hexdigest(),
            "calls": {"train": call},
            "versions": versions(),
        }

    return operation


def timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """(result, seconds, processors it took on average)."""
    gc.collect()
    start, start_cpu = time.perf_counter(), time.process_time()
    result = call()
    seconds, cpu_s = time.perf_counter() - start, time.process_time() - start_cpu
    return result, seconds, cpu_s / seconds if seconds else 1.0


def difference(raw: bytes, reference: str) -> str | None:
    """Where ids (32 bits each) first differ from those in the file `reference`; None if they are equal.

    >>> difference(b"", "/dev/null") is None
    True
    """
    expected = Path(reference).read_bytes()
    if raw == expected:
        return None
    ours, theirs = array("I", raw), array("I", expected)
    place = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    if place is None:
        return f"wrong ids: {len(ours):,}, not {len(theirs):,}"
    return f"wrong ids: {ours[place]}, not {theirs[place]}, at {place:,}"


def limit_threads(threads: int) -> None:
    """Tell the libraries how many threads to take; before they are imported."""
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"


def read_text(path: str | Path) -> str:
    """The text of a file as it is, line endings too."""
    with Path(path).open(encoding="utf-8", newline="") as file:
        return file.read()


def printable_bytes() -> dict[str, int]:
    """The byte behind each of the 256 characters in which GPT-2's files, and others after them, write tokens."""
    shown = [byte for byte in range(256) if chr(byte).isprintable() and chr(byte) != " "]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + place): byte for place, byte in enumerate(hidden)}
