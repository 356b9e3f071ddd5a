"""Whether merges are what byte-level BPE learns from a text, whatever is done about ties.

Trainers that break ties differently soon have different merges, and all may be right. What a right one cannot
do is join a pair while another occurs more often; so its merges are carried out on the words of the text, and
the count of every pair is compared with the greatest at that moment.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import regex

from groundup.corpus import END_OF_TEXT
from groundup.tokenizer.bpe import GPT2_PATTERN

Merge = tuple[bytes, bytes]
Pair = tuple[int, int]


def count_words(files: Sequence[Path], *, by_lines: bool) -> Counter[bytes]:
    """The pre-tokens of text files: of each document, or of each line with the separators as text."""
    cut = regex.compile(GPT2_PATTERN).findall
    words: Counter[str] = Counter()
    for path in files:
        with path.open(encoding="utf-8", newline="\n") as file:
            for text in file if by_lines else file.read().split(END_OF_TEXT):
                words.update(cut(text))
    return Counter({word.encode(): count for word, count in words.items()})


def check(words: Mapping[bytes, int], merges: Sequence[Merge], num_merges: int) -> tuple[list[int], str | None]:
    """The count of each pair when it merges, and why these are not the merges of a right trainer (None if they are).

    >>> check({b"aab": 2, b"ab": 3}, [(b"a", b"b"), (b"a", b"ab")], 2)
    ([5, 2], None)
    >>> check({b"aab": 2, b"ab": 3}, [(b"a", b"a"), (b"aa", b"b")], 2)[1]
    "wrong merges: number 0, (b'a', b'a'), is found 2 times, and another pair 5 times"
    """
    counts: list[int] = []
    *replayed, (_, left) = replay(words, [*merges, (b"", b"")])  # one more, to learn what there is to join at the end
    for number, (count, greatest) in enumerate(replayed):
        if count != greatest or not count:
            found = f"number {number:,}, {merges[number]}, is found {count:,} times"
            return counts, f"wrong merges: {found}, and another pair {greatest:,} times"
        counts.append(count)
    right = num_merges if left else min(num_merges, len(merges))
    return counts, None if len(merges) == right else f"wrong merges: {len(merges):,}, not {right:,}"


def replay(words: Mapping[bytes, int], merges: Sequence[Merge]) -> Iterator[tuple[int, int]]:
    """For each merge in turn how often its pair occurs, and how often the most frequent pair does.

    >>> list(replay({b"aab": 2, b"ab": 3}, [(b"a", b"b"), (b"a", b"ab")]))
    [(5, 5), (2, 2)]
    """
    ids = {bytes([byte]): byte for byte in range(256)}
    symbols = [list(word) for word in words]
    amounts = list(words.values())
    counts: Counter[Pair] = Counter()
    where: defaultdict[Pair, set[int]] = defaultdict(set)
    for place, (word, amount) in enumerate(zip(symbols, amounts, strict=True)):
        for pair in pairwise(word):
            counts[pair] += amount
            where[pair].add(place)
    queue = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(queue)
    for left, right in merges:
        merged = (ids.get(left, -1), ids.get(right, -1))
        yield counts[merged], _greatest(queue, counts)
        joined = ids.setdefault(left + right, len(ids))
        grown: set[Pair] = set()
        for place in where.pop(merged, ()):
            for pair in _join(symbols[place], merged, joined, counts, amounts[place]):
                where[pair].add(place)
                grown.add(pair)
        for pair in grown:
            heapq.heappush(queue, (-counts[pair], pair))


def _greatest(queue: list[tuple[int, Pair]], counts: Mapping[Pair, int]) -> int:
    """The greatest count. Entries of the queue may be too great, since counts fall; those are put right on top."""
    while queue:
        count, pair = queue[0]
        if -count == counts[pair]:
            return -count
        heapq.heapreplace(queue, (-counts[pair], pair))
    return 0


def _join(word: list[int], merged: Pair, joined: int, counts: Counter[Pair], amount: int) -> list[Pair]:
    """Join each occurrence of the pair in the word, from the left, and count that; returns the pairs that are new."""
    left, right = merged
    new: list[Pair] = []
    place = 0
    while place < len(word) - 1:
        if word[place] != left or word[place + 1] != right:
            place += 1
            continue
        counts[merged] -= amount
        if place:
            before = word[place - 1]
            counts[before, left] -= amount
            counts[before, joined] += amount
            new.append((before, joined))
        if place + 2 < len(word):
            after = word[place + 2]
            counts[right, after] -= amount
            counts[joined, after] += amount
            new.append((joined, after))
        word[place : place + 2] = [joined]
        place += 1
    return new
