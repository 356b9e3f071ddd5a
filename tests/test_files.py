"""Atomic writing: the old file or folder stays whole whatever happens on the way."""

import os
import stat

import pytest

from groundup.files import file_aside, folder_aside, open_atomic, sha256_file, spelled, write_atomic, write_json


def test_write_replaces_and_leaves_nothing_aside(tmp_path):
    path = tmp_path / "new folder" / "naïve file.txt"
    write_atomic(path, "one")
    write_atomic(path, b"two \xff")
    assert path.read_bytes() == b"two \xff"
    assert os.listdir(path.parent) == [path.name]


def test_a_failure_keeps_the_old_file_and_removes_the_half_written_one(tmp_path):
    path = tmp_path / "file"
    write_atomic(path, "old")
    with pytest.raises(RuntimeError), open_atomic(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


def test_written_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    write_atomic(tmp_path / "ours", "")
    usual, ours = (stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("usual", "ours"))
    assert usual == ours


def test_a_file_that_others_write_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new folder" / "file"
    with pytest.raises(KeyboardInterrupt), file_aside(path) as aside:
        aside.write_text("half")
        raise KeyboardInterrupt
    assert os.listdir(path.parent) == []
    for content in ("one", "two"):
        with file_aside(path) as aside:
            aside.write_text(content)
            assert not path.exists() or path.read_text() == "one"
        assert path.read_text() == content
    (path.parent / "usual").touch()
    assert len({stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()}) == 1
    assert sorted(os.listdir(path.parent)) == ["file", "usual"]


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "target"
    with pytest.raises(KeyboardInterrupt), folder_aside(target) as folder:
        (folder / "part").write_text("1")
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []
    with folder_aside(target) as folder:
        (folder / "part").write_text("1")
        assert not target.exists()
    with folder_aside(target) as folder:
        (folder / "other").write_text("2")
    assert os.listdir(target) == ["other"]
    assert os.listdir(tmp_path) == ["target"]


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    target = tmp_path / "target"
    target.mkdir()
    (target / "old").touch()
    original = os.rename

    def rename(source, to):
        if str(source).endswith(".tmp"):
            raise OSError(28, "No space left on device")
        return original(source, to)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(OSError, match="No space"), folder_aside(target) as folder:
        (folder / "new").touch()
    assert os.listdir(target) == ["old"]
    assert os.listdir(tmp_path) == ["target"]


@pytest.mark.parametrize(
    ("name", "text"), [("a é 日本", "a é 日本"), ("\udcc3\udca9", "é"), ("é\udcff.txt", "é\ufffd.txt"), ("", "")]
)
def test_names_of_every_kind_can_be_written_down(name, text):
    assert spelled(name) == text


def test_hash_and_json(tmp_path):
    write_json(tmp_path / "a.json", {"ü": 1})
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == '{\n  "ü": 1\n}\n'
    write_atomic(tmp_path / "empty", "")
    assert sha256_file(tmp_path / "empty") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
