"""From a file to text: opened, unpacked, decoded, split, all in one pass and in bounded memory."""

import codecs
import contextlib
import itertools
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from groundup.corpus.paths import Source
from groundup.errors import DataError

_ZSTD_STEP_BYTES = 1 << 11  # 4 bytes can stand for 128 KiB: small steps bound what one of them unpacks to


@contextlib.contextmanager
def open_source(source: Source) -> Iterator[IO[bytes]]:
    """The bytes of a file or a URL. What goes wrong while they are read becomes a one-sentence DataError."""
    try:
        with source.open("rb") if isinstance(source, Path) else _open_url(source) as file:
            yield file
    except EOFError as error:
        raise DataError(f"{source} breaks off: its compressed data has no end; copy or download it again") from error
    except (OSError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{source} cannot be read: {reason}") from error


def _open_url(url: str) -> IO[bytes]:
    from fsspec.core import url_to_fs

    try:
        file_system, path = url_to_fs(url)
        return file_system.open(path, "rb")
    except (ImportError, ValueError) as error:  # a scheme that is unknown, or needs a package
        raise DataError(f"{url} cannot be opened: {error}") from error


def iter_bytes(file: IO[bytes], source: Source, chunk_bytes: int) -> Iterator[bytes]:
    """The bytes of an open file, unpacked as the name of `source` says; never an empty chunk."""
    name = str(source).lower()
    if name.endswith(".zst"):
        yield from _iter_zstd(file)
    elif name.endswith(".gz"):
        import gzip

        with gzip.GzipFile(fileobj=file) as unpacked:
            yield from iter(lambda: unpacked.read(chunk_bytes), b"")
    else:
        yield from iter(lambda: file.read(chunk_bytes), b"")


def _iter_zstd(file: IO[bytes]) -> Iterator[bytes]:
    """The unpacked bytes of all frames. Raises EOFError if the last one has no end.

    The stream reader of `zstandard` takes a file that breaks off for one that ends, hence the loop here.
    """
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=1 << 31)  # what `zstd --long=31` writes
    frame, rest = None, b""
    try:
        while packed := rest or file.read(_ZSTD_STEP_BYTES):
            frame = frame or reader.decompressobj()
            if data := frame.decompress(packed):
                yield data
            rest = b""
            if frame.eof:
                frame, rest = None, frame.unused_data
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from error
    if frame is not None:
        raise EOFError


def iter_text(chunks: Iterable[bytes], source: Source) -> Iterator[str]:
    """The chunks as text; a character may be cut between two of them.

    Raises DataError with the offset of the first byte that is not UTF-8, counted after unpacking.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    given = 0
    for chunk in itertools.chain(chunks, (b"",)):  # the empty one ends the text
        kept = len(decoder.getstate()[0])  # bytes of a character that is not whole yet
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{source} is not UTF-8 text: byte {error.object[error.start]:#04x} at byte offset "
                f"{given - kept + error.start} ({error.reason}); convert the file to UTF-8"
            ) from error
        given += len(chunk)
        if text:
            yield text


def split(texts: Iterable[str], separator: str | None) -> Iterator[tuple[str, bool]]:
    """Fragments of the text between separators, and whether a separator or the end follows.

    Joined, they are what `str.split` makes of the whole text, wherever it was cut:

    >>> list(split(["one<", "e", ">two"], "<e>"))
    [('on', False), ('e', False), ('', True), ('t', False), ('wo', True)]
    """
    held = ""  # may be the start of a separator
    for text in texts:
        if separator is None:
            yield text, False
            continue
        *whole, last = (held + text).split(separator)
        for document in whole:
            yield document, True
        safe = max(0, len(last) - len(separator) + 1)
        yield last[:safe], False
        held = last[safe:]
    yield held, True
