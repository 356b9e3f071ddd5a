"""Documents, and pieces of long ones, out of any number of files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from groundup.corpus.paths import JSON_LINES, TABLE, Source, expand_paths, inner_name, is_compressed
from groundup.corpus.reading import iter_bytes, iter_text, open_source, split
from groundup.corpus.records import iter_json_lines, iter_parquet
from groundup.errors import DataError
from groundup.files import StrPath

END_OF_TEXT = "<|endoftext|>"

# White space after something else, where every GPT-2 pre-token ends. Only characters that Python and the
# pattern both call white space; `\S` is Python's, which leaves out a few more (U+001C to U+001F).
_CUT = re.compile(r"(?<=\S)[ \t\n\r]")


class Piece(NamedTuple):
    """A document or a part of one, and whether the document ends with it."""

    text: str
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
    return (piece.text for piece in pieces)


def iter_pieces(
    paths: StrPath | Sequence[StrPath],
    *,
    separator: str | None = END_OF_TEXT,
    text_field: str = "text",
    max_chars: int | None = 1 << 18,
    chunk_bytes: int = 1 << 20,
) -> Iterator[Piece]:
    """The documents as `iter_documents` gives them, long ones cut after about `max_chars` characters.

    A cut falls at the first place, `max_chars` or more into the piece, where white space follows another
    character. GPT-2's pattern starts a new pre-token at every such place, so that encoding the pieces one by
    one gives the ids of the whole document. Where there is no such place the piece grows until there is.
    `max_chars=None` cuts nothing.
    """
    if separator == "":
        raise DataError("the separator between documents is empty; give its text, or None for one document a file")
    for source in expand_paths(paths):
        yield from _pieces(_iter_fragments(source, separator, text_field, chunk_bytes), max_chars)


def _iter_fragments(
    source: Source, separator: str | None, text_field: str, chunk_bytes: int
) -> Iterator[tuple[str, bool]]:
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
            texts = iter_text(chunks, source)
            yield from ((text, True) for text in iter_json_lines(texts, source, text_field))
        else:
            yield from split(iter_text(chunks, source), separator)


def _iter_packed_parquet(chunks: Iterable[bytes], source: Source, text_field: str) -> Iterator[str]:
    """As `iter_parquet`, through a temporary file: a table is read from its end, a packed file from its start."""
    import tempfile

    with tempfile.TemporaryFile() as file:
        file.writelines(chunks)
        yield from iter_parquet(file, source, text_field)


def _pieces(fragments: Iterable[tuple[str, bool]], max_chars: int | None) -> Iterator[Piece]:
    """Fragments joined to documents, long ones cut. Looks at each character once, however long a piece gets."""
    parts: list[str] = []  # of the piece in the making
    size, before, is_first = 0, "", True
    for fragment, ended in fragments:
        start = 0
        while max_chars is not None and size + len(fragment) - start > max_chars:
            cut = _find_cut(before, fragment, start + max(0, max_chars - size))
            if cut is None:
                break
            parts.append(fragment[start:cut])
            yield Piece("".join(parts), False)
            parts, size, start, is_first = [], 0, cut, False
        if start < len(fragment):
            parts.append(fragment[start:])
            size += len(fragment) - start
            before = fragment[-1]
        if ended:
            text = "".join(parts)
            if not is_first or (text and not text.isspace()):
                yield Piece(text, True)
            parts, size, before, is_first = [], 0, "", True


def _find_cut(before: str, text: str, start: int) -> int | None:
    """The first place to cut `text` from `start` on; `before` is the character in front of `text`."""
    if start == 0 and _CUT.search(before + text[:1]):
        return 0
    match = _CUT.search(text, start)
    return match.start() if match else None
