"""Public corpora into a folder: `download("tinystories", "data/tinystories")`, and the folder says what it holds.

The bytes come by `transfer.py`, for every server in the same way: resumed, checked, named last. Of the Hugging Face
Hub we ask only what it knows better: where a file lies now, its size and its checksum; so its settings (HF_ENDPOINT
for a mirror, HF_TOKEN, HF_HUB_OFFLINE) hold. `source.json` is written last: where each file is from, the licence.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundup.data.sources import PublicCorpus, RemoteFile, find_corpus
from groundup.data.transfer import fetch
from groundup.data.wikitext import write_articles
from groundup.errors import DataError, first_line
from groundup.files import StrPath, write_json

RECORD = "source.json"
Progress = Callable[[str, int, int | None], object]


@dataclass(frozen=True)
class Downloaded:
    """A corpus that is there.

    Args:
        corpus: What it is.
        train, valid: The files to train and to validate on; no `valid` if the corpus has none of its own.
        was_there: Nothing had to be downloaded.
    """

    corpus: PublicCorpus
    train: Path
    valid: Path | None
    was_there: bool


def download(
    corpus: str | PublicCorpus,
    out: StrPath,
    *,
    endpoint: str | None = None,
    progress: Progress | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> Downloaded:
    """Download a corpus into the folder `out`; what an earlier call left unfinished goes on.

    Args:
        corpus: Its name (`sources.py`), or a description of one.
        endpoint: Another Hub than the public one or that of HF_ENDPOINT.
        progress: Called with the name of a file, its bytes that are here, and all of them if that is known.
        sleep: How a pause between two tries is made.

    Raises DataError, in one sentence, for a name that is not known, no network, a server that refuses, bytes that
    are not those that are meant, a missing package, or a folder that holds another corpus.
    """
    corpus = find_corpus(corpus) if isinstance(corpus, str) else corpus
    out = Path(out)
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file; name a folder for the corpus")
    done = Downloaded(corpus, out / corpus.train, None if corpus.valid is None else out / corpus.valid, was_there=True)
    if _is_whole(corpus, out):
        return done
    origins = []
    for file in corpus.files:
        origin = _locate(corpus, file, endpoint)
        fetch(
            origin.url,
            out / file.name,
            sha256=origin.sha256,
            size_bytes=origin.size_bytes,
            progress=None if progress is None else _named(progress, file.name),
            sleep=sleep,
        )
        origins.append({"file": file.name, "from": file.path, "sha256": origin.sha256, "revision": origin.revision})
    if corpus.is_rows:
        _join_rows(corpus, out)
    names = [name for name in (corpus.train, corpus.valid) if name is not None]
    write_json(
        out / RECORD,
        {
            "corpus": corpus.name,
            "title": corpus.title,
            "licence": corpus.licence,
            "page": corpus.page,
            "repository": corpus.repository,
            "downloaded": origins,
            "files": {name: (out / name).stat().st_size for name in names},
        },
    )
    if corpus.is_rows:
        for file in corpus.files:
            (out / file.name).unlink()
    return Downloaded(corpus, done.train, done.valid, was_there=False)


@dataclass(frozen=True)
class _Origin:
    """Where the bytes of a file are now, and what they must be."""

    url: str
    sha256: str
    size_bytes: int | None
    revision: str | None


def _locate(corpus: PublicCorpus, file: RemoteFile, endpoint: str | None) -> _Origin:
    if corpus.repository is None:
        assert file.sha256 is not None
        return _Origin(file.path, file.sha256, file.size_bytes, None)
    place = f"{corpus.repository}/{file.path}"
    try:
        from huggingface_hub import get_hf_file_metadata, hf_hub_url
    except ImportError:
        raise DataError(f"{place} needs huggingface_hub to be downloaded; pip install 'groundup[data]'") from None
    try:
        url = hf_hub_url(corpus.repository, file.path, repo_type="dataset", revision=corpus.revision, endpoint=endpoint)
        known = get_hf_file_metadata(url, endpoint=endpoint, library_name="groundup")
    except Exception as error:  # the client raises its own errors, those of its HTTP library, and plain ones
        raise DataError(
            f"{place} was not found on the Hugging Face Hub ({first_line(error)}); check the network connection, or "
            "name a mirror with --endpoint"
        ) from error
    sha256 = file.sha256 or _sha256_of(known.etag, place)
    return _Origin(known.location, sha256, file.size_bytes or known.size, known.commit_hash)


def _sha256_of(etag: str | None, place: str) -> str:
    """The Hub's tag of a large file is its SHA-256."""
    if etag is None or not re.fullmatch("[0-9a-f]{64}", etag):
        raise DataError(f"the server gives no SHA-256 for {place}, so that its bytes could not be checked")
    return etag


def _is_whole(corpus: PublicCorpus, out: Path) -> bool:
    """Whether an earlier call finished. Raises DataError if the folder holds another corpus."""
    try:
        record: Any = json.loads((out / RECORD).read_text(encoding="utf-8"))
        name, sizes = record["corpus"], dict(record["files"])
    except FileNotFoundError:
        return False
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{out / RECORD} cannot be read ({error}); remove it, or name another folder") from error
    if name != corpus.name:
        raise DataError(f"{out} holds the corpus {name!r}; name another folder for {corpus.name!r}")
    return all((out / file).is_file() and (out / file).stat().st_size == size for file, size in sizes.items())


def _join_rows(corpus: PublicCorpus, out: Path) -> None:
    """The tables of each split as one text file."""
    for name in (corpus.train, corpus.valid):
        if name is not None:
            split = name.partition(".")[0]
            write_articles([out / file.name for file in corpus.files if file.name.startswith(split)], out / name)


def _named(progress: Progress, name: str) -> Callable[[int, int | None], object]:
    return lambda done, total: progress(name, done, total)
