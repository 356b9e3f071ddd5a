"""The schedules at and around the places where they change (case D9), exactly."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.errors import ConfigError
from groundup.optim.schedule import batch_share, cosine_schedule, trapezoid_schedule

RATES = {"max_lr": 3e-3, "min_lr": 3e-4, "warmup_steps": 7, "decay_steps": 21}


def test_start_peak_end_and_after_are_exact():
    assert cosine_schedule(0, **RATES) == 0.0
    assert cosine_schedule(1, **RATES) == 1 / 7 * 3e-3
    assert cosine_schedule(6, **RATES) == 6 / 7 * 3e-3
    assert cosine_schedule(7, **RATES) == 3e-3
    assert cosine_schedule(14, **RATES) == pytest.approx((3e-3 + 3e-4) / 2)
    assert cosine_schedule(21, **RATES) == 3e-4
    assert cosine_schedule(22, **RATES) == 3e-4
    assert cosine_schedule(10**9, **RATES) == 3e-4


def test_the_course_table():
    """max 1, min 0.1, warm-up 7, end 21: the formula of the specification at every step."""
    rates = {"max_lr": 1.0, "min_lr": 0.1, "warmup_steps": 7, "decay_steps": 21}
    for t in range(25):
        if t < 7:
            expected = t / 7
        elif t <= 21:
            expected = 0.1 + (1 + math.cos(math.pi * (t - 7) / 14)) / 2 * 0.9
        else:
            expected = 0.1
        assert cosine_schedule(t, **rates) == pytest.approx(expected, abs=1e-15)


def test_without_warm_up_it_starts_at_the_top():
    assert cosine_schedule(0, **{**RATES, "warmup_steps": 0}) == 3e-3
    assert cosine_schedule(21, **{**RATES, "warmup_steps": 0}) == 3e-4


def test_without_decay_it_falls_right_after_the_peak():
    rates = {**RATES, "decay_steps": 7}
    assert [cosine_schedule(t, **rates) for t in (6, 7, 8)] == [6 / 7 * 3e-3, 3e-3, 3e-4]
    nothing = {**RATES, "warmup_steps": 0, "decay_steps": 0}
    assert [cosine_schedule(t, **nothing) for t in (0, 1)] == [3e-3, 3e-4]


@given(
    warmup=st.integers(0, 50),
    decay=st.integers(0, 50),
    step=st.integers(0, 120),
    rates=st.tuples(st.floats(0, 1), st.floats(0, 1)),
)
def test_it_rises_then_falls_and_stays_within_its_bounds(warmup, decay, step, rates):
    low, high = sorted(rates)
    settings = {"max_lr": high, "min_lr": low, "warmup_steps": warmup, "decay_steps": warmup + decay}
    now, then = cosine_schedule(step, **settings), cosine_schedule(step + 1, **settings)
    margin = 1e-15
    assert -margin <= now <= high + margin
    if step + 1 <= warmup:
        assert now <= then + margin
    else:
        assert then <= now + margin and now >= low - margin


def test_what_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="decay_steps is 6; it must be at least warmup_steps 7"):
        cosine_schedule(0, **{**RATES, "decay_steps": 6})
    with pytest.raises(ConfigError, match="step is -1"):
        cosine_schedule(-1, **RATES)


TRAPEZOID = {"max_lr": 3e-3, "min_lr": 0.0, "warmup_steps": 10, "decay_steps": 100, "cooldown": 0.4}


def test_the_trapezoid_rises_holds_and_comes_down():
    rates = [trapezoid_schedule(step, **TRAPEZOID) for step in range(102)]
    assert rates[:11] == [step / 10 * 3e-3 for step in range(11)]
    assert set(rates[10:61]) == {3e-3}
    assert rates[60:101] == pytest.approx([3e-3 * (100 - step) / 40 for step in range(60, 101)], abs=1e-15)
    assert rates[100:] == [0.0, 0.0]


def test_the_trapezoid_ends_at_its_lowest_rate_and_needs_no_parts():
    assert trapezoid_schedule(100, **{**TRAPEZOID, "min_lr": 1e-4}) == 1e-4
    assert trapezoid_schedule(80, **{**TRAPEZOID, "min_lr": 1e-3}) == pytest.approx(2e-3)
    triangle = {**TRAPEZOID, "cooldown": 1.0}  # no more than what the warm-up leaves
    found = [trapezoid_schedule(step, **triangle) for step in (5, 10, 55, 100)]
    assert found == pytest.approx([1.5e-3, 3e-3, 1.5e-3, 0])
    held = {**TRAPEZOID, "cooldown": 0.0, "warmup_steps": 0}
    assert [trapezoid_schedule(step, **held) for step in (0, 100, 101)] == [3e-3, 3e-3, 0.0]


@given(warmup=st.integers(0, 50), decay=st.integers(0, 50), step=st.integers(0, 120), cooldown=st.floats(0, 1))
def test_the_trapezoid_rises_then_falls_and_stays_within_its_bounds(warmup, decay, step, cooldown):
    steps = {"warmup_steps": warmup, "decay_steps": warmup + decay}
    settings = {**TRAPEZOID, **steps, "min_lr": 1e-4, "cooldown": cooldown}
    now, then = trapezoid_schedule(step, **settings), trapezoid_schedule(step + 1, **settings)
    assert -1e-15 <= now <= 3e-3 + 1e-15
    if step + 1 <= warmup:
        assert now <= then + 1e-15
    else:
        assert then <= now + 1e-15 and now >= 1e-4 - 1e-15


def test_a_trapezoid_that_cannot_be_is_refused():
    with pytest.raises(ConfigError, match="decay_steps is 9; it must be at least warmup_steps 10"):
        trapezoid_schedule(0, **{**TRAPEZOID, "decay_steps": 9})
    with pytest.raises(ConfigError, match=r"cooldown is 1\.5"):
        trapezoid_schedule(0, **{**TRAPEZOID, "cooldown": 1.5})


@given(end=st.integers(1, 1000), ramp=st.floats(0, 1), place=st.integers(0, 1000))
def test_batches_only_grow(end, ramp, place):
    now, then = batch_share(place, end=end, ramp=ramp), batch_share(place + 1, end=end, ramp=ramp)
    assert now in (0.25, 0.5, 1.0) and now <= then
    assert batch_share(end, end=end, ramp=ramp) == 1.0
