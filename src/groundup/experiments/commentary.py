"""Sentences about results that say what the numbers carry, and no more.

Runs of two variants with the same seed saw the same batches in the same order, so they are compared in pairs. A
difference is called one only if every pair agrees on its sign and its mean is larger than its standard deviation.
"""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from groundup.experiments.outcome import Group, mean, spread
from groundup.experiments.records import number


@dataclass(frozen=True)
class Difference:
    """Validation loss of one variant minus that of another, seed by seed, in nats per token."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return mean(self.values)

    @property
    def spread(self) -> float:
        return spread(self.values)

    @property
    def is_clear(self) -> bool:
        """Whether all pairs agree on the sign and the mean is larger than the standard deviation.

        >>> Difference((0.1, 0.12, 0.11)).is_clear, Difference((0.1, -0.02, 0.2)).is_clear, Difference((0.1,)).is_clear
        (True, False, False)
        """
        agreed = all(value > 0 for value in self.values) or all(value < 0 for value in self.values)
        return len(self.values) > 1 and agreed and abs(self.mean) > self.spread


def difference(a: Group, b: Group) -> Difference:
    """The loss of `a` minus that of `b` for each seed with which neither diverged."""
    others = {outcome.seed: outcome.loss for outcome in b.sound}
    return Difference(tuple(one.loss - others[one.seed] for one in a.sound if one.seed in others))


def compare(a: Group, b: Group) -> str:
    """One or two sentences on how the loss of `a` stands to that of `b`."""
    notes = [note for group in (a, b) if (note := divergence(group))]
    found = difference(a, b)
    if not found.values:
        return " ".join(notes) or f"{_start(a)} and {b.label} have no seed in common, so nothing is compared."
    return " ".join([_difference(a, b, found), *notes])


def along_the_way(a: Group, b: Group) -> str:
    """A sentence on where the validation curves of two variants, each the mean over its seeds, lie to each other."""
    ours, theirs = mean_curve(a), mean_curve(b)
    steps = [step for step in ours if step in theirs]
    if not steps:
        return ""
    above = [step for step in steps if ours[step] > theirs[step]]
    if len(above) in (0, len(steps)):
        where = "above" if above else "below"
        return f"Its curve lies {where} that of {b.label} at all {len(steps)} validation passes."
    return (
        f"The curves cross: that of {a.label} lies above that of {b.label} at {len(above)} of {len(steps)} validation "
        "passes."
    )


def mean_curve(group: Group, key: str = "step") -> dict[float, float]:
    """Validation loss by step (or tokens, or seconds): the mean over the sound runs, where all have a pass.

    Passes are matched by their number in the run, so that a mean of times stands under a mean of losses.
    """
    curves = [
        [(number(record, key), number(record, "loss")) for record in one.records if record["kind"] == "eval"]
        for one in group.sound
    ]
    return {mean([x for x, _ in points]): mean([y for _, y in points]) for points in zip(*curves, strict=False)}


def divergence(group: Group) -> str:
    """A sentence if runs of the group diverged, else nothing."""
    if not group.num_diverged:
        return ""
    if not group.sound:
        number = len(group.outcomes)
        runs = {1: "The only run", 2: "Both runs"}.get(number, f"All {number} runs")
        return f"{runs} with {group.label} diverged ({group.outcomes[0].diverged})."
    left = "it is" if group.num_diverged == 1 else "they are"
    return (
        f"{group.num_diverged} of {len(group.outcomes)} runs with {group.label} diverged; {left} left out of its mean."
    )


def best_of(groups: Sequence[Group]) -> Group | None:
    """The group with the lowest mean loss; groups without a sound run are passed over."""
    return min((group for group in groups if group.sound), key=lambda group: group.loss, default=None)


def with_spread(value: float, deviation: float, digits: int = 3) -> str:
    """A mean with its standard deviation, where there is one.

    >>> with_spread(1.2345, 0.0123), with_spread(1.2345, float("nan"))
    ('1.234 ± 0.012', '1.234')
    """
    if not math.isfinite(value):
        return "–"
    return f"{value:.{digits}f} ± {deviation:.{digits}f}" if math.isfinite(deviation) else f"{value:.{digits}f}"


def count_of(number: int, thing: str) -> str:
    """`3 seeds`, `1 seed`."""
    return f"{number} {thing}{'s' * (number != 1)}"


def quoted(text: str) -> str:
    """A text that a model wrote, for a page: as it is, line by line, with long lines wrapped."""
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, 100) or [""]]
    return "\n".join(["~~~~text", *lines, "~~~~"])


def _difference(a: Group, b: Group, found: Difference) -> str:
    amount = with_spread(abs(found.mean), found.spread)
    if len(found.values) == 1:
        word = "higher" if found.mean > 0 else "lower"
        return (
            f"With one seed each, {a.label} ends {amount} nats per token {word} than {b.label}; one pair cannot "
            "tell how much of that is chance."
        )
    seeds = count_of(len(found.values), "seed")
    if found.is_clear:
        word = "higher" if found.mean > 0 else "lower"
        return (
            f"{_start(a)} ends {amount} nats per token {word} than {b.label} (mean and standard deviation of the "
            f"differences, pair by pair over {seeds}, all with this sign)."
        )
    return (
        f"{_start(a)} and {b.label} cannot be told apart here: the differences over {seeds} are "
        f"{with_spread(found.mean, found.spread)} nats per token, which does not stand out from their spread."
    )


def _start(group: Group) -> str:
    return group.label[:1].upper() + group.label[1:]
