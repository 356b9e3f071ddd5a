"""A look into a dataset folder: sizes, the first document read back, the commonest tokens."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from groundup.data.manifest import LeftOut, Split, check_tokenizer, read_manifest
from groundup.data.mixing import MixedCorpus
from groundup.data.tokens import Tokens, open_tokens
from groundup.errors import DataError
from groundup.files import StrPath
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.formats import TOKENIZER_FILE

_CHUNK_TOKENS = 1 << 20


@dataclass(frozen=True)
class TokenCount:
    """How often an id occurs; `text` has U+FFFD for bytes that are no characters by themselves."""

    id: int
    text: str
    count: int
    share: float


@dataclass(frozen=True)
class Summary:
    """What `groundup data inspect` shows.

    Args:
        folder: The dataset.
        dtype, vocab_size, tokenizer, held_out, sources, valid_sources, splits, mixture, left_out: As in its manifest.
        bytes_per_token: For each split, 0 if it is empty; `<|endoftext|>` counts as a token of no bytes.
        first_document: Text of the first document, or of its first tokens.
        first_document_is_whole: False if it goes on.
        counted_tokens: How many ids, from the start, were counted.
        distinct_tokens: How many different ones there were.
        top_tokens: The commonest.
    """

    folder: Path
    dtype: str
    vocab_size: int
    tokenizer: str
    held_out: str
    sources: tuple[str, ...]
    valid_sources: tuple[str, ...]
    splits: dict[str, Split]
    mixture: tuple[MixedCorpus, ...]
    left_out: LeftOut | None
    bytes_per_token: dict[str, float]
    first_document: str
    first_document_is_whole: bool
    counted_tokens: int
    distinct_tokens: int
    top_tokens: tuple[TokenCount, ...]


def summarize(folder: StrPath, *, top: int = 10, document_tokens: int = 1000, count_tokens: int = 1 << 24) -> Summary:
    """What is in a dataset, from its manifest, its tokenizer and the start of its training ids.

    Reads at most `document_tokens` for the document and `count_tokens` for the counts, so that it takes a
    second whatever the size. Raises DataError for a dataset whose files, tokenizer or ids do not fit together.
    """
    folder = Path(folder)
    manifest = read_manifest(folder)
    tokenizer = Tokenizer.load(folder / TOKENIZER_FILE)
    check_tokenizer(manifest, tokenizer)
    for split in manifest.splits:  # opening checks the sizes of the shards
        if manifest.splits[split].tokens:
            open_tokens(folder, split)
    tokens = open_tokens(folder, "train")
    counts = _counts(tokens, min(len(tokens), count_tokens), manifest.vocab_size)
    document, is_whole = _first_document(tokens[:document_tokens], tokenizer)
    commonest = np.argsort(-counts, kind="stable")[: min(top, np.count_nonzero(counts))]
    return Summary(
        folder=folder,
        dtype=manifest.dtype,
        vocab_size=manifest.vocab_size,
        tokenizer=manifest.tokenizer,
        held_out=manifest.held_out,
        sources=manifest.sources,
        valid_sources=manifest.valid_sources,
        splits=manifest.splits,
        mixture=manifest.mixture,
        left_out=manifest.left_out,
        bytes_per_token={name: split.bytes / max(1, split.tokens) for name, split in manifest.splits.items()},
        first_document=document,
        first_document_is_whole=is_whole,
        counted_tokens=int(counts.sum()),
        distinct_tokens=int(np.count_nonzero(counts)),
        top_tokens=tuple(
            TokenCount(id, tokenizer.decode([id]), int(counts[id]), float(counts[id] / counts.sum()))
            for id in commonest.tolist()
        ),
    )


def _first_document(ids: np.ndarray, tokenizer: Tokenizer) -> tuple[str, bool]:
    ends = np.flatnonzero(ids == tokenizer.end_of_text_id)
    ids = ids[: ends[0]] if len(ends) else ids
    return tokenizer.decode(ids.tolist()), len(ends) > 0


def _counts(tokens: Tokens, limit: int, vocab_size: int) -> np.ndarray:
    """How often each id occurs among the first `limit`."""
    counts = np.zeros(vocab_size, dtype=np.int64)
    for start in range(0, limit, _CHUNK_TOKENS):
        found = np.bincount(tokens[start : min(start + _CHUNK_TOKENS, limit)], minlength=vocab_size)
        if len(found) > vocab_size:
            raise DataError(f"the shards hold id {len(found) - 1}, outside the vocabulary of {vocab_size} entries")
        counts += found
    return counts
