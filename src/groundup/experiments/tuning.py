"""A learning rate of its own for each thing that is compared: tried with one seed, the best repeated with all.

A comparison at one rate says which variant suits that rate; each at its own best rate says which is better. The
rates are three times apart; where the best one is at an edge, one more is tried beyond it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Results

STEP = 10**0.5
MAX_EXTENSIONS = 2  # rates tried beyond the given ones


@dataclass(frozen=True)
class Tuned:
    """Something that is tried at several learning rates; the best is that with the lowest loss with seed 0.

    Attributes:
        name, label, settings, x: As of a `Variant`, but for the rate.
        rates: Learning rates to begin with.
        repeated: Those of them that get all seeds whatever comes out.
    """

    name: str
    label: str
    settings: Mapping[str, Any]
    rates: Sequence[float]
    x: float | int | None = None
    repeated: Sequence[float] = ()

    def variants(self, lab: Lab, results: Results) -> list[Variant]:
        """One variant a rate. When all have a run, an edge is extended or the best gets the rest of its seeds."""
        known = {_rate(group) for group in self.groups(results)}
        rates = sorted({*self.rates, *known})
        best = self.best(results)
        if known.issuperset(rates) and (further := self._further(rates, best)):
            rates = sorted([*rates, further])
        all_seeds = set(self.repeated)
        if known.issuperset(rates) and best is not None:
            all_seeds.add(_rate(best))
        return [
            Variant(
                name=f"{self.name} lr {rate:g}",
                label=f"{self.label}, learning rate {rate:g}",
                settings={**self.settings, "optimizer.lr": rate},
                num_seeds=lab.num_seeds if rate in all_seeds else 1,
                x=rate if self.x is None else self.x,
            )
            for rate in rates
        ]

    def groups(self, results: Results) -> list[Group]:
        """The results so far of all its rates."""
        return [group for group in results.groups if group.name.startswith(f"{self.name} lr ")]

    def best(self, results: Results) -> Group | None:
        """The rate with the lowest loss with seed 0; None if all diverged with it."""
        first = {group.name: one.loss for group in self.groups(results) for one in group.sound if one.seed == 0}
        name = min(first, key=first.__getitem__, default="")
        return results.group(name)

    def _further(self, rates: Sequence[float], best: Group | None) -> float | None:
        """A rate beyond the edge at which the best one stands, if it does and there may be one more."""
        if len(rates) >= len(self.rates) + MAX_EXTENSIONS:
            return None
        if best is None or _rate(best) == rates[0]:
            return _round(rates[0] / STEP)
        return _round(rates[-1] * STEP) if _rate(best) == rates[-1] else None


def rates_around(rate: float) -> tuple[float, ...]:
    """A rate with one below and one above it.

    >>> rates_around(0.003)
    (0.00095, 0.003, 0.0095)
    """
    return (_round(rate / STEP), _round(rate), _round(rate * STEP))


def _round(rate: float) -> float:
    """Two digits: what a person would type."""
    return float(f"{rate:.2g}")


def _rate(group: Group) -> float:
    return float(group.variant.settings["optimizer.lr"])
