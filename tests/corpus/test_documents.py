"""Documents and pieces: exact text, every chunk size, one corpus in many shapes."""

import gzip
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import regex
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from groundup.corpus import END_OF_TEXT, Piece, iter_documents, iter_pieces
from groundup.corpus.documents import _pieces
from groundup.errors import DataError
from groundup.tokenizer import patterns

PATTERNS = {
    "gpt2": patterns.GPT2_PATTERN,
    "smollm": patterns.SMOLLM_PATTERN,
    "cl100k": patterns.CL100K_PATTERN,
    "llama3": patterns.LLAMA3_PATTERN,
    "qwen2": patterns.QWEN2_PATTERN,
    "o200k": patterns.O200K_PATTERN,
}


def documents_of(tmp_path: Path, data: bytes, **options: object) -> list[str]:
    (tmp_path / "text.txt").write_bytes(data)
    return list(iter_documents(tmp_path / "text.txt", **options))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("data", "documents"),
    [
        (b"", []),
        (b" \n\t\r\n ", []),
        (b"one", ["one"]),
        (b"one\n", ["one\n"]),
        (b"one\r\ntwo\rthree\n\n", ["one\r\ntwo\rthree\n\n"]),
        (b"\xef\xbb\xbfone", ["\ufeffone"]),
        (b"one\n<|endoftext|>\ntwo", ["one\n", "\ntwo"]),
        (b"<|endoftext|><|endoftext|> <|endoftext|>one<|endoftext|>", ["one"]),
        (b"one<|endoftext|", ["one<|endoftext|"]),
        (b"nul \x00 and \x1c", ["nul \x00 and \x1c"]),
    ],
)
def test_text_is_kept_exactly(tmp_path: Path, data: bytes, documents: list[str]) -> None:
    assert documents_of(tmp_path, data) == documents


@pytest.mark.parametrize("separator", [END_OF_TEXT, "---", "\n\n", "aa", "é二", "[.*"])
def test_a_separator_straddles_every_chunk_size(tmp_path: Path, separator: str) -> None:
    text = separator.join(["one é\n", "aaa", "", "二🏠--", "  ", "[.", "last\r\n"])
    expected = [part for part in text.split(separator) if part.strip()]
    for chunk_bytes in range(1, 65):
        assert documents_of(tmp_path, text.encode(), separator=separator, chunk_bytes=chunk_bytes) == expected


def test_without_a_separator_a_file_is_a_document(tmp_path: Path) -> None:
    assert documents_of(tmp_path, b"one<|endoftext|>two", separator=None) == ["one<|endoftext|>two"]
    with pytest.raises(DataError, match="separator between documents is empty"):
        documents_of(tmp_path, b"one", separator="")


def test_one_corpus_in_many_shapes(tmp_path: Path) -> None:
    documents = [f"Story {i}: é 二 🏠\nThe end. " for i in range(50)]
    text = END_OF_TEXT.join(documents)
    half = END_OF_TEXT.join(documents[:25]), END_OF_TEXT.join(documents[25:])
    lines = "".join(json.dumps({"text": document}) + "\n" for document in documents)
    (tmp_path / "one file.txt").write_bytes(text.encode())
    (tmp_path / "ünd 1.txt").write_bytes(half[0].encode())
    (tmp_path / "ünd 2.txt").write_bytes(half[1].encode())
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.txt.zst").write_bytes(zstandard.ZstdCompressor().compress(text.encode()))
    (tmp_path / "a.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    pyarrow.parquet.write_table(pyarrow.table({"text": documents}), tmp_path / "a.parquet")
    for paths in (
        tmp_path / "one file.txt",
        [tmp_path / "ünd 1.txt", tmp_path / "ünd 2.txt"],
        str(tmp_path / "ünd *.txt"),
        tmp_path / "a.txt.gz",
        tmp_path / "a.txt.zst",
        tmp_path / "a.jsonl",
        tmp_path / "a.jsonl.gz",
        tmp_path / "a.parquet",
    ):
        assert list(iter_documents(paths)) == documents, paths


def test_blank_documents_are_those_that_python_calls_white_space(tmp_path: Path) -> None:
    every = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
    documents = documents_of(tmp_path, END_OF_TEXT.join(every).encode())
    assert documents == [character for character in every if not character.isspace()]


def test_pieces_are_cut_before_white_space_only() -> None:
    pieces = list(_pieces([(b"one two\n\nthree", True), (b"four", True)], 1, "gpt2"))
    assert pieces == [
        Piece(b"one", False),
        Piece(b" two", False),
        Piece(b"\n\nthree", True),
        Piece(b"four", True),
    ]


def test_a_text_without_a_place_to_cut_is_one_piece() -> None:
    assert list(_pieces([(b"abc", False), (b"def", False), (b" ghi", True)], 2, "gpt2")) == [
        Piece(b"abcdef", False),
        Piece(b" ghi", True),
    ]
    ideographic = "\u3000".encode()
    assert list(_pieces([(b" " * 10, False), (ideographic, False), (b"x\x1c y", True)], 2, "gpt2")) == [
        Piece(b" " * 10 + ideographic + b"x\x1c y", True)  # U+001C is white space to Python alone: no cut there
    ]


def test_white_space_at_the_end_of_a_long_document_stays() -> None:
    assert list(_pieces([(b"one two", False), (b"\n", True), (b"\n", True)], 6, "gpt2")) == [
        Piece(b"one two", False),
        Piece(b"\n", True),
    ]


def test_the_length_of_a_piece_is_counted_in_characters() -> None:
    assert [piece.text.decode() for piece in _pieces([("🏠🏠 二二 éé a".encode(), True)], 3, "gpt2")] == [
        "🏠🏠 二二",
        " éé",
        " a",
    ]


texts = st.text(st.sampled_from("ab1' .,/\n\r\t\u00a0\u3000\x1cé二's"), max_size=60)


@pytest.mark.parametrize(("scanner", "pattern"), PATTERNS.items())
@given(documents=st.lists(texts, max_size=6), max_chars=st.integers(1, 20), size=st.integers(1, 30))
def test_pieces_join_to_documents_and_keep_pre_tokens(
    scanner: str, pattern: str, documents: list[str], max_chars: int, size: int
) -> None:
    def fragments(size: int) -> list[tuple[bytes, bool]]:
        return [
            (document[i : i + size].encode(), i + size >= len(document))
            for document in documents
            for i in range(0, max(1, len(document)), size)
        ]

    pieces = list(_pieces(fragments(size), max_chars, scanner))
    assert pieces == list(_pieces(fragments(1000), max_chars, scanner)), "the cuts depend on the document alone"
    joined, parts = [], []
    for piece in pieces:
        parts.append(piece.text.decode())
        if piece.ends_document:
            joined.append(parts)
            parts = []
    assert not parts
    assert ["".join(parts) for parts in joined] == [d for d in documents if d and not d.isspace()]
    for parts in joined:
        in_pieces = [word for part in parts for word in regex.findall(pattern, part)]
        assert in_pieces == regex.findall(pattern, "".join(parts))
        assert all(len(part) >= max_chars for part in parts[:-1])


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks = []
    for count in (10, 40):
        path = tmp_path / f"{count}.gz"
        path.write_bytes(gzip.compress(("A line of text, one of many. " * 5000).encode() * count))
        tracemalloc.start()
        assert sum(len(piece.text) for piece in iter_pieces(path, chunk_bytes=1 << 16)) == count * 145_000
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 200_000


def test_importing_the_corpus_imports_nothing_heavy() -> None:
    code = (
        "import sys, groundup.corpus\n"
        "heavy = {'torch', 'numpy', 'regex', 'pyarrow', 'zstandard', 'fsspec'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
