"""Several corpora in the shares that are asked for: document by document, without a random number.

The next document comes from the corpus that has the least text so far for its weight, so that at any point the
shares are right to within a document. A corpus that comes to its end before the others starts again, or ends the
mixture. Shares are of the bytes of the training text: how many tokens a byte makes depends on the tokenizer.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from groundup.data.held_out import Part
from groundup.errors import DataError

Reader = Callable[[], Iterator[Part]]
MixUntil = Literal["all", "first"]


@dataclass(frozen=True)
class MixedCorpus:
    """What became of one corpus, as the manifest says it.

    Args:
        source: The path or glob, as it was named.
        weight: As it was asked for.
        passes: How many times it was begun.
        documents, bytes: Of it in the training text, repeated ones each time.
    """

    source: str
    weight: float
    passes: int
    documents: int
    bytes: int


class Mixer:
    """Mixes corpora by weight.

    Args:
        sources: What they are called.
        weights: One for each, in any unit: 3 and 1 are the same as 0.75 and 0.25.
        until: "all" goes on until each corpus was read to its end once; those that end earlier start again.
            "first" stops at the first end, and repeats nothing.

    Raises DataError for weights that are not positive, or not as many as there are corpora.
    """

    def __init__(self, sources: Sequence[str], weights: Sequence[float | int], until: MixUntil = "all") -> None:
        if len(weights) != len(sources):
            raise DataError(
                f"there are {len(weights)} weights for {len(sources)} corpora ({', '.join(sources)}); give one for "
                "each path, a glob being one"
            )
        for weight in weights:
            if not (math.isfinite(weight) and weight > 0):
                raise DataError(f"a weight is {weight}; it must be a positive number, 3 say for three parts")
        if until not in get_args(MixUntil):
            raise DataError(f"mix_until is {until!r}; it must be 'all' or 'first'")
        self._sources = tuple(sources)
        self._weights = tuple(float(weight) for weight in weights)
        self._until = until
        self._begin()

    def _begin(self) -> None:
        count = len(self._sources)
        self._bytes, self._documents, self._passes = [0] * count, [0] * count, [1] * count

    def mix(self, readers: Sequence[Reader]) -> Iterator[Part]:
        """The parts of all corpora, each document's together; held-out ones from the first pass only.

        Raises DataError for a corpus that has no text to train on, which can have no share.
        """
        self._begin()
        streams = [reader() for reader in readers]
        bytes_before = [0] * len(readers)  # those of the passes that are over
        has_ended = [False] * len(readers)
        while True:
            corpus = min(range(len(readers)), key=lambda number: (self._bytes[number] / self._weights[number], number))
            for part in streams[corpus]:
                is_trained_on = part.split == "train"
                if is_trained_on:
                    self._bytes[corpus] += len(part.text)
                    self._documents[corpus] += part.ends_document
                if is_trained_on or not has_ended[corpus]:
                    yield part
                if part.ends_document:
                    break
            else:
                if self._bytes[corpus] == bytes_before[corpus]:
                    raise DataError(
                        f"{self._sources[corpus]} has no text to train on, so that it can have no share of the mixture"
                    )
                has_ended[corpus] = True
                if self._until == "first" or all(has_ended):
                    return
                bytes_before[corpus] = self._bytes[corpus]
                self._passes[corpus] += 1
                streams[corpus] = readers[corpus]()

    def result(self) -> tuple[MixedCorpus, ...]:
        """What the last mixture was made of."""
        columns = zip(self._sources, self._weights, self._passes, self._documents, self._bytes, strict=True)
        return tuple(MixedCorpus(*row) for row in columns)
