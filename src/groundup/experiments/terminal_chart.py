"""A curve for the terminal, drawn in Braille characters: each holds two by four dots, so little room shows much."""

import math
from collections.abc import Sequence

from groundup.experiments.axes import tick_text

_BLANK = 0x2800
# The bit of each dot of a Braille character, by row and column from its upper left.
_BITS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


def curve(xs: Sequence[float], ys: Sequence[float], *, width: int, height: int) -> list[str]:
    """`height` lines of `width` characters with the curve, joined between its points, with gaps where it is not finite.

    >>> curve([0.0, 1.0], [0.0, 1.0], width=2, height=1)
    ['⡠⠊']
    """
    points = [(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
    cells = [[_BLANK] * width for _ in range(height)]
    if not points:
        return ["".join(map(chr, line)) for line in cells]
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = min(y for _, y in points), max(y for _, y in points)
    columns, rows = 2 * width - 1, 4 * height - 1

    def place(x: float, y: float) -> tuple[int, int]:
        across = (x - low_x) / (high_x - low_x) if high_x > low_x else 0.0
        down = (high_y - y) / (high_y - low_y) if high_y > low_y else 0.5
        return round(across * columns), round(down * rows)

    last = None
    for x, y in zip(xs, ys, strict=True):
        if not (math.isfinite(x) and math.isfinite(y)):
            last = None
            continue
        column, row = place(x, y)
        for at_column, at_row in _line(last or (column, row), (column, row)):
            cells[at_row // 4][at_column // 2] |= _BITS[at_row % 4][at_column % 2]
        last = (column, row)
    return ["".join(map(chr, line)) for line in cells]


def framed(xs: Sequence[float], ys: Sequence[float], *, width: int, height: int) -> str:
    """The curve with its highest and lowest value to the left, and its last place below; at most `width` wide."""
    finite = [y for y in ys if math.isfinite(y)]
    if not finite:
        return "no loss yet"
    high, low = f"{max(finite):.3f}", f"{min(finite):.3f}"
    margin = max(len(high), len(low)) + 1
    lines = curve(xs, ys, width=max(10, width - margin - 1), height=height)
    names = [high, *[""] * (height - 2), low] if height > 1 else [high]
    rows = [f"{name:>{margin - 1}} │{line}" for name, line in zip(names, lines, strict=True)]
    below = f"{' ' * (margin - 1)} └{tick_text(max(xs))} updates"
    return "\n".join([*rows, below])


def _line(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """The dots from one to another, without a gap."""
    steps = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    return [
        (round(start[0] + (end[0] - start[0]) * step / steps), round(start[1] + (end[1] - start[1]) * step / steps))
        for step in range(steps + 1)
    ]
