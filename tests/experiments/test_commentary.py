"""Tests of groundup.experiments.commentary: no sentence claims what the numbers do not carry."""

import math

import pytest
from experiments.labs import group, outcome

from groundup.experiments.commentary import along_the_way, best_of, compare, difference, divergence, quoted
from groundup.experiments.lab import Variant
from groundup.experiments.outcome import Group


def test_a_difference_beyond_its_spread_is_called_one() -> None:
    a, b = group("a", [2.3, 2.41, 2.5]), group("b", [2.0, 2.1, 2.2])
    assert difference(a, b).mean == pytest.approx(0.3033333)
    assert compare(a, b).startswith("A ends 0.303 ± 0.006 nats per token higher than b")
    assert "lower than a" in compare(b, a)


def test_pairs_that_disagree_or_differ_widely_are_not() -> None:
    b = group("b", [2.0, 2.1, 2.2])
    for losses in ([2.1, 2.0, 2.4], [2.01, 2.11, 2.9]):
        assert "cannot be told apart" in compare(group("a", losses), b)


def test_seeds_are_compared_in_pairs() -> None:
    """The spread of each is far larger than the difference, and the difference is clear all the same."""
    assert "higher" in compare(group("a", [1.01, 2.01, 3.011]), group("b", [1.0, 2.0, 3.0]))


def test_one_pair_makes_no_claim() -> None:
    assert "cannot tell how much of that is chance" in compare(group("a", [3.0]), group("b", [2.0, 2.1]))


def test_divergence_is_said_and_left_out() -> None:
    a, b = group("a", [2.0, math.nan, 2.2]), group("b", [1.0, 1.1, 1.2])
    assert "1 of 3 runs with a diverged; it is left out" in compare(a, b)
    assert difference(a, b).values == pytest.approx((1.0, 1.0))
    none = group("none", [math.nan, math.nan])
    assert compare(none, b) == "Both runs with none diverged (its loss was not finite)."
    assert divergence(b) == ""
    assert best_of([none, b, a]) is b
    assert best_of([none]) is None


def with_curves(label: str, *curves: list[float]) -> Group:
    outcomes = tuple(outcome(seed, curve[-1], curve=curve) for seed, curve in enumerate(curves))
    return Group(Variant(label, label, {}, len(outcomes)), outcomes)


def test_curves_are_compared_by_their_means() -> None:
    b = with_curves("b", [5.0, 4.0, 3.0], [5.2, 4.2, 3.2])
    above = with_curves("a", [6.0, 5.0, 4.0], [5.1, 4.1, 3.1])
    assert along_the_way(above, b) == "Its curve lies above that of b at all 3 validation passes."
    crossing = with_curves("a", [6.0, 4.5, 2.0])
    assert "cross: that of a lies above that of b at 2 of 3" in along_the_way(crossing, b)


def test_a_text_is_shown_as_it_is() -> None:
    assert quoted("# no *heading*\n\n" + "word " * 30).splitlines()[:3] == ["~~~~text", "# no *heading*", ""]
