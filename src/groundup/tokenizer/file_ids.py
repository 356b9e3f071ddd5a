"""The ids of a text file, some megabytes of it at a time."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from groundup import _native
from groundup.errors import TokenizerError
from groundup.files import StrPath
from groundup.tokenizer.explained import explained

if TYPE_CHECKING:
    import numpy

_STEP_CHARS = 1 << 16


def iter_native(
    encoder: _native.Encoder, path: StrPath, recognise: bool, num_threads: int, is_narrow: bool
) -> "Iterator[numpy.ndarray]":
    """By the native core, as arrays of 16 bits an id, or 32. Raises TokenizerError for what is not UTF-8."""
    try:
        parts = _native.FileIds(encoder, path, recognise, num_threads)
        read = parts.next_16 if is_narrow else parts.next
        while (ids := read()) is not None:
            yield ids
    except ValueError as error:
        raise explained(error, []) from error


def iter_streamed(
    encode_iterable: Callable[[Iterable[str]], Iterator[int]], path: StrPath, dtype: "numpy.dtype"
) -> "Iterator[numpy.ndarray]":
    """By a stream over the file's characters. Raises TokenizerError for what is not UTF-8."""
    import numpy

    try:
        with Path(path).open(encoding="utf-8", newline="") as file:
            ids = encode_iterable(iter(lambda: file.read(_STEP_CHARS), ""))
            while len(part := numpy.fromiter(itertools.islice(ids, _STEP_CHARS), dtype=dtype)):
                yield part
    except UnicodeDecodeError as error:
        raise TokenizerError(f"'{path}' is not UTF-8: {error.reason}") from error
