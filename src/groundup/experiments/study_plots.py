"""Pictures of an experiment, by matplotlib: learning curves of all variants, and the loss against what was varied.

The eight colours are Okabe and Ito's, told apart in every common form of colour blindness; each comes with a dash and
a marker of its own, so that the lines are told apart in a black and white print as well. PNG for the page and SVG for
print, equal bytes for equal results.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from groundup.errors import ConfigError
from groundup.experiments.axes import fit, tick_text
from groundup.experiments.commentary import mean_curve
from groundup.experiments.outcome import Group, Results
from groundup.experiments.records import number
from groundup.experiments.study import Study
from groundup.files import open_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Count = Literal["step", "tokens", "seconds"]
Curve = tuple[str, Sequence[float], Sequence[float]]  # name, places, values
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#b5a800")
DASHES = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (6, 2, 1.5, 2)), (0, (9, 3)), (0, (1, 1)), (0, (4, 1, 1, 1, 1, 1)), "-")
MARKERS = "osD^vPX*"
_X_NAMES: dict[Count, tuple[str, float]] = {
    "step": ("updates", 1.0),
    "tokens": ("tokens, millions", 1e6),
    "seconds": ("training time, minutes", 60.0),
}
_LOSS = "validation loss, nats per token"
_SOFT, _GRID = "#555555", "#e4e4e4"


def draw_study(study: Study, results: Results, folder: Path) -> list[tuple[str, str]]:
    """Write all pictures of a study into the folder; returns (name without suffix, caption) of each.

    Raises ConfigError without matplotlib.
    """
    drawn = []
    shown = [group for group in (study.shown(results) if study.shown else results.groups) if group.outcomes]
    if shown:
        seeds = " Lines are means over seeds, thin lines single seeds." if _has_seeds(shown) else ""
        caption = f"Validation loss on the way, over {_X_NAMES[study.curve_x][0].split(',')[0]} and over time.{seeds}"
        if any(group.num_diverged for group in shown):
            caption += " Runs that diverged are dotted, with crosses, up to where the picture ends."
        save(lambda figure: _draw_curves(figure, shown, study.curve_x), folder / "curves", size=(10.0, 4.2))
        drawn.append(("curves", caption))
    if study.x_name and results.groups:
        caption = f"Validation loss at the end against the {study.x_name}."
        caption += " Bars are one standard deviation over seeds, dots single runs" + (
            ", crosses at the top runs that diverged." if any(g.num_diverged for g in results.groups) else "."
        )
        save(lambda figure: _draw_against(figure, study, shown, results.groups), folder / "loss", size=(6.6, 4.2))
        drawn.append(("loss", caption))
    for picture in study.pictures:
        save(lambda figure, picture=picture: picture.draw(figure, results), folder / picture.name, size=(6.6, 4.2))
        drawn.append((picture.name, picture.caption))
    return drawn


def compare_curves(curves: Sequence[Curve], path: Path) -> Path:
    """Draw named curves of (updates, loss) into one picture; the suffix decides the format."""
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ConfigError(f"a picture cannot be written as {path.name!r}; use .png, .svg or .pdf")

    def draw(figure: "Figure") -> None:
        axes = new_axes(figure, x_name="updates", y_name=_LOSS)
        draw_lines(axes, curves)
        _fit_losses(axes, (y for _, _, ys in curves for y in ys))

    save(draw, path.with_suffix(""), size=(7.0, 4.4), suffixes=(path.suffix.lower(),))
    return path


def save(
    draw: "Callable[[Figure], None]",
    path: Path,
    *,
    size: tuple[float, float],
    suffixes: Sequence[str] = (".png", ".svg"),
) -> None:
    """Draw a figure and write it as `path` with each suffix. Equal drawings give equal files."""
    try:
        import matplotlib
        from matplotlib.figure import Figure  # without pyplot: no window system, no global state
    except ImportError:
        raise ConfigError("pictures need matplotlib; pip install 'groundup[plots]'") from None
    with matplotlib.rc_context({"svg.hashsalt": "groundup"}):
        figure = Figure(figsize=size, dpi=150, layout="constrained")
        draw(figure)
        for suffix in suffixes:
            metadata: Any = {"Date": None} if suffix == ".svg" else None
            with open_atomic(path.with_name(path.name + suffix)) as file:
                figure.savefig(file, format=suffix.removeprefix("."), facecolor="white", metadata=metadata)


def new_axes(figure: "Figure", *, x_name: str, y_name: str, place: tuple[int, int, int] = (1, 1, 1)) -> "Axes":
    """Axes with a light grid and without a frame."""
    axes = figure.add_subplot(*place)
    axes.grid(color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(_SOFT)
    axes.tick_params(colors=_SOFT, labelsize=9, length=3)
    axes.set_xlabel(x_name, color=_SOFT, fontsize=9)
    axes.set_ylabel(y_name, color=_SOFT, fontsize=9)
    return axes


def draw_lines(axes: "Axes", curves: Iterable[Curve]) -> None:
    """One line a curve in the colour, dash and marker of its number, and a legend."""
    for index, (name, xs, ys) in enumerate(curves):
        axes.plot(xs, ys, label=name, **style(index, len(xs)))
    axes.legend(fontsize=8, frameon=False)


def style(index: int, num_points: int = 1) -> dict[str, Any]:
    """Colour, dash and marker of line number `index`; at most some ten markers a line."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)],
        "markevery": max(1, num_points // 10),
        "markersize": 4.5,
        "linewidth": 1.6,
    }


def _draw_curves(figure: "Figure", groups: Sequence[Group], x: Count) -> None:
    """Two panels of the same losses: over updates or tokens, and over time; one legend beside them."""
    panels: tuple[tuple[int, Count], ...] = ((1, x), (2, "seconds"))
    for place, count in panels:
        name, unit = _X_NAMES[count]
        if count == "seconds" and max(one.seconds for group in groups for one in group.outcomes) < 120:
            name, unit = "training time, seconds", 1.0
        axes = new_axes(figure, x_name=name, y_name=_LOSS if place == 1 else "", place=(1, 2, place))
        for index, group in enumerate(groups):
            _draw_group(axes, group, index, count, unit)
        sound = [loss for group in groups for loss in mean_curve(group).values()]
        _fit_losses(axes, sound)
        axes.set_xlim(left=0)
        axes.xaxis.set_major_formatter(lambda value, _: tick_text(value))
        if place == 1:
            figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=8, frameon=False)


def _draw_group(axes: "Axes", group: Group, index: int, count: Count, unit: float) -> None:
    look = style(index)
    for outcome in group.outcomes:
        evals = [record for record in outcome.records if record["kind"] == "eval"]
        xs, ys = [number(record, count) / unit for record in evals], [number(record, "loss") for record in evals]
        if outcome.diverged:
            axes.plot(xs, ys, color=look["color"], linestyle=":", marker="x", markersize=5, linewidth=1.0)
        elif len(group.outcomes) > 1:
            axes.plot(xs, ys, color=look["color"], linewidth=0.5, alpha=0.6)
    curve = mean_curve(group, count)
    name = group.label + (f" ({group.num_diverged} of {len(group.outcomes)} diverged)" if group.num_diverged else "")
    if not curve:
        look |= {"linestyle": ":", "marker": "x", "linewidth": 1.0}
    axes.plot([at / unit for at in curve], list(curve.values()), label=name, **look)


def _draw_against(figure: "Figure", study: Study, shown: Sequence[Group], groups: Sequence[Group]) -> None:
    axes = new_axes(figure, x_name=f"{study.x_name} (log scale)", y_name=_LOSS)
    axes.set_xscale("log")
    line = sorted((g for g in shown if g.sound and g.variant.x is not None), key=lambda g: float(g.variant.x or 0))
    look = {key: value for key, value in style(0).items() if key != "markevery"}
    axes.errorbar(
        [float(group.variant.x or 0) for group in line],
        [group.loss for group in line],
        yerr=[group.spread if math.isfinite(group.spread) else 0.0 for group in line],
        capsize=3,
        **look,
    )
    for group in groups:
        places = [float(group.variant.x or 0)] * len(group.sound)
        axes.plot(places, group.losses, "o", color=COLOURS[1], markersize=3, alpha=0.7, zorder=3)
    ends = [group.loss + sign * group.spread for group in line for sign in (-1, 1)]
    _fit_losses(axes, [*ends, *(loss for group in groups for loss in group.losses)])
    broken = [float(group.variant.x or 0) for group in groups if group.num_diverged]
    axes.plot(
        broken, [0.98] * len(broken), "x", color=COLOURS[6], markersize=8, markeredgewidth=2,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip
    for at in broken:
        place = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
        axes.annotate("diverged", (at, 0.98), (0, -16), ha="center", color=COLOURS[6], fontsize=8, **place)
    ticks = sorted({float(group.variant.x or 0) for group in groups if group.variant.x})
    if len(ticks) <= 8:
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
        axes.minorticks_off()


def _fit_losses(axes: "Axes", losses: Iterable[float]) -> None:
    """The vertical axis holds all finite losses, logarithmic if they span much; what diverges leaves the picture."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = fit(losses, may_log=True)
    axes.set_yscale("log" if axis.is_log else "linear")
    axes.set_ylim(axis.low, axis.high)
    axes.yaxis.set_major_locator(FixedLocator(list(axis.ticks)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value)))


def _has_seeds(groups: Sequence[Group]) -> bool:
    return any(len(group.outcomes) > 1 for group in groups)
