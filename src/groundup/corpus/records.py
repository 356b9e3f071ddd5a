"""Documents that are values of a field, in UTF-8: JSON lines and Parquet. Null counts as an empty document."""

import json
from collections.abc import Iterable, Iterator
from typing import IO, Any

from groundup.corpus.paths import Source
from groundup.corpus.reading import split
from groundup.errors import DataError


def iter_json_lines(blocks: Iterable[bytes], source: Source, text_field: str) -> Iterator[bytes]:
    """The field of each line that is not blank. Raises DataError with file and line number."""
    parts: list[bytes] = []
    number = 1
    for fragment, ended in split(blocks, b"\n"):  # not splitlines: a string may hold U+2028 as it is
        parts.append(fragment)
        if ended:
            line = b"".join(parts).decode()
            line = line.removeprefix("\ufeff") if number == 1 else line
            if line and not line.isspace():
                yield _text_of(line, f"{source}:{number}", text_field)
            parts.clear()
            number += 1


def _text_of(line: str, place: str, text_field: str) -> bytes:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{place} is not JSON: {error}; each line must be one JSON object") from error
    if not isinstance(row, dict):
        raise DataError(f"{place} holds a JSON {type(row).__name__}; each line must be one JSON object")
    if text_field not in row:
        raise DataError(f"{place} has no field {text_field!r}; its fields are {_listed(row)}")
    text = row[text_field]
    if text is None:
        return b""
    if not isinstance(text, str):
        raise DataError(f"{place} holds a {type(text).__name__} in field {text_field!r}; it must hold a string")
    try:
        return text.encode()
    except UnicodeEncodeError as error:  # "\ud83d" is valid JSON and half a character
        raise DataError(
            f"{place} holds half a surrogate pair at character {error.start} of field {text_field!r}; "
            "no UTF-8 text can hold it"
        ) from error


def iter_parquet(file: IO[bytes], source: Source, text_field: str) -> Iterator[bytes]:
    """The column of a table, a few rows at a time. The file must be able to seek."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f"{source} needs pyarrow to be read; pip install 'groundup[data]'") from error
    row = 0
    try:
        table = pyarrow.parquet.ParquetFile(file)
        names = table.schema_arrow.names
        if text_field not in names:
            raise DataError(f"{source} has no column {text_field!r}; its columns are {_listed(names)}")
        kind = table.schema_arrow.field(text_field).type
        if not _is_text(kind):
            raise DataError(f"column {text_field!r} of {source} holds {kind}; it must hold strings")
        for batch in table.iter_batches(batch_size=256, columns=[text_field]):
            for value in batch.column(0):
                yield (value.as_py() or "").encode()
                row += 1
    except UnicodeDecodeError as error:
        raise DataError(f"{source}: row {row} of column {text_field!r} is not UTF-8 text: {error}") from error
    except pyarrow.ArrowException as error:
        raise DataError(f"{source} is not a Parquet file that can be read: {error}") from error


def _is_text(kind: Any) -> bool:
    from pyarrow import types

    kind = kind.value_type if types.is_dictionary(kind) else kind
    return any(check(kind) for check in (types.is_null, types.is_string, types.is_large_string, types.is_string_view))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "none"
