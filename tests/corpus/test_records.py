"""JSON lines and Parquet: the text field, and rows that do not hold one."""

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from groundup.corpus import iter_documents
from groundup.errors import DataError

DOCUMENTS = ["Once upon a time.\n", "a <|endoftext|> b", "é 二 🏠", "line\u2028separator\x0b\x0c\x1c", '"quoted"\\']


def write_json_lines(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("chunk_bytes", [1, 10, 1 << 20])
def test_json_lines(tmp_path: Path, ascii_only: bool, chunk_bytes: int) -> None:
    lines = [json.dumps({"id": i, "text": text}, ensure_ascii=ascii_only) for i, text in enumerate(DOCUMENTS)]
    path = write_json_lines(tmp_path / "a.jsonl", *lines)
    assert list(iter_documents(path, chunk_bytes=chunk_bytes)) == DOCUMENTS


def test_json_lines_with_blank_lines_crlf_bom_null_and_another_field(tmp_path: Path) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b'\xef\xbb\xbf{"body": "one"}\r\n\r\n{"body": null}\r\n{"body": " "}\r\n{"body": "two\\r\\n"}')
    assert list(iter_documents(path, text_field="body")) == ["one", "two\r\n"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{'text': 1}", "is not JSON"),
        ('{"text": "a"', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ('["text"]', "holds a JSON list"),
        ('{"body": "a", "id": 3}', "has no field 'text'; its fields are 'body', 'id'"),
        ("{}", "has no field 'text'; its fields are none"),
        ('{"text": 7}', "holds a int in field 'text'"),
        ('{"text": "ab\\ud83d"}', "holds half a surrogate pair at character 2"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = write_json_lines(tmp_path / "a.jsonl", '{"text": "fine"}', "", line, '{"text": "fine"}')
    documents = iter_documents(path)
    assert next(documents) == "fine"
    with pytest.raises(DataError, match=rf"a\.jsonl:3 {message}"):
        next(documents)


def test_json_lines_that_are_not_utf8_are_named_by_their_offset(tmp_path: Path) -> None:
    fine = b'{"text": "fine"}\n' * 5000
    (tmp_path / "a.jsonl").write_bytes(fine + b'{"text": "caf\xe9"}\n' + fine)
    with pytest.raises(DataError, match=rf"a\.jsonl is not UTF-8 text: byte 0xe9 at byte offset {len(fine) + 13} "):
        list(iter_documents(tmp_path / "a.jsonl"))


def test_a_surrogate_pair_is_one_character(tmp_path: Path) -> None:
    path = write_json_lines(tmp_path / "a.jsonl", '{"text": "\\ud83c\\udfe0"}')
    assert list(iter_documents(path)) == ["🏠"]


def table(*texts: str | None, kind: pyarrow.DataType | None = None) -> pyarrow.Table:
    return pyarrow.table({"id": list(range(len(texts))), "text": pyarrow.array(texts, kind or pyarrow.string())})


@pytest.mark.parametrize(
    "kind",
    [
        pyarrow.string(),
        pyarrow.large_string(),
        pyarrow.string_view(),
        pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    ],
    ids=str,
)
def test_parquet(tmp_path: Path, kind: pyarrow.DataType) -> None:
    many = DOCUMENTS * 200  # several batches
    pyarrow.parquet.write_table(table(*many, None, "", kind=kind), tmp_path / "a.parquet", row_group_size=300)
    assert list(iter_documents(tmp_path / "a.parquet")) == many


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_compressed_parquet(tmp_path: Path, ending: str) -> None:
    pyarrow.parquet.write_table(table(*DOCUMENTS), tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    pack = gzip.compress if ending == ".gz" else zstandard.ZstdCompressor().compress
    (tmp_path / f"a.parquet{ending}").write_bytes(pack(data))
    assert list(iter_documents(tmp_path / f"a.parquet{ending}")) == DOCUMENTS


def test_parquet_without_the_column(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(table("a"), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet has no column 'body'; its columns are 'id', 'text'"):
        list(iter_documents(tmp_path / "a.parquet", text_field="body"))
    with pytest.raises(DataError, match=r"column 'id' of .*a\.parquet holds int64; it must hold strings"):
        list(iter_documents(tmp_path / "a.parquet", text_field="id"))


def test_parquet_with_bytes_that_are_not_text(tmp_path: Path) -> None:
    broken = pyarrow.array([b"fine", b"\xff"]).view(pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"text": broken}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet: row 1 of column 'text' is not UTF-8"):
        list(iter_documents(tmp_path / "a.parquet"))


@pytest.mark.parametrize("keep", [0, 3, -10])
def test_parquet_that_is_damaged(tmp_path: Path, keep: int) -> None:
    pyarrow.parquet.write_table(table(*DOCUMENTS), tmp_path / "a.parquet")
    (tmp_path / "a.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:keep])
    with pytest.raises(DataError, match=r"a\.parquet is not a Parquet file that can be read"):
        list(iter_documents(tmp_path / "a.parquet"))
