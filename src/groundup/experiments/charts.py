"""Line charts as HTML with inline SVG: crisp at every width, in light and dark, without any library.

The lines are an SVG stretched over the frame, with strokes that keep their width; all text is HTML placed
in percent, so that it stays readable when the page is a phone wide. Colours are classes of report.css.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape

from groundup.experiments.axes import Axis, fit, pushed_apart, tick_text

MAX_POINTS = 400  # of a line: a frame is at most some 500 pixels wide
_GRID = 1000  # the SVG's own units along each side


@dataclass(frozen=True)
class Line:
    """A line: x ascending, y may hold NaN (a gap). `style` is a class of report.css."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str = "plain"
    has_dots: bool = False


@dataclass(frozen=True)
class Mark:
    """A place on the horizontal axis with a word to it."""

    x: float
    text: str


def line_chart(
    lines: Sequence[Line],
    *,
    title: str,
    unit: str,
    x_name: str,
    format_x: Callable[[float], str],
    format_y: Callable[[float], str],
    marks: Sequence[Mark] = (),
    from_zero: bool = False,
    may_log: bool = False,
) -> str:
    """A `<figure>` with the lines, labelled at their ends, over a light grid; "" if nothing can be drawn."""
    lines = [line for line in map(_thinned, lines) if any(map(math.isfinite, line.y))]
    if not lines:
        return ""
    x_axis = fit([x for line in lines for x in line.x], from_zero=True, tight=True)
    y_axis = fit([y for line in lines for y in line.y], from_zero=from_zero, may_log=may_log)
    ends = [_last_finite(line) for line in lines]
    label = f"{title}: " + ", ".join(
        f"{line.name} ends at {format_y(y)}" for line, (_, y) in zip(lines, ends, strict=True)
    )
    parts = [
        _svg(lines, x_axis, y_axis),
        *(_text("tick y", tick_text(tick), top=1 - y_axis.place(tick)) for tick in y_axis.ticks),
        *(_text("tick x", tick_text(tick), left=x_axis.place(tick)) for tick in _spread(x_axis)),
        *(_text("mark", mark.text, left=x_axis.place(mark.x)) for mark in marks if 0 <= mark.x <= x_axis.high),
        *_end_labels(lines, ends, y_axis, format_y),
    ]
    data = {
        "x": x_name,
        "high": x_axis.high,
        "lines": [{"name": line.name, "points": _readable(line, format_x, format_y)} for line in lines],
    }
    scale = f"{unit}, log scale" if y_axis.is_log else unit
    return (
        f'<figure class="chart"><figcaption>{escape(title)} <small>{escape(scale)}</small></figcaption>'
        f'<div class="frame" role="img" aria-label="{escape(label)}" data-chart="{escape(json.dumps(data))}">'
        f'{"".join(parts)}</div><div class="x-name">{escape(x_name)}</div></figure>'
    )


def _svg(lines: Sequence[Line], x_axis: Axis, y_axis: Axis) -> str:
    grid = "".join(f"M0 {_y(tick, y_axis)}H{_GRID}" for tick in y_axis.ticks)
    drawn = [f'<path class="grid" d="{grid}"/>']
    for line in lines:
        drawn.append(f'<path class="line {line.style}" d="{_path(line, x_axis, y_axis)}"/>')
        if line.has_dots or sum(map(math.isfinite, line.y)) == 1:
            drawn.append(f'<path class="dots {line.style}" d="{_dots(line, x_axis, y_axis)}"/>')
    return f'<svg viewBox="0 0 {_GRID} {_GRID}" preserveAspectRatio="none" aria-hidden="true">{"".join(drawn)}</svg>'


def _path(line: Line, x_axis: Axis, y_axis: Axis) -> str:
    """SVG path data; a value that is not finite interrupts the line."""
    commands, pen = [], "M"
    for x, y in zip(line.x, line.y, strict=True):
        if math.isfinite(y):
            commands.append(f"{pen}{_x(x, x_axis)} {_y(y, y_axis)}")
        pen = "L" if math.isfinite(y) else "M"
    return "".join(commands)


def _dots(line: Line, x_axis: Axis, y_axis: Axis) -> str:
    """Strokes of no length: with round ends they stay circles however the SVG is stretched."""
    points = ((x, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y))
    return "".join(f"M{_x(x, x_axis)} {_y(y, y_axis)}h0" for x, y in points)


def _x(value: float, axis: Axis) -> str:
    return f"{axis.place(value) * _GRID:.1f}"


def _y(value: float, axis: Axis) -> str:
    return f"{(1 - axis.place(value)) * _GRID:.1f}"


def _text(style: str, text: str, *, left: float | None = None, top: float | None = None) -> str:
    places = [f"{name}:{100 * at:.2f}%" for name, at in (("left", left), ("top", top)) if at is not None]
    return f'<span class="{style}" style="{";".join(places)}">{escape(text)}</span>'


def _spread(axis: Axis) -> list[float]:
    """The ticks, without one so near the right end that its text would stick out."""
    return [tick for tick in axis.ticks if axis.place(tick) <= 0.97 or tick == axis.high]


def _end_labels(
    lines: Sequence[Line],
    ends: Sequence[tuple[float, float]],
    axis: Axis,
    format_y: Callable[[float], str],
) -> list[str]:
    """Name and last value beside the end of each line, pushed apart where two would overlap.

    The only line of a plain style bears the name of its chart and is not named again.
    """
    order = sorted(range(len(lines)), key=lambda index: -ends[index][1])
    tops = pushed_apart([1 - axis.place(ends[index][1]) for index in order], apart=0.15, limit=0.93)
    labels = []
    for index, top in zip(order, tops, strict=True):
        line, value = lines[index], format_y(ends[index][1])
        text = value if line.style == "plain" else f"{line.name} {value}"
        labels.append(_text(f"end {line.style}", text, top=top))
    return labels


def _readable(
    line: Line, format_x: Callable[[float], str], format_y: Callable[[float], str]
) -> list[tuple[float, str, str]]:
    """Place and texts for the pointer's read-out (report.js)."""
    return [(round(x, 4), format_x(x), format_y(y)) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(y)]


def _last_finite(line: Line) -> tuple[float, float]:
    return next((x, y) for x, y in zip(reversed(line.x), reversed(line.y), strict=True) if math.isfinite(y))


def _thinned(line: Line) -> Line:
    """At most `MAX_POINTS` points: the lowest and the highest of each stretch, so that no spike is lost.

    Points without a place on the horizontal axis are left out.
    """
    placed = [(x, y) for x, y in zip(line.x, line.y, strict=True) if math.isfinite(x)]
    line = replace(line, x=[x for x, _ in placed], y=[y for _, y in placed])
    if len(line.x) <= MAX_POINTS:
        return line
    kept: list[int] = [0]
    stretch = math.ceil((len(line.x) - 2) / (MAX_POINTS // 2 - 1))
    for start in range(1, len(line.x) - 1, stretch):
        inside = range(start, min(start + stretch, len(line.x) - 1))
        finite = [index for index in inside if math.isfinite(line.y[index])] or [start]
        kept += sorted({min(finite, key=line.y.__getitem__), max(finite, key=line.y.__getitem__)})
    kept.append(len(line.x) - 1)
    return replace(line, x=[line.x[i] for i in kept], y=[line.y[i] for i in kept])
