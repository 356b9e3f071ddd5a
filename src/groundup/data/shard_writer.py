"""Parts of text to ids on disk: encoded batch by batch over all threads, appended to the shards of a split."""

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from groundup.data.held_out import Part
from groundup.data.manifest import Shard, Split
from groundup.environment import usable_cores
from groundup.errors import DataError
from groundup.tokenizer.bpe import Tokenizer

Progress = Callable[[int], object]

_BATCH_BYTES = 1 << 20  # what is encoded at once
_FLUSH_BYTES = 4 << 20  # on their way to the disk while more is encoded; not all at the end


def write_splits(
    parts: Iterable[Part],
    *,
    tokenizer: Tokenizer,
    folder: Path,
    num_threads: int | None = None,
    progress: Progress | None = None,
    shard_tokens: int,
) -> dict[str, Split]:
    """Encode the parts and write them to `<split>-00000.bin`, ... in `folder`; returns what was written.

    Shards that are in the folder go away. Raises DataError for an id that the dtype cannot hold, OSError for the disk.
    """
    for old in folder.glob("*.bin"):
        old.unlink()
    with (
        ThreadPoolExecutor(1) as flusher,
        _SplitWriter(folder, "train", tokenizer, shard_tokens, flusher) as train,
        _SplitWriter(folder, "valid", tokenizer, shard_tokens, flusher) as valid,
    ):
        writers = {writer.name: writer for writer in (train, valid)}
        for batch, ids in _iter_encoded(_batches(parts), tokenizer, num_threads or usable_cores()):
            writers[batch.split].add(batch, ids)
            if progress is not None:
                progress(train.bytes + valid.bytes)
    return {writer.name: writer.finished() for writer in (train, valid)}


class _Batch:
    """Parts of one split, all with the same meaning of special tokens, that are encoded at once."""

    def __init__(self, split: Literal["train", "valid"], special: Literal["token", "text"]) -> None:
        self.split: Literal["train", "valid"] = split
        self.special: Literal["token", "text"] = special
        self.texts: list[bytes] = []
        self.ends_document: list[bool] = []
        self.size_bytes = 0


def _batches(parts: Iterable[Part]) -> Iterator[_Batch]:
    """The parts in batches of a megabyte or a little more, those of each split in order."""
    open_batches: dict[str, _Batch] = {}
    for text, ends_document, special, split in parts:
        batch = open_batches.get(split)
        if batch is None or batch.size_bytes >= _BATCH_BYTES or batch.special != special:
            if batch is not None:
                yield batch
            batch = open_batches[split] = _Batch(split, special)
        batch.texts.append(text)
        batch.ends_document.append(ends_document)
        batch.size_bytes += len(text)
    yield from open_batches.values()


def _iter_encoded(
    batches: Iterable[_Batch], tokenizer: Tokenizer, num_threads: int
) -> Iterator[tuple[_Batch, npt.NDArray[Any]]]:
    """The batches in order, each with its ids: encoded in threads while this one reads on and writes.

    A batch is one thread's, so that none waits for another; one more than there are threads lies ready.
    """

    def encode(batch: _Batch) -> npt.NDArray[Any]:
        ids, _ = tokenizer.encode_joined(
            batch.texts, special=batch.special, end_of_text=batch.ends_document, num_threads=1
        )
        return ids

    pool = ThreadPoolExecutor(num_threads)
    try:
        encoding: deque[tuple[_Batch, Future[npt.NDArray[Any]]]] = deque()
        for batch in batches:
            encoding.append((batch, pool.submit(encode, batch)))
            if len(encoding) > num_threads + 1:
                first, ids = encoding.popleft()
                yield first, ids.result()
        for batch, ids in encoding:
            yield batch, ids.result()
    finally:
        pool.shutdown(cancel_futures=True)


class _SplitWriter:
    """Appends ids to the shards of one split."""

    def __init__(
        self, folder: Path, name: str, tokenizer: Tokenizer, shard_tokens: int, flusher: ThreadPoolExecutor
    ) -> None:
        self.name = name
        self.documents = 0
        self.bytes = 0
        self._folder = folder
        self._dtype = np.dtype(tokenizer.dtype).newbyteorder("<")
        self._shard_tokens = shard_tokens
        self._shards: list[Shard] = []
        self._file: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self._count = 0  # of ids in the open shard
        self._flusher = flusher
        self._flushes: list[Future[None]] = []  # of the open shard
        self._unflushed_bytes = 0

    def __enter__(self) -> "_SplitWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_shard()

    def add(self, batch: _Batch, ids: npt.NDArray[Any]) -> None:
        """Append the ids of a batch. Raises DataError for one that the dtype cannot hold."""
        self.bytes += batch.size_bytes
        self.documents += sum(batch.ends_document)
        limit = np.iinfo(self._dtype).max
        if np.iinfo(ids.dtype).max > limit and ids.max() > limit:
            raise DataError(f"id {ids.max()} does not fit into {self._dtype.name}, which ends at {limit}")
        data = ids.astype(self._dtype, copy=False)
        while len(data):
            if self._file is None:
                self._file = (self._folder / self._file_name()).open("wb")
            now, data = np.split(data, [self._shard_tokens - self._count])
            self._file.write(now.data)
            self._hash.update(now.data)
            self._count += len(now)
            self._unflushed_bytes += now.nbytes
            if self._unflushed_bytes >= _FLUSH_BYTES:
                self._flushes.append(self._flusher.submit(os.fsync, self._file.fileno()))
                self._unflushed_bytes = 0
            if self._count == self._shard_tokens:
                self._close_shard()

    def _file_name(self) -> str:
        return f"{self.name}-{len(self._shards):05d}.bin"

    def _close_shard(self) -> None:
        if self._file is not None:
            wait(self._flushes)
            self._file.close()
            flushes, self._flushes, self._unflushed_bytes = self._flushes, [], 0
            for flush in flushes:
                flush.result()
            self._shards.append(Shard(self._file_name(), self._count, self._hash.hexdigest()))
            self._file, self._count, self._hash = None, 0, hashlib.sha256()

    def finished(self) -> Split:
        """What was written; after the writer is closed."""
        tokens = sum(shard.tokens for shard in self._shards)
        return Split(tokens, self.documents, self.bytes, tuple(self._shards))
