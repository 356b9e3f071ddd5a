"""Pictures of a run for documents and slides, by matplotlib: PNG, SVG or PDF by the name of the file.

The page of a run draws its own curves (charts.py) and needs none of this. Colours are two of Okabe and
Ito's, told apart in every common form of colour blindness and in grey; lines are labelled where they end.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from groundup.errors import ConfigError
from groundup.experiments.axes import fit, pushed_apart, tick_text
from groundup.experiments.records import column, number, read_run
from groundup.files import StrPath, open_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Record = Mapping[str, Any]
Count = Literal["step", "seconds", "tokens"]
_TRAIN, _VALID, _SOFT, _GRID = "#d98c00", "#0072b2", "#666666", "#e4e4e4"
_COUNTS: dict[Count, tuple[str, float]] = {
    "step": ("updates", 1.0),
    "seconds": ("training time, minutes", 60.0),
    "tokens": ("tokens, millions", 1e6),
}
_FORMATS = (".png", ".svg", ".pdf")


def save_learning_curve(run_folder: StrPath, path: StrPath) -> Path:
    """Draw the loss of a run over updates and over time, side by side, into a picture; returns its path.

    Raises CheckpointError if the folder holds no run, ConfigError without matplotlib.
    """
    run = read_run(run_folder)
    records = [*run.train, *run.evals, *run.resumed]
    return _draw(records, path, counts=("step", "seconds"), width=10.0)


def loss_curves(metrics: Sequence[Record], path: StrPath, *, x: Count = "step") -> Path:
    """Draw training and validation loss into a picture; returns its path.

    Args:
        metrics: Records of `metrics.jsonl`, of any kinds.
        path: Where to; the suffix (.png, .svg, .pdf) decides the format.
        x: What the horizontal axis counts: updates, seconds (shown as minutes) or tokens (millions).

    Raises ConfigError without matplotlib, or for another suffix or axis.
    """
    if x not in _COUNTS:
        raise ConfigError(f"x is {x!r}; use one of {', '.join(_COUNTS)}")
    return _draw(metrics, path, counts=(x,), width=6.2)


def _draw(metrics: Sequence[Record], path: StrPath, *, counts: Sequence[Count], width: float) -> Path:
    path = Path(path)
    if path.suffix.lower() not in _FORMATS:
        raise ConfigError(f"a picture cannot be written as {path.name!r}; use one of {', '.join(_FORMATS)}")
    try:
        from matplotlib.figure import Figure  # without pyplot: no window system, no global state
    except ImportError:
        raise ConfigError("pictures need matplotlib; pip install 'groundup[plots]'") from None
    figure = Figure(figsize=(width, 3.7), dpi=160, layout="constrained")
    for index, count in enumerate(counts):
        _draw_loss(figure.add_subplot(1, len(counts), index + 1), metrics, count, is_first=index == 0)
    _save(figure, path)
    return path


def _draw_loss(axes: "Axes", metrics: Sequence[Record], x: Count, *, is_first: bool) -> None:
    label, unit = _COUNTS[x]
    placed = [record for record in metrics if math.isfinite(number(record, x))]
    kinds = {kind: [r for r in placed if r.get("kind") == kind] for kind in ("train", "eval", "resumed")}
    ends: list[tuple[float, str, str]] = []
    for kind, name, colour, width in (("train", "training", _TRAIN, 1.0), ("eval", "validation", _VALID, 1.8)):
        xs, ys = [at / unit for at in column(kinds[kind], x)], column(kinds[kind], "loss")
        finite = [y for y in ys if math.isfinite(y)]
        if finite:
            marker = "o" if len(finite) == 1 or (kind == "eval" and len(xs) <= 40) else ""
            axes.plot(xs, ys, color=colour, linewidth=width, marker=marker, markersize=3.5, clip_on=False)
            ends.append((finite[-1], name, colour))
    for at in column(kinds["resumed"], x):
        axes.axvline(at / unit, color=_SOFT, linewidth=0.8, linestyle=(0, (3, 3)), zorder=1)
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "va": "top"}
        axes.annotate("resumed", (at / unit, 1.0), (3, 0), color=_SOFT, fontsize=8, **place)
    _set_axes(axes, label, column([*kinds["train"], *kinds["eval"]], "loss"), is_first=is_first)
    _label_ends(axes, ends)


def _set_axes(axes: "Axes", label: str, values: Sequence[float], *, is_first: bool) -> None:
    """Scale, ticks and a light grid; the same choice of axis as on the page."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = fit(values, may_log=True)
    axes.set_yscale("log" if axis.is_log else "linear")
    axes.set_ylim(axis.low, axis.high)
    axes.set_xlim(0, (axes.dataLim.x1 if axes.lines else 0) or 1)
    axes.yaxis.set_major_locator(FixedLocator(list(axis.ticks)))
    axes.yaxis.set_minor_locator(NullLocator())
    for one in (axes.xaxis, axes.yaxis):
        one.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))
    axes.grid(axis="y", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(_SOFT)
    axes.tick_params(colors=_SOFT, labelsize=9, length=0)
    axes.set_xlabel(label, color=_SOFT, fontsize=9)
    if is_first:
        scale = ", log scale" if axis.is_log else ""
        axes.set_ylabel(f"loss, nats per token{scale}", color=_SOFT, fontsize=9)


def _label_ends(axes: "Axes", ends: Sequence[tuple[float, str, str]]) -> None:
    """Name and last value of each line beside the frame, highest first."""
    ends = sorted(ends, key=lambda end: -end[0])
    to_fraction = axes.transScale.transform
    low, high = (to_fraction((1.0, limit))[1] for limit in axes.get_ylim())
    tops = [1 - (to_fraction((1.0, y))[1] - low) / (high - low) for y, _, _ in ends]
    for (y, name, colour), top in zip(ends, pushed_apart(tops, apart=0.11, limit=0.94), strict=True):
        text = f"{name}\n{y:.2f}"
        axes.annotate(
            text,
            (1.0, 1 - top),
            (6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=9,
            fontweight="bold",
            linespacing=1.1,
        )


def _save(figure: "Figure", path: Path) -> None:
    with open_atomic(path) as file:
        figure.savefig(file, format=path.suffix.lower().removeprefix("."), facecolor="white")
