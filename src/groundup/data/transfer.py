"""One file from a web server, whole and checked or not at all: broken off, it goes on where it was.

What has arrived lies beside the file under a name that carries the checksum, `.train.txt.6418d412de72888f.part`:
the next call goes on from there, days later too, and another version of the file begins anew. Which files there
are: `sources.py`; a whole corpus: `download.py`.
"""

import contextlib
import fcntl
import http.client
import os
import re
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import IO

from groundup import __version__
from groundup.errors import DataError
from groundup.files import StrPath, sha256_file, sync_folder

Progress = Callable[[int, int | None], object]

_CHUNK_BYTES = 1 << 20
_TIMEOUT_S = 60.0  # without a byte
_TRIES = 5  # in a row that bring nothing
_LONGEST_PAUSE_S = 30.0
_PASSING = {408, 425, 429, 500, 502, 503, 504}  # answers that another try may better


def fetch(
    url: str,
    path: StrPath,
    *,
    sha256: str,
    size_bytes: int | None = None,
    progress: Progress | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> None:
    """Download `url` to `path`. A file that is there already is left alone if it is the right one.

    A connection that breaks is opened again, after a pause, until five in a row brought nothing.

    Args:
        sha256: Of the whole file, in hexadecimal.
        size_bytes: Of the whole file, if it is known.
        progress: Called with the bytes that are here and those of the whole file, or None; first with what an
            earlier call left.
        sleep: How a pause is made.

    Raises:
        DataError: No network, an answer that is an error, other bytes than the checksum asks for, a full disk,
            another file at `path`, or another process that downloads it. What has arrived is kept, but for bytes
            that are wrong.
    """
    path = Path(path)
    if path.exists():
        if (found := sha256_file(path)) != sha256:
            raise DataError(
                f"{path} is there already, with SHA-256 {found}, not {sha256}; remove it, or name another folder"
            )
        return
    part = path.with_name(f".{path.name}.{sha256[:16]}.part")
    is_new = not path.parent.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab") as file:
            _lock(file, path)
            try:
                _receive(url, file, size_bytes, progress, sleep)
            except DataError:
                if not _size(file):  # nothing came: nothing is left
                    part.unlink()
                    if is_new:
                        with contextlib.suppress(OSError):  # another download goes on in it
                            path.parent.rmdir()
                raise
            file.flush()
            os.fsync(file.fileno())
            if (found := sha256_file(part)) != sha256:
                part.unlink()
                raise DataError(
                    f"{_shown(url)} came with SHA-256 {found}, not {sha256}; it was not kept: do the same again"
                )
            part.replace(path)
            sync_folder(path.parent)
    except OSError as error:  # of the disk: those of the network are dealt with below
        raise DataError(f"{path} cannot be written: {error.strerror or error}; what has arrived is kept") from error


class _Interrupted(Exception):
    """The rest did not come, and may come at another try."""


class _Unreachable(_Interrupted):
    """There was no answer at all."""


def _receive(
    url: str, file: IO[bytes], size_bytes: int | None, progress: Progress | None, sleep: Callable[[float], object]
) -> None:
    """Append what is missing, in as many connections as it takes."""
    idle, was_reached = 0, False
    while True:
        before = _size(file)
        try:
            _append_rest(url, file, size_bytes, progress)
            return
        except _Interrupted as error:
            was_reached = was_reached or not isinstance(error, _Unreachable)
            idle = 0 if _size(file) > before else idle + 1
            if idle == _TRIES or not was_reached:
                raise DataError(
                    f"{_shown(url)} did not arrive ({error}); check the network connection and do the same again: "
                    "what has arrived is kept"
                ) from error
        sleep(min(2.0**idle, _LONGEST_PAUSE_S))


def _append_rest(url: str, file: IO[bytes], size_bytes: int | None, progress: Progress | None) -> None:
    """Ask for what is missing and append what comes. Raises _Interrupted if that is not all."""
    have = _size(file)
    if have == size_bytes:
        return
    if size_bytes is not None and have > size_bytes:
        _shorten(file, 0)
        have = 0
    headers = {"User-Agent": f"groundup/{__version__}", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    response = _open(urllib.request.Request(url, headers=headers))
    if response is None:  # there is nothing after what is here: all of it, or too much
        if size_bytes is None:
            return
        _shorten(file, 0)
        raise _Interrupted("the server has a shorter file")
    with response:
        start, total = _extent(response)
        total = size_bytes if total is None else total
        _require_size(url, total, size_bytes)  # before anything that is here is given up
        if start != have:  # a server that cannot begin in the middle
            _shorten(file, 0)
            if start:
                raise _Interrupted(f"the answer begins at byte {start}")
            have = 0
        _require_space(file, (total or have) - have)
        if progress is not None:
            progress(have, total)
        while chunk := _read(response):
            file.write(chunk)
            have += len(chunk)
            if progress is not None:
                progress(have, total)
    if total is not None and have < total:
        raise _Interrupted(f"the connection was cut after {have:,} of {total:,} bytes")


def _open(request: urllib.request.Request) -> http.client.HTTPResponse | None:
    """The answer; None for "416 Range Not Satisfiable"."""
    try:
        return urllib.request.urlopen(request, timeout=_TIMEOUT_S)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:
                return None
            if error.code in _PASSING:
                raise _Interrupted(f"the answer was {error.code} {error.reason}") from error
            raise DataError(
                f"{_shown(request.full_url)} cannot be downloaded: the server answers {error.code} {error.reason}"
            ) from error
    except urllib.error.URLError as error:
        raise _Unreachable(str(getattr(error.reason, "strerror", None) or error.reason)) from error
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(str(error) or type(error).__name__) from error


def _read(response: http.client.HTTPResponse) -> bytes:
    """The next bytes, as many as are there; none at the end, and where the server hangs up."""
    try:
        return response.read1(_CHUNK_BYTES)
    except (OSError, http.client.HTTPException) as error:
        raise _Interrupted(str(error) or type(error).__name__) from error


def _extent(response: http.client.HTTPResponse) -> tuple[int, int | None]:
    """At which byte of the file the answer begins, and how many the file has, if that is said."""
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if found is None:
            raise _Interrupted("the answer does not say which part of the file it is")
        return int(found[1]), None if found[2] == "*" else int(found[2])
    length = response.headers.get("Content-Length")
    return 0, None if length is None else int(length)


def _require_size(url: str, found: int | None, expected: int | None) -> None:
    """A page that asks for a login, say, is not taken for the start of the file."""
    if found is not None and expected is not None and found != expected:
        raise DataError(f"{_shown(url)} has {found:,} bytes, not {expected:,}: it is not the file that is meant")


def _require_space(file: IO[bytes], missing: int) -> None:
    free = shutil.disk_usage(Path(file.name).parent).free
    if missing > free:
        raise DataError(f"{Path(file.name).parent} has {free:,} bytes free, and {missing:,} are to come; make room")


def _shown(url: str) -> str:
    """Without the signature that a store puts behind it."""
    return url.partition("?")[0]


def _size(file: IO[bytes]) -> int:
    file.flush()
    return os.fstat(file.fileno()).st_size


def _shorten(file: IO[bytes], size: int) -> None:
    file.flush()
    file.truncate(size)


def _lock(file: IO[bytes], path: Path) -> None:
    """Two processes that append to one file would spoil it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise DataError(f"another process is downloading {path}; let it end, or stop it first") from error
    except OSError:  # a file system without locks
        return
