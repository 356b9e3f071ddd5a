"""Axes of a plot: from a value to its place between 0 and 1, and where to put readable ticks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

_LINEAR_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
# Mantissas for logarithmic ticks, from sparse to dense; the first that gives enough ticks is taken.
_LOG_STEPS = ((1.0,), (1.0, 3.0), (1.0, 2.0, 5.0), (1.0, 1.5, 2.0, 3.0, 5.0, 7.0))


@dataclass(frozen=True)
class Axis:
    """A range of values, linear or logarithmic, with its ticks.

    >>> axis = Axis(0.0, 200.0, ticks=(0.0, 100.0, 200.0))
    >>> axis.place(50.0)
    0.25
    """

    low: float
    high: float
    ticks: tuple[float, ...]
    is_log: bool = False

    def place(self, value: float) -> float:
        """Where `value` lies on the axis: 0 at its low end, 1 at its high end."""
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def fit(values: Iterable[float], *, from_zero: bool = False, tight: bool = False, may_log: bool = False) -> Axis:
    """An axis that holds all finite values.

    Args:
        values: What must fit; others than finite numbers are passed over.
        from_zero: Start at 0, for amounts that are compared by their height.
        tight: End exactly at the largest value (the horizontal axis); otherwise at a tick.
        may_log: Take a logarithmic axis if the values span more than a factor of three.
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    if from_zero:
        low = min(low, 0.0)
    if may_log and low > 0 and high / low > 3:
        return _log_axis(low, high)
    if high - low <= 1e-12 * abs(high):  # one value, or all the same: give it room
        room = abs(high) / 2 or 1.0
        low, high = (low if from_zero or tight else low - room), high + room
    step = _linear_step(high - low)
    if not tight:
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return Axis(low, high, tuple(index * step for index in range(first, last + 1)))


def tick_text(value: float) -> str:
    """A tick as short as it can be written.

    >>> tick_text(1.5), tick_text(2000.0), tick_text(40_000.0), tick_text(2.5e6), tick_text(0.0005)
    ('1.5', '2,000', '40 k', '2.5 M', '0.0005')
    """
    for least, scale, name in ((1e9, 1e9, " G"), (1e6, 1e6, " M"), (1e4, 1e3, " k")):
        if abs(value) >= least:
            return f"{value / scale:g}{name}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def pushed_apart(places: Iterable[float], apart: float, limit: float = 1.0) -> list[float]:
    """Ascending places moved until neighbours are `apart` and none is past `limit`: for labels.

    >>> [round(place, 2) for place in pushed_apart([0.5, 0.9, 0.95], 0.2)]
    [0.5, 0.8, 1.0]
    """
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + apart) if moved else place)
    for index in range(len(moved) - 1, -1, -1):
        moved[index] = min(moved[index], limit)
        limit = moved[index] - apart
    return moved


def _linear_step(span: float, at_most: int = 6) -> float:
    """The smallest readable step that gives at most so many intervals."""
    power = 10.0 ** math.floor(math.log10(span / at_most))
    return next(step * power for step in (*_LINEAR_STEPS, 20.0) if span / (step * power) <= at_most)


def _log_axis(low: float, high: float) -> Axis:
    margin = (high / low) ** 0.06
    low, high = low / margin, high * margin
    ticks: tuple[float, ...] = ()
    for steps in _LOG_STEPS:
        ticks = tuple(
            step * 10.0**power
            for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
            for step in steps
            if low <= step * 10.0**power <= high
        )
        if len(ticks) >= 4:
            break
    return Axis(low, high, ticks, is_log=True)
