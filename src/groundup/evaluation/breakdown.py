"""Where a loss comes from: the same sums as `likelihood.py` makes, apart for each document or each position.

The windows are those of `evaluate`, so that the parts add up to the whole, and what stands before a document in its
window helps with it. Position p is a token that sees p tokens before it: the curve falls as long as more context
tells the model more.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from jaxtyping import Float64, Int64
from torch import Tensor

from groundup.data.batches import Ids
from groundup.data.tokens import Tokens
from groundup.errors import DataError
from groundup.evaluation.likelihood import Progress, Run, read_ids, score_tokens, scored_model
from groundup.files import StrPath
from groundup.kernels.decoding import WeightType
from groundup.model.loss import bits_per_byte
from groundup.tokenizer.bpe import Tokenizer

Source = StrPath | Sequence[StrPath] | np.ndarray | Tokens

_CHUNK_TOKENS = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Score:
    """Some targets: how many, the UTF-8 bytes of their tokens, and the sum of -log p over them, in nats."""

    num_targets: int
    num_bytes: int
    nats: float

    @property
    def nats_per_token(self) -> float:
        """NaN for no targets."""
        return self.nats / self.num_targets if self.num_targets else float("nan")

    @property
    def bits_per_byte(self) -> float | None:
        """None for targets of no bytes."""
        return bits_per_byte(self.nats, self.num_bytes) if self.num_bytes else None


@dataclass(frozen=True, kw_only=True)
class DocumentScore(Score):
    """A document, its `<|endoftext|>` included: the how manieth it is, from 0, and the index of its first id."""

    index: int
    start: int


@dataclass(frozen=True, kw_only=True)
class PositionScore(Score):
    """All targets with as many tokens before them in their window as `first` to `last`."""

    first: int
    last: int


def evaluate_by_document(
    run: Run,
    source: Source,
    *,
    split: Literal["train", "valid"] = "valid",
    batch_size: int = 32,
    context_length: int | None = None,
    weights: WeightType | None = None,
    progress: Progress | None = None,
) -> list[DocumentScore]:
    """The score of each document, in order; arguments as of `evaluate`.

    The first token of all has no target before it, so that a text that is only `<|endoftext|>` there is left out.
    Raises DataError as `evaluate` does, and for a tokenizer without `<|endoftext|>`.
    """
    end = run.tokenizer.end_of_text_id
    if end is None:
        raise DataError("the tokenizer has no <|endoftext|>, so that documents cannot be told apart; use --by position")
    tokens, lengths = read_ids(source, split, run.tokenizer), run.tokenizer.byte_lengths()
    ends = _find(tokens, end)
    starts = np.concatenate([[0], ends + 1])
    sums = _Sums(len(starts))
    scored = 1  # index of the next target

    def add(targets: Int64[Tensor, "batch seq"], found: Float64[Tensor, "batch seq"]) -> None:
        nonlocal scored
        ids = targets.numpy().ravel()
        documents = np.searchsorted(ends, np.arange(scored, scored + len(ids)))  # as many ended before
        sums.add(documents, found.numpy().ravel(), lengths[ids])
        scored += len(ids)

    score_tokens(
        scored_model(run, weights),
        tokens,
        add,
        batch_size=batch_size,
        context_length=context_length,
        byte_lengths=lengths,
        progress=progress,
    )
    return [DocumentScore(index=index, start=int(starts[index]), **fields) for index, fields in sums.fields() if fields]


def evaluate_by_position(
    run: Run,
    source: Source,
    *,
    split: Literal["train", "valid"] = "valid",
    batch_size: int = 32,
    context_length: int | None = None,
    weights: WeightType | None = None,
    progress: Progress | None = None,
) -> list[PositionScore]:
    """The score of each position in the context, from 1 (one token before it) on; arguments as of `evaluate`."""
    tokens, lengths = read_ids(source, split, run.tokenizer), run.tokenizer.byte_lengths()
    sums = _Sums(context_length or run.model.config.context_length)

    def add(targets: Int64[Tensor, "batch seq"], found: Float64[Tensor, "batch seq"]) -> None:
        ids = targets.numpy()
        positions = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
        sums.add(positions.ravel(), found.numpy().ravel(), lengths[ids].ravel())

    score_tokens(
        scored_model(run, weights),
        tokens,
        add,
        batch_size=batch_size,
        context_length=context_length,
        byte_lengths=lengths,
        progress=progress,
    )
    return [PositionScore(first=index + 1, last=index + 1, **fields) for index, fields in sums.fields() if fields]


def total(scores: Iterable[Score]) -> Score:
    """All targets together."""
    num_targets, num_bytes, nats = 0, 0, 0.0
    for score in scores:
        num_targets, num_bytes, nats = num_targets + score.num_targets, num_bytes + score.num_bytes, nats + score.nats
    return Score(num_targets=num_targets, num_bytes=num_bytes, nats=nats)


def by_octave(positions: Sequence[PositionScore]) -> list[PositionScore]:
    """Positions in groups that grow as the distances do: 1, 2, 3 to 4, 5 to 8, ...

    >>> scores = [PositionScore(first=p, last=p, num_targets=1, num_bytes=1, nats=1.0) for p in range(1, 7)]
    >>> [(group.first, group.last, group.nats) for group in by_octave(scores)]
    [(1, 1, 1.0), (2, 2, 1.0), (3, 4, 2.0), (5, 6, 2.0)]
    """
    groups: dict[int, list[PositionScore]] = {}
    for score in positions:
        groups.setdefault((score.last - 1).bit_length(), []).append(score)
    return [PositionScore(first=group[0].first, last=group[-1].last, **vars(total(group))) for group in groups.values()]


def ranked(documents: Iterable[DocumentScore], *, min_targets: int = 1) -> list[DocumentScore]:
    """The documents of at least so many targets, by bits per byte, hardest first; those without bytes are left out.

    A document of a few tokens is at an end of any such list by chance: hence the least length.
    """
    found = [
        (bits, document)
        for document in documents
        if document.num_targets >= min_targets and (bits := document.bits_per_byte) is not None
    ]
    return [document for _, document in sorted(found, key=lambda pair: (-pair[0], pair[1].index))]


def beginning(tokens: Ids, document: DocumentScore, tokenizer: Tokenizer, *, max_tokens: int = 32) -> str:
    """The first text of a document."""
    ids = np.asarray(tokens[document.start : document.start + max_tokens]).tolist()
    end = tokenizer.end_of_text_id
    return tokenizer.decode(ids[: ids.index(end)] if end in ids else ids)


class _Sums:
    """Targets, bytes and nats of `count` groups."""

    def __init__(self, count: int) -> None:
        self._targets = np.zeros(count, np.int64)
        self._bytes = np.zeros(count, np.int64)
        self._nats = np.zeros(count, np.float64)

    def add(self, groups: npt.NDArray[Any], nats: npt.NDArray[Any], num_bytes: npt.NDArray[Any]) -> None:
        """One entry for each target: its group, and what it adds."""
        first = int(groups.min())
        inside = groups - first
        for sums, values in ((self._targets, None), (self._bytes, num_bytes), (self._nats, nats)):
            found = np.bincount(inside, weights=values)
            sums[first : first + len(found)] += found.astype(sums.dtype)

    def fields(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The index of each group, with the fields of its score; none where there is no target."""
        rows = zip(self._targets.tolist(), self._bytes.tolist(), self._nats.tolist(), strict=True)
        for index, (num_targets, num_bytes, nats) in enumerate(rows):
            yield index, {"num_targets": num_targets, "num_bytes": num_bytes, "nats": nats} if num_targets else {}


def _find(tokens: Ids, id: int) -> npt.NDArray[np.int64]:
    """Where the id stands."""
    found = [
        np.flatnonzero(np.asarray(tokens[start : start + _CHUNK_TOKENS]) == id) + start
        for start in range(0, len(tokens), _CHUNK_TOKENS)
    ]
    return np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)
