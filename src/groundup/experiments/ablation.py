"""An ablation: one part of the base model changed, against the base model, seed by seed.

At the base's own learning rate, which says what the part does for that setting; and, where the change may want
another rate, also at the best rate that a search of its own finds, which says what the part is worth.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groundup.experiments.commentary import along_the_way, compare, divergence
from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Results
from groundup.experiments.tuning import STEP, Tuned

BASE = "base"
_NAME = "changed"


@dataclass(frozen=True)
class Ablation:
    """The base against the base with `settings`.

    Attributes:
        base_label, label: What tables and sentences call the two.
        settings: What is changed, by dotted names.
        is_tuned: Whether the change is also given the best rate of its own; lower ones are tried first.
    """

    base_label: str
    label: str
    settings: Mapping[str, Any]
    is_tuned: bool = False

    def variants(self, lab: Lab, results: Results) -> list[Variant]:
        base = Variant(BASE, self.base_label, {}, lab.num_seeds)
        if not self.is_tuned:
            return [base, Variant(_NAME, self.label, self.settings, lab.num_seeds)]
        rate = lab.base.optimizer.lr
        rates = [float(f"{rate / STEP**steps:.2g}") for steps in (2, 1)]
        tuned = Tuned(_NAME, self.label, self.settings, (*rates, rate), repeated=(rate,))
        return [base, *tuned.variants(lab, results)]

    def comment(self, results: Results) -> list[str]:
        base = results.group(BASE)
        at_old_rate = self._at_old_rate(results)
        if base is None or at_old_rate is None or not base.sound:
            return ["The base itself diverged, so there is nothing to compare with."]
        first = compare(at_old_rate, base)
        if at_old_rate.sound:
            first += " " + along_the_way(at_old_rate, base)
        paragraphs = [f"At the learning rate of the base: {first[:1].lower() + first[1:]}"]
        if self.is_tuned:
            paragraphs.append(self._at_own_rate(results, base, at_old_rate))
        return paragraphs

    def shown(self, results: Results) -> list[Group]:
        """The base, the change at its rate, and at its own best."""
        best = self._tuned().best(results) if self.is_tuned else None
        chosen = [results.group(BASE), self._at_old_rate(results), best]
        return list({group.name: group for group in chosen if group is not None}.values())

    def _at_own_rate(self, results: Results, base: Group, at_old_rate: Group) -> str:
        best = self._tuned().best(results)
        tried = [group.variant.settings["optimizer.lr"] for group in self._tuned().groups(results)]
        listed = ", ".join(f"{rate:g}" for rate in tried)
        if best is None:
            return f"None of the rates {listed} kept it from diverging."
        rate = best.variant.settings["optimizer.lr"]
        if best is at_old_rate:
            return f"Of the rates {listed}, chosen by the loss with seed 0, that of the base is also its own best."
        others = [divergence(group) for group in self._tuned().groups(results) if group is not at_old_rate]
        text = f"Of the rates {listed} its own best, chosen by the loss with seed 0, is {rate:g}. {compare(best, base)}"
        return " ".join([text, *filter(None, others)])

    def _tuned(self) -> Tuned:
        return Tuned(_NAME, self.label, self.settings, ())

    def _at_old_rate(self, results: Results) -> Group | None:
        if not self.is_tuned:
            return results.group(_NAME)
        return results.group(f"{_NAME} lr {results.facts['optimizer']['lr']:g}")
