"""From a file to text: opened, unpacked, checked, split, all in one pass and in bounded memory.

Text stays the bytes it is, in UTF-8: as str, a book with one curly quote takes twice the memory and is encoded again.
"""

import codecs
import contextlib
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from groundup import _native
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
        yield from _iter_zstd(file, chunk_bytes)
    elif name.endswith(".gz"):
        import gzip

        with gzip.GzipFile(fileobj=file) as unpacked:
            yield from iter(lambda: unpacked.read(chunk_bytes), b"")
    else:
        yield from iter(lambda: file.read(chunk_bytes), b"")


def _iter_zstd(file: IO[bytes], chunk_bytes: int) -> Iterator[bytes]:
    """The unpacked bytes of all frames. Raises EOFError if the last one has no end.

    The stream reader of `zstandard` takes a file that breaks off for one that ends, hence the loop here.
    """
    import zstandard

    reader = zstandard.ZstdDecompressor(max_window_size=1 << 31)  # what `zstd --long=31` writes
    frame, rest = None, b""
    unpacked: list[bytes] = []
    size = 0
    try:
        while packed := rest or file.read(_ZSTD_STEP_BYTES):
            frame = frame or reader.decompressobj()
            unpacked.append(frame.decompress(packed))
            size += len(unpacked[-1])
            rest = b""
            if frame.eof:
                frame, rest = None, frame.unused_data
            if size >= chunk_bytes:
                yield b"".join(unpacked)
                unpacked, size = [], 0
    except zstandard.ZstdError as error:
        raise OSError(str(error)) from error
    if frame is not None:
        raise EOFError
    if size:
        yield b"".join(unpacked)


def iter_utf8(chunks: Iterable[bytes], source: Source) -> Iterator[bytes]:
    """The chunks, which are checked to be UTF-8, cut again so that no character is; never an empty one.

    Raises DataError with the offset of the first byte that is not UTF-8, counted after unpacking.
    """
    held, given = b"", 0  # a character that is not whole yet, and what came before it
    for chunk in chunks:
        block = held + chunk if held else chunk
        place = _native.find_invalid_utf8(block)
        held = b""
        if place is not None:
            block, held = block[:place], block[place:]
            _require_utf8(held, given + place, source, final=False)
        given += len(block)
        if block:
            yield block
    _require_utf8(held, given, source, final=True)


def _require_utf8(data: bytes, offset: int, source: Source, *, final: bool) -> None:
    """Raise the error of the first character of `data`; that more may follow is none, unless it is `final`."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final)
    except UnicodeDecodeError as error:
        raise DataError(
            f"{source} is not UTF-8 text: byte {data[error.start]:#04x} at byte offset {offset + error.start} "
            f"({error.reason}); convert the file to UTF-8"
        ) from error


def iter_text(chunks: Iterable[bytes], source: Source) -> Iterator[str]:
    """The chunks as text; a character may be cut between two of them. Raises DataError as `iter_utf8`."""
    return (block.decode() for block in iter_utf8(chunks, source))


def split(blocks: Iterable[bytes], separator: bytes | None) -> Iterator[tuple[bytes, bool]]:
    """Fragments of the text between separators, and whether a separator or the end follows.

    Joined, they are what `bytes.split` makes of the whole text, wherever it was cut:

    >>> list(split([b"one<", b"e", b">two"], b"<e>"))
    [(b'one', False), (b'', False), (b'', True), (b'two', False), (b'', True)]
    """
    held = b""  # may be the start of a separator
    for block in blocks:
        if separator is None:
            yield block, False
            continue
        *whole, last = (held + block if held else block).split(separator)
        for document in whole:
            yield document, True
        held = _open_end(last, separator)
        yield last.removesuffix(held), False
    yield held, True


def _open_end(text: bytes, separator: bytes) -> bytes:
    """The longest end of the text with which a separator may begin."""
    sizes = range(min(len(text), len(separator) - 1), 0, -1)
    return next((separator[:size] for size in sizes if text.endswith(separator[:size])), b"")
