"""Interleaved measuring and what may be said of the numbers: medians, spreads, ratios.

A machine has slow minutes. So every round measures everyone once, in an order that turns, and a ratio is
taken within each round before the median is taken over the rounds.
"""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class Summary:
    """The median of several measurements, the lowest and the highest."""

    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """Highest less lowest, as a fraction of the median."""
        return (self.high - self.low) / self.median


def summarise(values: Sequence[float]) -> Summary:
    """Their median and range.

    >>> summarise([3.0, 1.0, 2.0])
    Summary(median=2.0, low=1.0, high=3.0)
    """
    return Summary(statistics.median(values), min(values), max(values))


def interleave(
    names: Sequence[str], measure: Callable[[str], Value], rounds: int, note: Callable[[int], None] = lambda _: None
) -> dict[str, list[Value]]:
    """One value of `measure(name)` per round for each name; each round begins with the next name in turn.

    `note` is called with the number of each round before it begins.
    """
    values: dict[str, list[Value]] = {name: [] for name in names}
    for number in range(rounds):
        note(number)
        start = number % max(len(names), 1)
        for name in [*names[start:], *names[:start]]:
            values[name].append(measure(name))
    return values


def best_of(values: Mapping[str, Sequence[float]], *, highest: bool = True) -> str | None:
    """The name with the highest median, or the lowest; None of none."""
    sign = 1 if highest else -1
    return max(values, key=lambda name: sign * statistics.median(values[name]), default=None)


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> Summary:
    """How many times theirs ours is, round by round.

    >>> ratio([2.0, 4.0, 9.0], [1.0, 2.0, 3.0])
    Summary(median=2.0, low=2.0, high=3.0)
    """
    return summarise([our / their for our, their in zip(ours, theirs, strict=True)])
