"""Parts of text to ids on disk: encoded batch by batch over all threads, appended to the shards of a split."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from groundup.data.held_out import Part
from groundup.data.manifest import Shard, Split
from groundup.errors import DataError
from groundup.tokenizer.bpe import Tokenizer

Progress = Callable[[int], object]

_BATCH_CHARS = 4 << 20  # what is encoded at once


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

    Shards that are in the folder go away. Raises DataError for an id that the dtype cannot hold.
    """
    for old in folder.glob("*.bin"):
        old.unlink()
    with (
        _SplitWriter(folder, "train", tokenizer, shard_tokens) as train,
        _SplitWriter(folder, "valid", tokenizer, shard_tokens) as valid,
    ):
        for batch in _batches(parts):
            ids = tokenizer.encode_batch_to_arrays(
                [part.text for part in batch], special=batch[0].special, num_threads=num_threads
            )
            for writer in (train, valid):
                writer.add([pair for pair in zip(batch, ids, strict=True) if pair[0].split == writer.name])
            if progress is not None:
                progress(train.bytes + valid.bytes)
    return {writer.name: writer.finished() for writer in (train, valid)}


def _batches(parts: Iterable[Part]) -> Iterator[list[Part]]:
    """Lists of parts of a few megabytes, all with the same meaning of special tokens."""
    batch: list[Part] = []
    size = 0
    for part in parts:
        if batch and (size >= _BATCH_CHARS or part.special != batch[0].special):
            yield batch
            batch, size = [], 0
        batch.append(part)
        size += len(part.text)
    if batch:
        yield batch


class _SplitWriter:
    """Appends ids to the shards of one split."""

    def __init__(self, folder: Path, name: str, tokenizer: Tokenizer, shard_tokens: int) -> None:
        self.name = name
        self.documents = 0
        self.bytes = 0
        self._folder = folder
        self._dtype = np.dtype(tokenizer.dtype).newbyteorder("<")
        self._end_of_text = np.array([tokenizer.end_of_text_id], dtype=np.uint32)
        self._shard_tokens = shard_tokens
        self._shards: list[Shard] = []
        self._file: BinaryIO | None = None
        self._hash = hashlib.sha256()
        self._count = 0  # of ids in the open shard

    def __enter__(self) -> "_SplitWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_shard()

    def add(self, encoded: list[tuple[Part, npt.NDArray[Any]]]) -> None:
        """Append the ids of the parts, and <|endoftext|> where a document ends."""
        arrays: list[npt.NDArray[Any]] = []
        for part, ids in encoded:
            arrays.append(ids)
            self.bytes += len(part.text) if part.text.isascii() else len(part.text.encode())
            if part.ends_document:
                arrays.append(self._end_of_text)
                self.documents += 1
        if arrays:
            self._append(np.concatenate(arrays))

    def _append(self, ids: npt.NDArray[Any]) -> None:
        limit = np.iinfo(self._dtype).max
        if ids.max() > limit:
            raise DataError(f"id {ids.max()} does not fit into {self._dtype.name}, which ends at {limit}")
        while len(ids):
            if self._file is None:
                self._file = (self._folder / self._file_name()).open("wb")
            now, ids = np.split(ids, [self._shard_tokens - self._count])
            data = now.astype(self._dtype).data
            self._file.write(data)
            self._hash.update(data)
            self._count += len(now)
            if self._count == self._shard_tokens:
                self._close_shard()

    def _file_name(self) -> str:
        return f"{self.name}-{len(self._shards):05d}.bin"

    def _close_shard(self) -> None:
        if self._file is not None:
            self._file.close()
            self._shards.append(Shard(self._file_name(), self._count, self._hash.hexdigest()))
            self._file, self._count, self._hash = None, 0, hashlib.sha256()

    def finished(self) -> Split:
        """What was written; after the writer is closed."""
        tokens = sum(shard.tokens for shard in self._shards)
        return Split(tokens, self.documents, self.bytes, tuple(self._shards))
