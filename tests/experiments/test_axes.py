"""Tests of groundup.experiments.axes: everything fits, ticks are few and readable."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.experiments.axes import Axis, fit, pushed_apart, tick_text

LOSSES = st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=20)


@given(LOSSES, st.booleans(), st.booleans(), st.booleans())
def test_every_value_has_its_place_between_few_ascending_ticks(values, from_zero, tight, may_log) -> None:
    axis = fit(values, from_zero=from_zero, tight=tight, may_log=may_log)
    assert all(-1e-6 <= axis.place(value) <= 1 + 1e-6 for value in values)
    assert all(-1e-6 <= axis.place(tick) <= 1 + 1e-6 for tick in axis.ticks)
    assert list(axis.ticks) == sorted(set(axis.ticks))
    assert len(axis.ticks) <= 9 or axis.is_log


def test_linear_ticks_are_round_and_the_axis_ends_at_them() -> None:
    axis = fit([0.3, 9.7], from_zero=True)
    assert (axis.low, axis.high) == (0, 10)
    assert axis.ticks == (0, 2, 4, 6, 8, 10)


def test_a_tight_axis_ends_at_the_largest_value() -> None:
    axis = fit([0.0, 4321.0], from_zero=True, tight=True)
    assert axis.high == 4321
    assert axis.ticks == (0, 1000, 2000, 3000, 4000)


def test_logarithmic_only_over_a_factor_of_three_of_positive_values() -> None:
    axis = fit([1.5, 9.5], may_log=True)
    assert axis.is_log
    assert axis.ticks == (1.5, 2, 3, 5, 7, 10)
    assert axis.place(math.sqrt(axis.low * axis.high)) == pytest.approx(0.5)
    assert not fit([1.5, 3.0], may_log=True).is_log
    assert not fit([0.0, 3.0], may_log=True).is_log
    assert not fit([1.5, 9.2]).is_log


@pytest.mark.parametrize("values", [[], [math.nan, math.inf], [2.0], [2.0, 2.0, math.nan], [0.0], [-3.0]])
def test_too_little_to_span_an_axis_still_gives_one(values) -> None:
    for axis in (fit(values), fit(values, from_zero=True), fit(values, from_zero=True, tight=True)):
        assert axis.high > axis.low
        assert axis.ticks


def test_place_is_the_formula() -> None:
    assert Axis(10.0, 30.0, ()).place(15.0) == 0.25
    assert Axis(1.0, 100.0, (), is_log=True).place(10.0) == pytest.approx(0.5)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=4).map(sorted))
def test_labels_are_apart_and_inside(places) -> None:
    moved = pushed_apart(places, 0.2, limit=0.9)
    assert all(after - before >= 0.2 - 1e-9 for before, after in itertools.pairwise(moved))
    assert moved[-1] <= 0.9 + 1e-9


def test_labels_with_room_stay_where_they_are() -> None:
    assert pushed_apart([0.1, 0.5], 0.2) == [0.1, 0.5]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1.5, "1.5"),
        (0.0025, "0.0025"),
        (1500.0, "1,500"),
        (20_000.0, "20 k"),
        (2.5e6, "2.5 M"),
        (3e9, "3 G"),
    ],
)
def test_ticks_are_short(value, text) -> None:
    assert tick_text(value) == text
