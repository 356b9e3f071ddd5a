"""From bytes to text: compression, UTF-8, and files that are damaged."""

import gzip
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from groundup.corpus import iter_documents
from groundup.corpus.reading import iter_text, iter_utf8, split
from groundup.errors import DataError

TEXT = "Ein Häuschen 🏠\r\nam See.\n<|endoftext|>\n二番目の文書。<|endoftext|>" + "abcdefgh" * 50_000


def packed(data: bytes, ending: str) -> bytes:
    return gzip.compress(data) if ending == ".gz" else zstandard.ZstdCompressor().compress(data)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_files_hold_the_same_documents(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text.txt{ending}"
    path.write_bytes(packed(TEXT.encode(), ending))
    assert list(iter_documents(path)) == TEXT.split("<|endoftext|>")


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_several_compressed_parts_in_one_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text{ending}"
    cut = len("Ein Häuschen ".encode()) + 2  # inside the emoji, and later inside nothing
    data = TEXT.encode()
    path.write_bytes(packed(data[:cut], ending) + packed(data[cut:], ending))
    assert list(iter_documents(path)) == TEXT.split("<|endoftext|>")


def test_skippable_zstd_frames_are_skipped(tmp_path: Path) -> None:
    skipped = (0x184D2A50).to_bytes(4, "little") + (4).to_bytes(4, "little") + b"\xff\xff\xff\xff"
    (tmp_path / "t.zst").write_bytes(skipped + packed(b"one", ".zst") + skipped + packed(b" two", ".zst"))
    assert list(iter_documents(tmp_path / "t.zst")) == ["one two"]


@pytest.mark.parametrize("ending", [".gz", ".zst"])
@pytest.mark.parametrize("missing", [1, 5, 100])
def test_a_compressed_file_that_breaks_off(tmp_path: Path, ending: str, missing: int) -> None:
    path = tmp_path / f"text.txt{ending}"
    path.write_bytes(packed(TEXT.encode(), ending)[:-missing])
    with pytest.raises(DataError, match=r"text\.txt\..* breaks off"):
        list(iter_documents(path))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_compressed_file_that_is_not_one(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"text.txt{ending}"
    path.write_text("plain text")
    with pytest.raises(DataError, match=r"text\.txt\..* cannot be read"):
        list(iter_documents(path))


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
@pytest.mark.parametrize("chunk_bytes", [1, 7, 4096, 1 << 20])
def test_invalid_utf8_is_named_by_file_and_offset(tmp_path: Path, ending: str, chunk_bytes: int) -> None:
    data = ("é" * 3000).encode() + b"\xc3(" + b"z" * 3000
    path = tmp_path / f"bad.txt{ending}"
    path.write_bytes(packed(data, ending) if ending else data)
    with pytest.raises(DataError, match=r"bad\.txt.* is not UTF-8 text: byte 0xc3 at byte offset 6000 "):
        list(iter_documents(path, chunk_bytes=chunk_bytes))


@pytest.mark.parametrize("bad", [b"\xff", b"\xed\xa0\xbd", b"\xf0\x9f\x8f", b"\xc0\x80", b"\xf4\x90\x80\x80"])
@pytest.mark.parametrize("chunk_bytes", [1, 2, 3, 1 << 20])
def test_every_kind_of_invalid_utf8(tmp_path: Path, bad: bytes, chunk_bytes: int) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"good" + bad)
    with pytest.raises(DataError, match="at byte offset 4 "):
        list(iter_documents(path, chunk_bytes=chunk_bytes))


@pytest.mark.parametrize("size", range(1, 9))
def test_characters_cut_at_every_byte(size: int) -> None:
    data = "aé二🏠b\r\n".encode()
    for start in range(len(data)):
        chunks = [c for c in (data[:start], *(data[i : i + size] for i in range(start, len(data), size))) if c]
        assert "".join(iter_text(chunks, "-")) == "aé二🏠b\r\n"


def test_every_block_of_utf8_is_text() -> None:
    data = "aé二🏠b\r\n".encode() * 3
    for size in range(1, 12):
        blocks = list(iter_utf8([data[i : i + size] for i in range(0, len(data), size)], "-"))
        assert b"".join(blocks) == data
        assert all(block.decode() for block in blocks)


@given(
    st.lists(st.sampled_from(["a", "<", "<a>", "<a><a>", ">", "é", " ", "\n"])).map("".join).map(str.encode),
    st.sampled_from(["<a><a>", "<a>", "a", "aa", "é\n"]).map(str.encode),
    st.integers(1, 9),
)
def test_split_equals_bytes_split_whatever_the_cuts(text: bytes, separator: bytes, size: int) -> None:
    documents, parts = [], []
    for fragment, ended in split([text[i : i + size] for i in range(0, len(text), size)], separator):
        parts.append(fragment)
        if ended:
            documents.append(b"".join(parts))
            parts = []
    assert documents == text.split(separator)
    assert not parts


def test_urls_are_opened_by_fsspec(tmp_path: Path) -> None:
    (tmp_path / "a b.txt.gz").write_bytes(packed(TEXT.encode(), ".gz"))
    assert list(iter_documents(f"file://{tmp_path}/a b.txt.gz")) == TEXT.split("<|endoftext|>")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nosuchscheme://host/a.txt", "nosuchscheme://host/a.txt cannot be opened"),
        ("file:///no/such/file.txt", "file:///no/such/file.txt cannot be read: No such file"),
    ],
)
def test_a_url_that_cannot_be_opened(url: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(iter_documents(url))


def test_a_file_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret.txt").touch()

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")  # chmod does not stop root

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(DataError, match=r"secret\.txt cannot be read: Permission denied"):
        list(iter_documents(tmp_path / "secret.txt"))
