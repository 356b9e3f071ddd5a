"""WikiText as text: the lines that the Hub keeps as rows of tables, joined to the articles they came from."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from groundup.corpus import END_OF_TEXT
from groundup.corpus.records import iter_parquet
from groundup.files import open_atomic

_TITLE = re.compile(rb" = (?!= ).+ = \n?")  # " = = Plot = = " is a section


def write_articles(tables: Sequence[Path], path: Path) -> None:
    """Write the articles of the tables, in order, to a text file with `<|endoftext|>` after each.

    Raises DataError for a table that cannot be read, or if pyarrow is missing.
    """
    with open_atomic(path) as file:
        for article in iter_articles(_iter_rows(tables)):
            file.write(article)
            file.write(f"{END_OF_TEXT}\n".encode())


def iter_articles(rows: Iterable[bytes]) -> Iterator[bytes]:
    r"""The articles, from title to title, spelled as in the files of the authors.

    A title stands between two blank lines; a line of text that looks like one does not. Blank lines, which are
    empty rows in the tables, are written as there: a space and a newline.

    >>> rows = [b"", b" = Crab = \n", b"", b" A crab = a crab . \n", b"", b" = Hen = \n", b"", b" A hen . \n"]
    >>> [article[:11] for article in iter_articles(rows)]
    [b' \n = Crab =', b' = Hen = \n ']
    """
    lines: list[bytes] = []
    before: bytes = b""
    for row, after in _with_following(rows):
        if _TITLE.fullmatch(row) and not before.strip() and not after.strip() and any(map(bytes.strip, lines)):
            yield b"".join(lines)
            lines = []
        lines.append(row or b" \n")
        before = row
    if any(map(bytes.strip, lines)):
        yield b"".join(lines)


def _with_following(rows: Iterable[bytes]) -> Iterator[tuple[bytes, bytes]]:
    """Each row with the one after it; a blank one after the last."""
    held: bytes | None = None
    for row in rows:
        if held is not None:
            yield held, row
        held = row
    if held is not None:
        yield held, b""


def _iter_rows(tables: Sequence[Path]) -> Iterator[bytes]:
    for table in tables:
        with table.open("rb") as file:
            yield from iter_parquet(file, table, "text")
