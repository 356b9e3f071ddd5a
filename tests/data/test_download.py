"""A public corpus into a folder, from a server of its own and from one that answers as the Hugging Face Hub does."""

import dataclasses
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from groundup.data import sources
from groundup.data.download import download
from groundup.data.sources import PublicCorpus, RemoteFile
from groundup.errors import DataError

TEXTS = {"train.txt": b"Once upon a time. <|endoftext|> There was." * 99, "valid.txt": b"The end."}
COMMIT = "c0" * 20


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def corpus_of(**fields: Any) -> PublicCorpus:
    values: dict[str, Any] = {
        "name": "tales",
        "title": "Tales",
        "licence": "CC0-1.0",
        "page": "https://example.org/tales",
        "train": "train.txt",
        "valid": "valid.txt",
        "files": (),
    }
    return PublicCorpus(**(values | fields))


@pytest.fixture
def on_the_web(server: Any) -> PublicCorpus:
    server.files = {f"/{name}": content for name, content in TEXTS.items()}
    return corpus_of(
        files=tuple(RemoteFile(name, f"{server.url}/{name}", sha256(content)) for name, content in TEXTS.items())
    )


@pytest.fixture
def on_the_hub(server: Any) -> PublicCorpus:
    """The paths and headers of the Hub: its tag of a large file is the SHA-256, and the bytes lie elsewhere."""
    pytest.importorskip("huggingface_hub")
    for name, content in TEXTS.items():
        path = f"/datasets/someone/tales/resolve/main/raw/{name}"
        server.files |= {path: b"", f"/store/{name}": content}
        server.moved[path] = f"/store/{name}"
        server.headers[path] = {
            "X-Linked-ETag": f'"{sha256(content)}"',
            "X-Linked-Size": str(len(content)),
            "X-Repo-Commit": COMMIT,
        }
    files = tuple(RemoteFile(name, f"raw/{name}") for name in TEXTS)
    return corpus_of(files=files, repository="someone/tales")


def content_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "source.json"}


def test_a_corpus_arrives_and_says_what_it_is(tmp_path: Path, server: Any, on_the_web: PublicCorpus) -> None:
    seen = set()
    done = download(on_the_web, tmp_path / "tales", progress=lambda name, have, total: seen.add((name, total)))
    assert content_of(tmp_path / "tales") == TEXTS
    assert (done.train, done.valid) == (tmp_path / "tales" / "train.txt", tmp_path / "tales" / "valid.txt")
    assert seen == {(name, len(content)) for name, content in TEXTS.items()}
    record = json.loads((tmp_path / "tales" / "source.json").read_text(encoding="utf-8"))
    assert record["licence"] == "CC0-1.0" and record["corpus"] == "tales"
    assert record["files"] == {name: len(content) for name, content in TEXTS.items()}
    assert [origin["sha256"] for origin in record["downloaded"]] == [sha256(content) for content in TEXTS.values()]


def test_what_is_there_needs_no_network(tmp_path: Path, server: Any, on_the_web: PublicCorpus) -> None:
    first = download(on_the_web, tmp_path)
    server.asked.clear()
    second = download(on_the_web, tmp_path)
    assert (first.was_there, second.was_there) == (False, True)
    assert (second.train, server.asked) == (first.train, [])
    (tmp_path / "valid.txt").unlink()
    assert not download(on_the_web, tmp_path).was_there
    assert content_of(tmp_path) == TEXTS


def test_what_a_call_left_unfinished_goes_on(tmp_path: Path, server: Any, on_the_web: PublicCorpus) -> None:
    server.files.pop("/valid.txt")
    with pytest.raises(DataError, match=r"valid\.txt cannot be downloaded: the server answers 404"):
        download(on_the_web, tmp_path)
    assert not (tmp_path / "source.json").exists()
    server.files["/valid.txt"] = TEXTS["valid.txt"]
    server.asked.clear()
    download(on_the_web, tmp_path)
    assert content_of(tmp_path) == TEXTS
    assert [path for _, path, _ in server.asked] == ["/valid.txt"]


def test_the_hub_says_where_and_what(tmp_path: Path, server: Any, on_the_hub: PublicCorpus) -> None:
    download(on_the_hub, tmp_path, endpoint=server.url)
    assert content_of(tmp_path) == TEXTS
    record = json.loads((tmp_path / "source.json").read_text(encoding="utf-8"))
    assert {origin["revision"] for origin in record["downloaded"]} == {COMMIT}
    assert [origin["sha256"] for origin in record["downloaded"]] == [sha256(content) for content in TEXTS.values()]


def test_other_bytes_than_the_hub_says_are_not_kept(tmp_path: Path, server: Any, on_the_hub: PublicCorpus) -> None:
    server.files["/store/train.txt"] = TEXTS["train.txt"][::-1]
    with pytest.raises(DataError, match="came with SHA-256"):
        download(on_the_hub, tmp_path, endpoint=server.url)
    assert list(tmp_path.iterdir()) == []


def test_a_pinned_checksum_is_stronger_than_the_hub(tmp_path: Path, server: Any, on_the_hub: PublicCorpus) -> None:
    files = (dataclasses.replace(on_the_hub.files[0], sha256=sha256(b"as it was")), *on_the_hub.files[1:])
    with pytest.raises(DataError, match=f"not {sha256(b'as it was')}"):
        download(dataclasses.replace(on_the_hub, files=files), tmp_path, endpoint=server.url)


def test_a_file_whose_checksum_nobody_knows(tmp_path: Path, server: Any, on_the_hub: PublicCorpus) -> None:
    for headers in server.headers.values():
        headers["X-Linked-ETag"] = f'"{COMMIT}"'  # as of a small file: a hash of something else
    with pytest.raises(DataError, match=r"gives no SHA-256 for someone/tales/raw/train\.txt"):
        download(on_the_hub, tmp_path, endpoint=server.url)


@pytest.mark.parametrize("trouble", ["no network", "not there"])
def test_the_hub_in_one_sentence(
    tmp_path: Path, server: Any, nobody: str, on_the_hub: PublicCorpus, trouble: str
) -> None:
    endpoint = nobody if trouble == "no network" else server.url
    corpus = dataclasses.replace(on_the_hub, revision="another")
    with pytest.raises(DataError, match=r"someone/tales/raw/train\.txt was not found on the Hugging Face Hub") as error:
        download(corpus, tmp_path, endpoint=endpoint)
    assert "\n" not in str(error.value) and "--endpoint" in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_the_extra_is_named_where_it_is_missing(
    tmp_path: Path, on_the_hub: PublicCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(DataError, match=r"needs huggingface_hub .*pip install 'groundup\[data\]'"):
        download(on_the_hub, tmp_path)


def test_a_folder_of_something_else(tmp_path: Path, on_the_web: PublicCorpus) -> None:
    download(on_the_web, tmp_path / "tales")
    other = dataclasses.replace(on_the_web, name="fables")
    with pytest.raises(DataError, match="holds the corpus 'tales'; name another folder for 'fables'"):
        download(other, tmp_path / "tales")
    with pytest.raises(DataError, match=r"train\.txt is a file; name a folder"):
        download(on_the_web, tmp_path / "tales" / "train.txt")
    (tmp_path / "tales" / "source.json").write_text("{")
    with pytest.raises(DataError, match=r"source\.json cannot be read"):
        download(on_the_web, tmp_path / "tales")
    assert content_of(tmp_path / "tales") == TEXTS


def test_rows_become_text(tmp_path: Path, server: Any) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    files = []
    for name, rows in {
        "train-0": ["", " = Crab = \n", "", " A crab . \n"],
        "train-1": ["", " = Hen = \n", "", " A hen . \n"],
        "valid": [" = Owl = \n", "", " An owl . \n"],
    }.items():
        parquet.write_table(pyarrow.table({"text": rows}), tmp_path / name)
        server.files[f"/{name}"] = (tmp_path / name).read_bytes()
        files.append(RemoteFile(f"{name}.parquet", f"{server.url}/{name}", sha256(server.files[f"/{name}"])))
    corpus = corpus_of(files=tuple(files), is_rows=True)
    download(corpus, tmp_path / "out")
    assert content_of(tmp_path / "out") == {
        "train.txt": b" \n = Crab = \n \n A crab . \n \n<|endoftext|>\n = Hen = \n \n A hen . \n<|endoftext|>\n",
        "valid.txt": b" = Owl = \n \n An owl . \n<|endoftext|>\n",
    }
    assert download(corpus, tmp_path / "out").was_there


def test_the_command(tmp_path: Path, on_the_web: PublicCorpus, monkeypatch, capsys) -> None:
    from groundup.cli.main import main

    monkeypatch.setitem(sources.CORPORA, "shakespeare", dataclasses.replace(on_the_web, name="shakespeare"))
    out = tmp_path / "two words"
    assert main(["data", "download", "shakespeare", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "CC0-1.0" in shown and f"groundup tokenizer train '{out}/train.txt'" in shown
    assert f"--valid '{out}/valid.txt'" in shown
    assert main(["data", "download", "shakespeare", "--out", str(out), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["train"], figures["licence"]) == (str(out / "train.txt"), "CC0-1.0")


def test_the_command_without_a_network(tmp_path: Path, nobody: str, monkeypatch, capsys) -> None:
    from groundup.cli.main import main

    (file,) = sources.find_corpus("shakespeare").files
    files = (dataclasses.replace(file, path=f"{nobody}/input.txt"),)
    offline = dataclasses.replace(sources.find_corpus("shakespeare"), files=files)
    monkeypatch.setitem(sources.CORPORA, "shakespeare", offline)
    assert main(["data", "download", "shakespeare", "--out", str(tmp_path)]) == 1
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and "did not arrive" in lines[0] and "check the network connection" in lines[0]
