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


def place_of(path: str) -> StoredEncoder | None:
    """Where the encoder of this tokenizer.json is kept or can be; None if it is small, or cannot be read."""
    folder = cache_folder()
    if folder is None:
        return None
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError:
        return None
    return StoredEncoder(folder, source) if len(source) >= LEAST_BYTES else None


def cache_folder() -> str | None:
    """The folder, $XDG_CACHE_HOME/groundup/tokenizers or in ~/.cache, which may not exist; None: turned off."""
    if os.environ.get(SWITCH, "").lower() in ("off", "0", "false", "no"):
        return None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG Base Directory Specification: such paths are to be ignored
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "groundup", "tokenizers") if os.path.isabs(base) else None


class StoredEncoder:
    """The file in which the encoder for one tokenizer.json is kept, whether it is there or not."""

    def __init__(self, folder: str, source: bytes) -> None:
        """`source` is the content of the tokenizer.json."""
        self.source = source
        self.path = os.path.join(folder, f"{_native.checksum(source):016x}-{_native.CORE_VERSION}.tables")

    def read(self) -> tuple[_native.Encoder, str, Normalization, str] | None:
        """The encoder, the pattern, the normalization and the fingerprint; None if the file is of no use."""
        if not _is_private(os.path.dirname(self.path)):
            return None
        try:
            # Not through a link, which could lead to a file of somebody else's choice.
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            if not _is_ours(os.fstat(descriptor), stat.S_ISREG):
                return None
            found = _native.read_stored_encoder(descriptor, self.source)
            if found is not None:
                os.utime(descriptor)  # it was used just now
        except (OSError, ValueError):
            return None
        finally:
            os.close(descriptor)
        if found is None:
            return None
        encoder, (pattern, normalization, fingerprint) = found
        return encoder, pattern, "NFC" if normalization == "NFC" else None, fingerprint

    def write(self, encoder: _native.Encoder, pattern: str, normalization: Normalization, fingerprint: str) -> None:
        """Keep the encoder. Where that cannot be, nothing happens but a line in the log (level debug)."""
        from groundup.files import open_atomic

        folder = os.path.dirname(self.path)
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if not _is_private(folder):
                raise PermissionError(f"others can write to '{folder}'")
            with open_atomic(self.path, is_spare=True) as file:
                file.write(_native.store_encoder(encoder, self.source, [pattern, normalization or "", fingerprint]))
            _remove_old(folder)
        except OSError as error:
            import logging

            logging.getLogger(__name__).debug("the encoder is not kept: %s", error)


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
    with os.scandir(folder) as entries:
        used = sorted(((entry.stat(follow_symlinks=False).st_mtime_ns, entry.path) for entry in entries), reverse=True)
    for _, path in used[MOST_FILES:]:
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
