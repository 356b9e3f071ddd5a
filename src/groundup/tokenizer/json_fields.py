"""Reading JSON from a user's file: each thing that can be wrong with it becomes a one-sentence TokenizerError."""

import contextlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from groundup.errors import TokenizerError
from groundup.files import StrPath

_KIND_NAMES = {dict: "object", list: "array", str: "string", int: "integer"}
_LONGEST_MESSAGE = 1000  # characters: a token in a damaged file may have millions


def field(record: Mapping[str, Any], name: str, kind: type) -> Any:
    """The field of that name. Raises TokenizerError if it is missing or of another kind."""
    if name not in record:
        raise TokenizerError(f"the field {name!r} is missing; the fields are {', '.join(map(repr, record)) or 'none'}")
    return expect(record[name], kind, name)


def expect(value: Any, kind: type, what: str) -> Any:
    """`value`, if it is of that kind; else a TokenizerError that shows it."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TokenizerError(f"{what} is {json.dumps(value)[:80]}; it must be a JSON {_KIND_NAMES[kind]}")
    return value


def read_object(path: StrPath) -> dict[str, Any]:
    """The JSON object in a file, in which no name stands twice."""
    return parse_object(read_bytes(path))


def parse_object(content: bytes) -> dict[str, Any]:
    """The JSON object that a file of this content holds."""
    try:
        return expect(json.loads(_text(content), object_pairs_hook=_unique), dict, "the file")
    except (json.JSONDecodeError, RecursionError) as error:
        raise TokenizerError(f"it is not JSON: {error}") from error
    except TokenizerError:
        raise
    except ValueError as error:  # Python's limit, 4,300 digits
        raise TokenizerError("it holds a number of thousands of digits; no id is larger than 4294967294") from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON allows a name twice and Python keeps the last; a token would be lost."""
    record = dict(pairs)
    if len(record) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise TokenizerError(f"the name {name!r} stands in it twice")
    return record


def read_text(path: StrPath) -> str:
    """The text of a UTF-8 file, newlines as they are. Raises TokenizerError."""
    return _text(read_bytes(path))


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TokenizerError(f"it is not UTF-8 text: byte offset {error.start}") from error


def read_bytes(path: StrPath) -> bytes:
    """The bytes of a file. Raises TokenizerError if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise TokenizerError(f"it cannot be read: {error.strerror}") from error


@contextlib.contextmanager
def naming(what: StrPath) -> Iterator[None]:
    """Put a file's name, or a line's number, before what an error says."""
    try:
        yield
    except TokenizerError as error:
        message = str(error)
        if len(message) > _LONGEST_MESSAGE:
            message = f"{message[:_LONGEST_MESSAGE]} ... ({len(message)} characters)"
        raise TokenizerError(f"{what}: {message}") from error
