"""`groundup data prepare` with weights and without copies, and what `inspect` says of it, as a user types it."""

import json

import pytest

from groundup.cli.main import main
from groundup.experiments.quantities import size
from groundup.tokenizer.bpe import Tokenizer


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with a tokenizer and two corpora, as the working folder."""
    monkeypatch.chdir(tmp_path)
    Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], ["<|endoftext|>"]).save("tokenizer.json")
    for name in ("web", "books"):
        documents = [f"{name} number {number}" for number in range(200)]
        (tmp_path / f"{name}.txt").write_text("<|endoftext|>".join(documents), encoding="utf-8")
    return tmp_path


def test_a_mixture_without_copies(place, capsys):
    line = ["data", "prepare", "web.txt", "books.txt", "web.txt", "--tokenizer", "tokenizer.json", "--out", "ids"]
    assert main([*line, "--weights", "3,1", "--dedup"]) == 1
    assert "2 weights for 3 corpora" in capsys.readouterr().err
    line.pop(4)
    assert main([*line, "--weights", "3,1", "--dedup"]) == 0
    out = capsys.readouterr().out
    assert "of web.txt, weight 3, begun 4 x" in out and "of books.txt, weight 1, begun 1 x" in out
    assert "left out 0 copies of documents" in out
    assert main(["data", "inspect", "ids"]) == 0
    assert "of web.txt, weight 3, begun 4 x" in capsys.readouterr().out
    assert main([*line, "--weights", "3,1", "--mix_until", "first", "--json"]) == 0
    manifest = json.loads(capsys.readouterr().out)
    assert [corpus["passes"] for corpus in manifest["mixture"]] == [1, 1]
    assert (manifest["mixed_until"], manifest["left_out"]) == ("first", None)


def test_copies_are_counted(place, capsys):
    line = ["data", "prepare", "web.txt", "web.txt", "--tokenizer", "tokenizer.json", "--out", "ids"]
    assert main([*line, "--dedup"]) == 0
    num_bytes = (place / "web.txt").stat().st_size - 199 * len("<|endoftext|>")
    assert f"left out 200 copies of documents, {size(num_bytes)}" in capsys.readouterr().out
