"""Documents, and pieces of long ones, out of any number of files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from groundup import _native
from groundup.corpus.paths import JSON_LINES, TABLE, Source, expand_paths, inner_name, is_compressed
from groundup.corpus.reading import iter_bytes, iter_utf8, open_source, split
from groundup.corpus.records import iter_json_lines, iter_parquet
from groundup.errors import DataError
from groundup.files import StrPath

END_OF_TEXT = "<|endoftext|>"

# All that Python's str.isspace calls white space, in UTF-8.
_BLANK = re.compile(
    rb"(?:[\t-\r\x1c- ]++|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)*+"
)


class Piece(NamedTuple):
    """A document or a part of one, in UTF-8, and whether the document ends with it."""

    text: bytes
    ends_document: bool


def iter_documents(
    paths: StrPath | Sequence[StrPath],
    *,
    separator: str | None = END_OF_TEXT,
    text_field: str = "text",
    chunk_bytes: int = 1 << 20,
) -> Iterator[str]:
    """The documents of the files, in order; those that are empty or only white space are left out.

    Args:
        paths: A file, a glob, a URL, or several of them. The ending says what is inside: `.jsonl` holds one
            JSON object a line, `.parquet` a table, anything else is text; `.gz` or `.zst` may follow.
        separator: What stands between two documents of a text file; None for one document a file. The end
            of a file always ends a document.
        text_field: The key or column that holds the text; null counts as empty.
        chunk_bytes: How much is read at a time. The result does not depend on it.

    Raises:
        DataError: No such file, text that is not UTF-8 (the offset counts the bytes after unpacking), a
            compressed file that breaks off, a line that is not JSON, a missing field.
    """
    pieces = iter_pieces(paths, separator=separator, text_field=text_field, max_chars=None, chunk_bytes=chunk_bytes)
    return (piece.text.decode() for piece in pieces)


def iter_pieces(
    paths: StrPath | Sequence[StrPath],
    *,
    separator: str | None = END_OF_TEXT,
    text_field: str = "text",
    max_chars: int | None = 1 << 18,
    chunk_bytes: int = 1 << 20,
    scanner: str = "gpt2",
) -> Iterator[Piece]:
    """The documents as `iter_documents` gives them, in UTF-8, long ones cut after about `max_chars` characters.

    A cut falls at the first place, `max_chars` or more into the piece, where white space follows another
    character and a pre-token ends for certain under the pattern that `scanner` names (`patterns.scanner_name`), so
    that encoding the pieces one by one gives the ids of the whole document. Where there is no such place the piece
    grows until there is. `max_chars=None` cuts nothing.
    """
    if separator == "":
        raise DataError("the separator between documents is empty; give its text, or None for one document a file")
    if max_chars is not None and max_chars < 1:
        raise DataError(f"max_chars is {max_chars}; it must be at least 1, or None to cut nothing")
    between = None if separator is None else separator.encode()
    for source in expand_paths(paths):
        yield from _pieces(_iter_fragments(source, between, text_field, chunk_bytes), max_chars, scanner)


def _iter_fragments(
    source: Source, separator: bytes | None, text_field: str, chunk_bytes: int
) -> Iterator[tuple[bytes, bool]]:
    """The text of one file in fragments that join to its documents, and whether one ends after each."""
    name = inner_name(source)
    with open_source(source) as file:
        if name.endswith(TABLE) and not is_compressed(source):
            yield from ((text, True) for text in iter_parquet(file, source, text_field))
            return
        chunks = iter_bytes(file, source, chunk_bytes)
        if name.endswith(TABLE):
            yield from ((text, True) for text in _iter_packed_parquet(chunks, source, text_field))
        elif name.endswith(JSON_LINES):
            blocks = iter_utf8(chunks, source)
            yield from ((text, True) for text in iter_json_lines(blocks, source, text_field))
        else:
            yield from split(iter_utf8(chunks, source), separator)


def _iter_packed_parquet(chunks: Iterable[bytes], source: Source, text_field: str) -> Iterator[bytes]:
    """As `iter_parquet`, through a temporary file: a table is read from its end, a packed file from its start."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.writelines(chunks)
        yield from iter_parquet(file, source, text_field)


def _pieces(fragments: Iterable[tuple[bytes, bool]], max_chars: int | None, scanner: str) -> Iterator[Piece]:
    """Fragments joined to documents, long ones cut."""
    parts: list[bytes] = []  # of the piece in the making
    size, searched, is_first = 0, 0, True
    for fragment, ended in fragments:
        parts.append(fragment)
        size += len(fragment)
        # Twice as much before the next search: what has no place to cut costs linear time.
        if max_chars is not None and size > max_chars and (ended or size > 2 * searched):
            text, start = b"".join(parts), 0
            for cut in _native.piece_cuts(text, max_chars, scanner):
                yield Piece(text[start:cut], False)
                start, is_first = cut, False
            parts = [text[start:]]
            size = searched = len(parts[0])
        if ended:
            text = b"".join(parts)
            if not is_first or not _BLANK.fullmatch(text):
                yield Piece(text, True)
            parts, size, searched, is_first = [], 0, 0, True
