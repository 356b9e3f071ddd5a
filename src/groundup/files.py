"""Writing files so that a crash, a full disk or a kill leaves the old one whole; hashes of files.

Everything that must survive goes through here: written under another name in the same folder,
flushed to the disk, then renamed, which POSIX does in one step.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

StrPath = str | os.PathLike[str]


def write_atomic(path: StrPath, content: str | bytes) -> None:
    """Replace `path` by `content` (text as UTF-8), whole or not at all. Creates parent folders."""
    with open_atomic(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextlib.contextmanager
def open_atomic(path: StrPath, *, is_spare: bool = False) -> Iterator[IO[bytes]]:
    """A binary file for writing that takes the place of `path` only if the block ends without error.

    A spare file can be made again: it is for this user alone, and not flushed to the disk, so that after a loss
    of power it may be damaged.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    aside = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            if not is_spare:
                file.flush()
                os.fsync(file.fileno())
        if not is_spare:
            aside.chmod(0o666 & ~_umask())
        aside.replace(path)
        if not is_spare:
            sync_folder(path.parent)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def file_aside(path: StrPath) -> Iterator[Path]:
    """A path to write a file at, for writers that open it themselves; else as `open_atomic`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(descriptor)
    aside = Path(name)
    try:
        yield aside
        _sync(aside)
        aside.chmod(0o666 & ~_umask())
        aside.replace(path)
        sync_folder(path.parent)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def folder_aside(path: StrPath) -> Iterator[Path]:
    """An empty folder to fill, renamed to `path` if the block ends without error, else removed.

    Every file in it is flushed before the rename, so that the name `path` always means a whole folder.
    An existing folder at `path` is replaced.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent))
    try:
        aside.chmod(0o777 & ~_umask())
        yield aside
        for file in sorted(aside.rglob("*")):
            if file.is_file():
                _sync(file)
        sync_folder(aside)
        if path.exists():
            old = aside.with_name(aside.name + ".old")
            path.rename(old)
            try:
                aside.rename(path)
            except BaseException:
                old.rename(path)
                raise
            shutil.rmtree(old, ignore_errors=True)
        else:
            aside.rename(path)
        sync_folder(path.parent)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def write_json(path: StrPath, value: Any) -> None:
    """Write `value` as indented UTF-8 JSON, atomically."""
    write_atomic(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def spelled(name: StrPath) -> str:
    r"""The name of a file as text that UTF-8 can hold, to be written down.

    Python reads a name whose bytes the locale cannot spell into lone surrogates. They become the character
    that the bytes are in UTF-8, or U+FFFD:

    >>> spelled("Gr\udcc3\udcb6\udcc3\udc9fe \udcff")
    'Größe �'
    """
    return str(name).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def sha256_file(path: StrPath) -> str:
    """SHA-256 of a file's bytes, in hexadecimal, read in pieces."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: StrPath) -> None:
    """Flush a folder's entries (a rename, say) to the disk, where the system allows it."""
    with contextlib.suppress(OSError):
        _sync(folder)


def _sync(path: StrPath) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
