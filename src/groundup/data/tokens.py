"""Ids on disk as one long 1-D array: the shards of a dataset, nanoGPT's raw .bin, or .npy.

What is sliced is read from the file into a new array. Nothing is mapped into memory: each page of a mapping
that was touched counts as resident until, after enough random batches, the whole file does; and a file cut
short under a mapping ends the process, where a read ends in an error.
"""

import bisect
import itertools
import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from groundup.data.manifest import read_manifest
from groundup.errors import DataError
from groundup.files import StrPath


class IdFile(NamedTuple):
    """Where ids stand in a file."""

    path: Path
    num_ids: int
    first_byte: int = 0


class Tokens:
    """A 1-D array of ids over one or more files. `tokens[i]`, `tokens[a:b]`, `len`, `.dtype` are as numpy's.

    Slices are arrays of their own. `np.asarray(tokens)` reads everything. Threads and forked or spawned
    processes may share it.
    """

    def __init__(self, files: Sequence[IdFile], dtype: npt.DTypeLike) -> None:
        self.files = tuple(file for file in files if file.num_ids > 0)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._starts = list(itertools.accumulate((file.num_ids for file in self.files), initial=0))
        self._descriptors: list[int] = []
        weakref.finalize(self, _close, self._descriptors)
        for file in self.files:
            self._descriptors.append(os.open(file.path, os.O_RDONLY))

    def __reduce__(self) -> tuple[Any, ...]:
        return Tokens, (self.files, self.dtype)

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def shape(self) -> tuple[int]:
        """(number of ids,)."""
        return (len(self),)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> npt.NDArray[Any]: ...
    def __getitem__(self, index: int | slice) -> int | npt.NDArray[Any]:
        if isinstance(index, slice):
            indices = range(*index.indices(len(self)))
            if not indices:
                return np.empty(0, self.dtype)
            first, last = min(indices[0], indices[-1]), max(indices[0], indices[-1])
            ids = self._read(first, last + 1)
            return ids if indices.step == 1 else ids[:: indices.step]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} ids")
        return int(self._read(place, place + 1)[0])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("ids on disk cannot become an array without a copy")
        return self[:].astype(dtype or self.dtype, copy=False)

    def _read(self, start: int, stop: int) -> npt.NDArray[Any]:
        ids = np.empty(stop - start, self.dtype)
        number = bisect.bisect_right(self._starts, start) - 1
        done = 0
        while done < len(ids):
            inside = start + done - self._starts[number]
            count = min(len(ids) - done, self.files[number].num_ids - inside)
            self._fill(ids[done : done + count], number, inside)
            done += count
            number += 1
        return ids

    def _fill(self, ids: npt.NDArray[Any], number: int, inside: int) -> None:
        """Read ids from one file, in as many reads as the system takes for it."""
        target = ids.view(np.uint8).data
        position = self.files[number].first_byte + inside * self.dtype.itemsize
        while target:
            size = os.preadv(self._descriptors[number], [target], position)
            if size == 0:
                raise DataError(f"{self.files[number].path} ends early; prepare the dataset again")
            target, position = target[size:], position + size


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def open_tokens(path: StrPath, split: str = "train", *, dtype: npt.DTypeLike = np.uint16) -> Tokens:
    """The ids of one split of a dataset folder, or of a single file.

    Args:
        path: A folder written by `prepare`; a `.npy` file with a 1-D integer array; or any other file, which is
            taken for raw ids as nanoGPT writes them.
        split: "train" or "valid", of a folder.
        dtype: Type of raw ids.

    Raises:
        DataError: Nothing there, no such split, or a file that is not as long as the manifest says.
    """
    path = Path(path)
    if path.is_dir():
        return _open_split(path, split)
    if not path.exists():
        raise DataError(f"{path} does not exist; make a dataset with 'groundup data prepare'")
    if path.suffix == ".npy":
        return _open_npy(path)
    size_bytes, item_bytes = path.stat().st_size, np.dtype(dtype).itemsize
    if size_bytes % item_bytes:
        raise DataError(f"{path} has {size_bytes} bytes, which is no whole number of {np.dtype(dtype).name} ids")
    return Tokens([IdFile(path, size_bytes // item_bytes)], np.dtype(dtype).newbyteorder("<"))


def _open_split(folder: Path, split: str) -> Tokens:
    manifest = read_manifest(folder)
    names = [name for name, part in manifest.splits.items() if part.tokens]
    if split not in names:
        raise DataError(f"{folder} has no {split!r} ids; it has {' and '.join(names) or 'none at all'}")
    files = [IdFile(folder / shard.file, shard.tokens) for shard in manifest.splits[split].shards]
    for file in files:
        if not file.path.is_file():
            raise DataError(f"{file.path} is missing; prepare the dataset again")
        found, expected = file.path.stat().st_size, file.num_ids * manifest.id_dtype.itemsize
        if found != expected:
            raise DataError(f"{file.path} has {found} bytes, not the {expected} of its manifest; prepare again")
    return Tokens(files, manifest.id_dtype)


def _open_npy(path: Path) -> Tokens:
    try:
        mapped = np.load(path, mmap_mode="r")  # for what its header says
    except (ValueError, OSError, EOFError) as error:
        raise DataError(f"{path} is not a .npy file that can be read: {error}") from error
    if mapped.ndim != 1 or mapped.dtype.kind not in "iu":
        raise DataError(f"{path} holds {mapped.dtype} of shape {mapped.shape}; ids must be integers in one dimension")
    return Tokens([IdFile(path, len(mapped), mapped.offset)], mapped.dtype)
