"""The rungs of training: from counting everything anew after each merge to the native core.

The first and the third exist only here, as the steps that lie between a definition and reference.py, and between
reference.py and the core. Lesson: docs/lessons/tokenizer.md.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from groundup import _native
from groundup.tokenizer.reference import Pair, count_words, learn_merges, merge_pair, pre_tokenize


@dataclass(frozen=True)
class TrainingRung:
    """`learn(text, num_merges)` returns the merges; `adds` says what is new."""

    adds: str
    learn: Callable[[str, int], list[Pair]]
    in_python: bool = True


def learn_from_text(text: str, num_merges: int) -> list[Pair]:
    """The merges by their definition: all pairs of the text are counted anew for each.

    >>> learn_from_text("low low lower newest newest", 3)
    [(b'w', b'e'), (b'l', b'o'), (b'we', b's')]
    """
    words = [tuple(bytes([byte]) for byte in word.encode()) for word in pre_tokenize(text)]
    merges: list[Pair] = []
    while len(merges) < num_merges:
        counts = Counter(pair for word in words for pair in pairwise(word))
        if not counts:
            break
        merges.append(max(counts, key=lambda pair: (counts[pair], pair)))
        words = [merge_pair(word, merges[-1]) if merges[-1][0] in word else word for word in words]
    return merges


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair in the queue with the count it had then. The one that is merged first is the least."""

    count: int
    pair: Pair

    def __lt__(self, other: "Candidate") -> bool:
        return (self.count, self.pair) > (other.count, other.pair)


def learn_with_index(word_counts: Mapping[bytes, int], num_merges: int) -> list[Pair]:
    """As reference.py's `learn_merges`, but a merge visits only the words that hold its pair.

    Kept up to date: the count of each pair, the words it has been in, and a queue. An entry of the queue may be
    outdated; then it goes back with the true count when it is met.

    >>> learn_with_index({b"low": 5, b"lower": 2, b"widest": 3, b"newest": 6}, 3)
    [(b's', b't'), (b'e', b'st'), (b'o', b'w')]
    """
    words = [tuple(bytes([byte]) for byte in word) for word in word_counts]
    often = list(word_counts.values())
    counts: Counter[Pair] = Counter()
    places: defaultdict[Pair, set[int]] = defaultdict(set)
    for place, word in enumerate(words):
        for pair in pairwise(word):
            counts[pair] += often[place]
            places[pair].add(place)
    queue = [Candidate(count, pair) for pair, count in counts.items()]
    heapq.heapify(queue)
    merges: list[Pair] = []
    while queue and len(merges) < num_merges:
        best = heapq.heappop(queue)
        if counts[best.pair] != best.count:
            if 0 < counts[best.pair] < best.count:
                heapq.heappush(queue, Candidate(counts[best.pair], best.pair))
            continue
        merges.append(best.pair)
        made: set[Pair] = set()
        for place in places.pop(best.pair):
            for pair in pairwise(words[place]):
                counts[pair] -= often[place]
            words[place] = merge_pair(words[place], best.pair)
            for pair in pairwise(words[place]):
                counts[pair] += often[place]
                places[pair].add(place)
                if b"".join(best.pair) in pair:
                    made.add(pair)
        for pair in made:
            heapq.heappush(queue, Candidate(counts[pair], pair))
    return merges


def learn_in_core(text: str, num_merges: int, num_threads: int) -> list[Pair]:
    """By the native core."""
    counter = _native.WordCounter([])
    counter.add_text(text.encode(), num_threads)
    return counter.train(num_merges)


RUNGS_OF_TRAINING = {
    "all pairs of the text": TrainingRung("counts the whole text for each merge", learn_from_text),
    "reference.py": TrainingRung("counts distinct words", lambda text, n: learn_merges(count_words(text), n)),
    "an index and a queue": TrainingRung(
        "visits the words that hold the pair", lambda text, n: learn_with_index(count_words(text), n)
    ),
    "core": TrainingRung("C++", lambda text, n: learn_in_core(text, n, 1), in_python=False),
    "core, two threads": TrainingRung(
        "counts in two threads", lambda text, n: learn_in_core(text, n, 2), in_python=False
    ),
}
SLOW_RUNGS = ("all pairs of the text", "reference.py")  # left out where the vocabulary is large
