"""A file from a server: whole and checked, or what has arrived is kept and the next call goes on."""

import errno
import fcntl
import hashlib
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from groundup.data import transfer
from groundup.data.transfer import fetch
from groundup.errors import DataError

CONTENT = bytes(range(256)) * 40  # 10,240 bytes
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "a corpus" / "train.txt"


@pytest.fixture
def url(server: Any) -> str:
    server.files["/train.txt"] = CONTENT
    return f"{server.url}/train.txt"


def part_of(out: Path, sha256: str = SHA256) -> Path:
    return out.with_name(f".train.txt.{sha256[:16]}.part")


def leave(out: Path, content: bytes) -> None:
    """As a call that was killed would."""
    out.parent.mkdir()
    part_of(out).write_bytes(content)


def ranges(server: Any) -> list[str | None]:
    return [wanted for _, _, wanted in server.asked]


def refuse_to_wait(seconds: float) -> None:
    raise AssertionError(f"waited {seconds} s")


@pytest.mark.parametrize("size", [None, len(CONTENT)])
def test_a_file_arrives_whole(url: str, out: Path, size: int | None) -> None:
    seen: list[tuple[int, int | None]] = []
    fetch(url, out, sha256=SHA256, size_bytes=size, progress=lambda *done: seen.append(done), sleep=refuse_to_wait)
    assert out.read_bytes() == CONTENT
    assert [path.name for path in out.parent.iterdir()] == ["train.txt"]
    assert (seen[0], seen[-1]) == ((0, len(CONTENT)), (len(CONTENT), len(CONTENT)))


def test_a_cut_connection_is_opened_again_where_it_broke(server: Any, url: str, out: Path) -> None:
    server.cuts = [3000, 3000, 3000]
    waited: list[float] = []
    fetch(url, out, sha256=SHA256, size_bytes=len(CONTENT), sleep=waited.append)
    assert out.read_bytes() == CONTENT
    assert ranges(server) == [None, "bytes=3000-", "bytes=6000-", "bytes=9000-"]
    assert waited == [1.0, 1.0, 1.0], "each of them brought something"


def test_a_server_in_trouble_is_asked_a_few_times_with_longer_pauses(server: Any, url: str, out: Path) -> None:
    server.statuses = [503, 429, 500]
    waited: list[float] = []
    fetch(url, out, sha256=SHA256, sleep=waited.append)
    assert out.read_bytes() == CONTENT
    assert waited == [2.0, 4.0, 8.0]


def test_the_next_call_goes_on(server: Any, url: str, out: Path) -> None:
    server.cuts = [1000]

    class Then(list[float]):
        def append(self, seconds: float) -> None:
            server.statuses = [503]  # whenever it is asked again
            super().append(seconds)

    with pytest.raises(DataError, match=r"train\.txt did not arrive \(the answer was 503 .*what has arrived is kept"):
        fetch(url, out, sha256=SHA256, sleep=Then().append)
    assert part_of(out).read_bytes() == CONTENT[:1000]
    assert not out.exists()
    server.asked.clear()
    seen: list[tuple[int, int | None]] = []
    fetch(url, out, sha256=SHA256, progress=lambda *done: seen.append(done), sleep=refuse_to_wait)
    assert out.read_bytes() == CONTENT
    assert ranges(server) == ["bytes=1000-"]
    assert seen[0] == (1000, len(CONTENT))
    assert [path.name for path in out.parent.iterdir()] == ["train.txt"]


def test_a_server_that_cannot_begin_in_the_middle(server: Any, url: str, out: Path) -> None:
    server.knows_ranges = False
    leave(out, CONTENT[:4000])
    fetch(url, out, sha256=SHA256, sleep=refuse_to_wait)
    assert out.read_bytes() == CONTENT


def test_all_was_there_but_the_name(server: Any, url: str, out: Path) -> None:
    leave(out, CONTENT)
    fetch(url, out, sha256=SHA256, sleep=refuse_to_wait)  # the server says that there is nothing behind it
    assert out.read_bytes() == CONTENT
    assert ranges(server) == [f"bytes={len(CONTENT)}-"]


def test_more_than_all_was_there(server: Any, url: str, out: Path) -> None:
    leave(out, CONTENT + b"and more")
    fetch(url, out, sha256=SHA256, size_bytes=len(CONTENT), sleep=refuse_to_wait)
    assert out.read_bytes() == CONTENT
    assert ranges(server) == [None]


@pytest.mark.parametrize("arrived", [b"", b"damaged"])
def test_a_wrong_checksum_leaves_nothing(url: str, out: Path, arrived: bytes) -> None:
    wrong = hashlib.sha256(b"something else").hexdigest() if not arrived else SHA256
    leave(out, arrived)
    with pytest.raises(DataError, match=r"train\.txt came with SHA-256 .*, not .*; it was not kept") as error:
        fetch(url, out, sha256=wrong, sleep=refuse_to_wait)
    assert "\n" not in str(error.value)
    assert [path.read_bytes() for path in out.parent.iterdir() if path != part_of(out)] == []
    assert not part_of(out, wrong).exists()
    fetch(url, out, sha256=SHA256, sleep=refuse_to_wait)
    assert out.read_bytes() == CONTENT


def test_what_arrived_of_another_version_is_not_gone_on_with(server: Any, url: str, out: Path) -> None:
    out.parent.mkdir()
    part_of(out, "ab" * 32).write_bytes(b"an older version")
    fetch(url, out, sha256=SHA256, sleep=refuse_to_wait)
    assert out.read_bytes() == CONTENT
    assert ranges(server) == [None]


def test_a_file_that_is_there(server: Any, url: str, out: Path) -> None:
    out.parent.mkdir()
    out.write_bytes(CONTENT)
    fetch(url, out, sha256=SHA256)
    assert server.asked == []
    out.write_bytes(b"a text of my own")
    with pytest.raises(DataError, match=r"train\.txt is there already, with SHA-256 .* remove it, or name another"):
        fetch(url, out, sha256=SHA256)
    assert out.read_bytes() == b"a text of my own"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_not_repeated(server: Any, url: str, out: Path, status: int) -> None:
    server.statuses = [status]
    with pytest.raises(DataError, match=rf"train\.txt cannot be downloaded: the server answers {status}"):
        fetch(f"{url}?signature=secret", out, sha256=SHA256, sleep=refuse_to_wait)
    assert len(server.asked) == 1


def test_another_file_is_not_taken_for_the_one_that_is_meant(server: Any, url: str, out: Path) -> None:
    server.files["/train.txt"] = b"<html>Log in, please</html>"
    server.knows_ranges = False
    leave(out, CONTENT[:5000])
    with pytest.raises(DataError, match=r"has 27 bytes, not 10,240: it is not the file that is meant"):
        fetch(url, out, sha256=SHA256, size_bytes=len(CONTENT), sleep=refuse_to_wait)
    assert part_of(out).read_bytes() == CONTENT[:5000]


def test_no_network_is_said_at_once(nobody: str, out: Path) -> None:
    with pytest.raises(DataError, match=r"did not arrive .*refused.*check the network connection") as error:
        fetch(f"{nobody}/train.txt", out, sha256=SHA256, sleep=refuse_to_wait)
    assert "\n" not in str(error.value)
    assert not out.parent.exists(), "nothing came, nothing is left"


def test_one_process_at_a_time(url: str, out: Path) -> None:
    leave(out, CONTENT[:10])
    with part_of(out).open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(DataError, match=r"another process is downloading .*train\.txt"):
            fetch(url, out, sha256=SHA256)
    assert part_of(out).read_bytes() == CONTENT[:10]


def test_no_room_is_said_before_the_download(url: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=9000))
    with pytest.raises(DataError, match=r"a corpus has 9,000 bytes free, and 10,240 are to come; make room"):
        fetch(url, out, sha256=SHA256)


def test_a_disk_that_is_full_is_no_network_error(url: str, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill_disk(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(transfer.os, "fsync", fill_disk)
    with pytest.raises(DataError, match=r"train\.txt cannot be written: No space left on device"):
        fetch(url, out, sha256=SHA256, sleep=refuse_to_wait)
    assert part_of(out).exists()
