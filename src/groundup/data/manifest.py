"""What a dataset folder says about itself: manifest.json, beside its shards and tokenizer.json.

    {"version": 1, "dtype": "uint16", "vocab_size": 10000, "tokenizer": "<sha256>", "held_out": "hash",
     "sources": ["stories.txt"], "valid_sources": [],
     "splits": {"train": {"tokens": 9, "documents": 2, "bytes": 31,
                          "shards": [{"file": "train-00000.bin", "tokens": 9, "sha256": "<sha256>"}]}, ...}}

A shard is a 1-D array of ids, little-endian, and nothing else. `shards.py` writes it, `tokens.py` opens it.
"""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from groundup.data.mixing import MixedCorpus
from groundup.errors import DataError
from groundup.files import StrPath, sha256_file, write_json
from groundup.tokenizer.bpe import Tokenizer

MANIFEST = "manifest.json"
VERSION = 1


@dataclass(frozen=True)
class Shard:
    """One file of ids."""

    file: str
    tokens: int
    sha256: str


@dataclass(frozen=True)
class Split:
    """The training or the held-out part.

    Args:
        tokens: Ids in all shards together, one `<|endoftext|>` for each document among them.
        documents: Documents, or parts of documents where the rest fell to the other split.
        bytes: UTF-8 bytes of the text that was encoded.
        shards: The files, in order.
    """

    tokens: int
    documents: int
    bytes: int
    shards: tuple[Shard, ...]


@dataclass(frozen=True)
class LeftOut:
    """Documents that were copies of others, and their bytes."""

    documents: int
    bytes: int


@dataclass(frozen=True)
class Manifest:
    """The whole of manifest.json.

    Args:
        version: Of this format.
        dtype: "uint16" or "uint32".
        vocab_size: Largest id of the tokenizer, plus one.
        tokenizer: Fingerprint of the tokenizer.
        held_out: How "valid" was chosen: "hash" of each document, "tail" of a short corpus, "file", or "none".
        sources: The files that were read, as they were named.
        valid_sources: Those of the held-out part, if it has files of its own.
        splits: "train" and "valid".
        mixture: What each corpus gave to "train", where they were mixed by weight; empty where they were not.
        mixed_until: "all" of them, or the "first", came to its end.
        left_out: None where copies of documents were not looked for.
    """

    version: int
    dtype: str
    vocab_size: int
    tokenizer: str
    held_out: str
    sources: tuple[str, ...]
    valid_sources: tuple[str, ...]
    splits: dict[str, Split]
    mixture: tuple[MixedCorpus, ...] = ()
    mixed_until: str | None = None
    left_out: LeftOut | None = None

    @property
    def id_dtype(self) -> np.dtype[Any]:
        """The ids' type on disk."""
        return np.dtype(self.dtype).newbyteorder("<")


def write_manifest(manifest: Manifest, folder: Path) -> None:
    """Write manifest.json into the folder."""
    write_json(folder / MANIFEST, dataclasses.asdict(manifest))


def read_manifest(folder: StrPath) -> Manifest:
    """The manifest of a dataset folder. Raises DataError if there is none or it cannot be understood."""
    path = Path(folder) / MANIFEST
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        raise DataError(f"{folder} holds no {MANIFEST}; make a dataset with 'groundup data prepare'") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}; prepare the dataset again") from error
    version = values.get("version") if isinstance(values, dict) else None
    if version != VERSION:
        raise DataError(f"{path} has format version {version!r}; this program reads {VERSION}: prepare again")
    try:
        manifest = _from_values(values)
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        raise DataError(f"{path} is not a manifest of a dataset ({error}); prepare the dataset again") from error
    return manifest


def _from_values(values: dict[str, Any]) -> Manifest:
    splits = {
        name: Split(**{**split, "shards": tuple(Shard(**shard) for shard in split["shards"])})
        for name, split in values["splits"].items()
    }
    names = {key: tuple(values[key]) for key in ("sources", "valid_sources")}
    left_out = values.get("left_out")
    manifest = Manifest(
        **{
            **values,
            **names,
            "splits": splits,
            "mixture": tuple(MixedCorpus(**corpus) for corpus in values.get("mixture", ())),
            "left_out": None if left_out is None else LeftOut(**left_out),
        }
    )
    if manifest.dtype not in ("uint16", "uint32"):
        raise ValueError(f"dtype is {manifest.dtype!r}")
    for name, split in splits.items():
        if split.tokens != sum(shard.tokens for shard in split.shards):
            raise ValueError(f"the shards of {name!r} do not add up to its {split.tokens} tokens")
    return manifest


def check_tokenizer(manifest: Manifest, tokenizer: Tokenizer) -> None:
    """Raise DataError, with both hashes, unless the dataset was written with this tokenizer."""
    if tokenizer.fingerprint != manifest.tokenizer:
        raise DataError(
            f"the dataset was written with tokenizer {manifest.tokenizer}, and this is tokenizer "
            f"{tokenizer.fingerprint}; use the tokenizer.json in the dataset's folder, or prepare the text again"
        )


def verify_shards(folder: StrPath) -> None:
    """Read every shard and raise DataError unless its bytes are those that were written."""
    for split in read_manifest(folder).splits.values():
        for shard in split.shards:
            path = Path(folder) / shard.file
            found = sha256_file(path) if path.is_file() else "no file"
            if found != shard.sha256:
                raise DataError(f"{path} is not as it was written: SHA-256 {found}, not {shard.sha256}; prepare again")
