"""Which files are meant, and what their names say about what is inside."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from groundup.errors import DataError
from groundup.files import StrPath

Source = Path | str  # a local file, or a URL as it was given

COMPRESSED = (".gz", ".zst")
JSON_LINES = (".jsonl", ".ndjson")
TABLE = ".parquet"


def expand_paths(paths: StrPath | Sequence[StrPath]) -> list[Source]:
    """The files that paths and globs mean, in the order given; those of a glob are sorted.

    URLs (anything with `://`) pass through as they are. Raises DataError for a path that does not exist, a
    glob that matches no file, a folder, and for no path at all.
    """
    sources: list[Source] = []
    for path in [paths] if isinstance(paths, str | os.PathLike) else paths:
        name = str(path)
        if "://" in name:
            sources.append(name)
        elif Path(name).is_dir():
            raise DataError(f"{name} is a folder; name the files in it, for example '{Path(name) / '*.txt'}'")
        elif Path(name).exists():  # before globs: a file may be called notes[1].txt
            sources.append(Path(name))
        elif glob.has_magic(name):
            # Not Path.glob: it wants to know the folder apart from the pattern.
            found = sorted(Path(match) for match in glob.glob(name, recursive=True))  # noqa: PTH207
            files = [match for match in found if match.is_file()]
            if not files:
                raise DataError(f"no file matches {name}; check the pattern")
            sources.extend(files)
        else:
            raise DataError(f"{name} does not exist; check the path")
    if not sources:
        raise DataError("no input file is named; give at least one path, glob or URL")
    return sources


def is_url(source: StrPath) -> bool:
    """True if fsspec opens it, not the file system."""
    return isinstance(source, str) and "://" in source


def is_compressed(source: StrPath) -> bool:
    """True for `.gz` and `.zst`."""
    return str(source).lower().endswith(COMPRESSED)


def inner_name(source: StrPath) -> str:
    """The name in small letters, without the ending of a compression.

    >>> inner_name("Books/PART 1.JSONL.gz")
    'books/part 1.jsonl'
    """
    name = str(source).lower()
    return name[: name.rindex(".")] if is_compressed(name) else name


def has_fields(source: StrPath) -> bool:
    """True if documents are values of a field (JSON lines, Parquet): no spelling in them separates anything."""
    return inner_name(source).endswith((*JSON_LINES, TABLE))


def is_plain_text(source: StrPath) -> bool:
    """True for a local file that is the text itself: not packed, no JSON lines, no table."""
    return not (is_url(source) or is_compressed(source) or has_fields(source))


def text_size_bytes(sources: Sequence[Source]) -> int | None:
    """How many bytes of text the files hold, if their sizes say so: all of them plain text. For progress bars."""
    if not all(isinstance(source, Path) and is_plain_text(source) for source in sources):
        return None
    return sum(Path(source).stat().st_size for source in sources)
