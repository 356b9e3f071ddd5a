"""Which files are read: paths, globs, odd names, and what is refused."""

from pathlib import Path

import pytest

from groundup.corpus import expand_paths, has_fields, is_plain_text, text_size_bytes
from groundup.errors import DataError


def test_globs_are_sorted_and_paths_keep_their_order(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / name).touch()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "d.txt").touch()
    assert expand_paths(str(tmp_path / "*.txt")) == [tmp_path / "a.txt", tmp_path / "b.txt"]
    assert expand_paths([tmp_path / "c.md", str(tmp_path / "a*")]) == [tmp_path / "c.md", tmp_path / "a.txt"]
    assert expand_paths(str(tmp_path / "**" / "d.txt")) == [tmp_path / "deep" / "er" / "d.txt"]
    with pytest.raises(DataError, match="no file matches"):
        expand_paths(str(tmp_path / "d*"))  # matches a folder only


@pytest.mark.parametrize("name", ["two words.txt", "Größe 数据.txt", "notes[1].txt", "what?.txt", " .txt"])
def test_odd_names_are_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert expand_paths(tmp_path / name) == [tmp_path / name]


def test_urls_pass_through() -> None:
    assert expand_paths(["https://host/a b.txt", "s3://bucket/x.jsonl.gz"]) == [
        "https://host/a b.txt",
        "s3://bucket/x.jsonl.gz",
    ]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.txt", r"missing\.txt does not exist"),
        ("*.nothing", r"no file matches .*\*\.nothing"),
        ("", "is a folder"),
    ],
)
def test_what_is_not_there_is_refused(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        expand_paths(tmp_path / path)


def test_no_path_at_all_is_refused() -> None:
    with pytest.raises(DataError, match="at least one path"):
        expand_paths([])


@pytest.mark.parametrize(
    ("name", "plain", "fields"),
    [
        ("a.txt", True, False),
        ("a", True, False),
        ("a.jsonl.txt", True, False),
        ("a.TXT.GZ", False, False),
        ("a.txt.zst", False, False),
        ("a.JSONL", False, True),
        ("a.ndjson.gz", False, True),
        ("a.parquet", False, True),
        ("a.parquet.zst", False, True),
        ("https://host/a.txt", False, False),
        ("https://host/a.jsonl", False, True),
    ],
)
def test_the_ending_says_what_is_inside(name: str, plain: bool, fields: bool) -> None:
    assert (is_plain_text(name), has_fields(name)) == (plain, fields)


def test_text_size_is_known_for_plain_text_only(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.jsonl"):
        (tmp_path / name).write_bytes(b"12345")
    assert text_size_bytes(expand_paths(str(tmp_path / "*.txt"))) == 10
    assert text_size_bytes(expand_paths(str(tmp_path / "*"))) is None
    assert text_size_bytes(["https://host/a.txt"]) is None
