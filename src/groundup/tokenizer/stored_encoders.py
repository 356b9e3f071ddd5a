"""Encoders kept in the user's cache folder, so that a tokenizer.json that was read once loads in milliseconds.

A file there holds the core's tables and a copy of the tokenizer.json that they were made of, and serves only for a
tokenizer.json of the same bytes: what changes is read anew. A folder or a file that another user could write to is
not looked at, and what is cut short or damaged counts as missing. GROUNDUP_CACHE=off turns it all off.
Why so: docs/decisions/006-encoders-are-kept-in-the-users-cache.md.
"""

from __future__ import annotations

import os
import stat

from groundup import _native
from groundup.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from groundup.files import StrPath
    from groundup.tokenizer.vocabulary import Normalization

TOKENIZER_FILE = "tokenizer.json"
SWITCH = "GROUNDUP_CACHE"
MOST_FILES = 16  # of some 10 MB each; the ones used last stay
LEAST_BYTES = 1 << 17  # a smaller tokenizer.json is read in about the time that this saves


def tokenizer_file(path: StrPath) -> str:
    """The tokenizer.json at `path`, or in it if it is a folder."""
    path = os.fspath(path)
    return os.path.join(path, TOKENIZER_FILE) if os.path.isdir(path) else path


def find(path: str) -> tuple[_native.Encoder, str, Normalization, str] | None:
    """The encoder for this tokenizer.json, its pattern, normalization and fingerprint; None if it is not kept."""
    folder = cache_folder()
    if folder is None or not _is_private(folder):
        return None
    try:
        facts = os.stat(path)
        if facts.st_size < LEAST_BYTES or not stat.S_ISREG(facts.st_mode):
            return None
        source = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        checksum = _native.checksum_of_file(source)
        return None if checksum is None else _read(_file_name(folder, checksum), source)
    except (OSError, ValueError):
        return None
    finally:
        os.close(source)


def keep(
    source: bytes,
    encoder: _native.Encoder,
    pattern: str,
    normalization: Normalization,
    fingerprint: Callable[[], str],
) -> None:
    """Keep the encoder for a tokenizer.json of this content, unless it is small.

    The fingerprint is asked for only then. Where the encoder cannot be kept, nothing happens but a line in the
    log (level debug).
    """
    from groundup.files import open_atomic

    folder = cache_folder()
    if folder is None or len(source) < LEAST_BYTES:
        return
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not _is_private(folder):
            raise PermissionError(f"others can write to '{folder}'")
        notes = [note.encode("utf-8", "surrogatepass") for note in (pattern, normalization or "", fingerprint())]
        with open_atomic(_file_name(folder, _native.checksum(source)), is_spare=True) as file:
            file.write(_native.store_encoder(encoder, source, notes))
        _remove_old(folder)
    except OSError as error:
        import logging

        logging.getLogger(__name__).debug("the encoder is not kept: %s", error)


def cache_folder() -> str | None:
    """The folder, $XDG_CACHE_HOME/groundup/tokenizers or in ~/.cache, which may not exist; None: turned off."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0", "false", "no"):
        return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG Base Directory Specification: such paths are to be ignored
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "groundup", "tokenizers") if os.path.isabs(base) else None


def _file_name(folder: str, checksum: int) -> str:
    return os.path.join(folder, f"{checksum:016x}-{_native.CORE_VERSION}.tables")


def _read(name: str, source: int) -> tuple[_native.Encoder, str, Normalization, str] | None:
    # Not through a link, which could lead to a file of somebody else's choice.
    file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not _is_ours(os.fstat(file), stat.S_ISREG):
            return None
        found = _native.read_stored_encoder(file, source)
        if found is None:
            return None
        _mark_as_used(file)
    finally:
        os.close(file)
    encoder, notes = found
    pattern, normalization, fingerprint = (note.decode("utf-8", "surrogatepass") for note in notes)
    return encoder, pattern, "NFC" if normalization == "NFC" else None, fingerprint


def _mark_as_used(file: int) -> None:
    try:
        os.utime(file)
    except OSError:  # a file that can only be read serves all the same
        return


def _is_private(folder: str) -> bool:
    try:
        return _is_ours(os.lstat(folder), stat.S_ISDIR)
    except OSError:
        return False


def _is_ours(facts: os.stat_result, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is of that kind, this user's, and nobody else may write to it."""
    return is_kind(facts.st_mode) and facts.st_uid == os.geteuid() and not facts.st_mode & 0o022


def _remove_old(folder: str) -> None:
    """Remove all files but those used last. Another process may do the same."""
    used = []
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        try:
            used.append((os.lstat(path).st_mtime_ns, path))
        except FileNotFoundError:
            continue
    for _, path in sorted(used, reverse=True)[MOST_FILES:]:
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
