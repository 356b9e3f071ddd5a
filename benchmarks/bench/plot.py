"""Pictures of results about the tokenizer, and what all pictures share; those of training: training_plot.py."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.table import significant

OURS, THEIRS = "#1b6ca8", "#b0b7bf"


def plot_measures(record: Mapping[str, Any], path: Path) -> None:
    """Write a result of tokenizer.py as a PNG: on every line a measure, and how many times better ours is than each.

    A dot is the median of the rounds, its line their range; left of 1 the other is better.
    """
    panels = {name: _compared(group["measures"]) for name, group in record["groups"].items()}
    panels = {name: measures for name, measures in panels.items() if measures}
    if not panels:
        return
    pyplot = pyplot_to_file()
    figure, axes = stacked([len(measures) for measures in panels.values()], 0.32, sharex=True)
    names = list(dict.fromkeys(name for one in panels.values() for ratios in one.values() for name in ratios))
    colours = {name: f"C{number}" for number, name in enumerate(names)}
    for axis, (group, measures) in zip(axes, panels.items(), strict=True):
        for line, ratios in enumerate(measures.values()):
            for name, found in ratios.items():
                axis.plot((found["low"], found["high"]), (line, line), color=colours[name], linewidth=2, alpha=0.5)
                axis.plot(found["median"], line, "o", color=colours[name], markersize=6)
        axis.set_yticks(range(len(measures)), list(measures))
        axis.set_ylim(len(measures) - 0.5, -0.5)
        axis.set_xscale("log")
        axis.xaxis.set_major_formatter("{x:g}")
        axis.axvline(1, color=OURS, linewidth=1.5)
        axis.grid(axis="x", which="major", alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_title(group, loc="left", fontsize=10)
    handles = [pyplot.Line2D([], [], marker="o", linestyle="", color=colours[name], label=name) for name in names]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(names), frameon=False)
    axes[-1].set_xlabel("times better is groundup (median and range of the rounds, logarithmic)")
    save(figure, path, f"{record['machine']['processor']}, {record['threads']} threads, {record['date']}")


def plot_ladder(record: Mapping[str, Any], path: Path) -> None:
    """Write a result of ladder.py as a PNG: a bar for each rung, in bytes of text per second, logarithmic.

    What runs in Python is light and hatched, the core is dark, so that print and every eye tell them apart.
    """
    pyplot = pyplot_to_file()
    ladders = record["ladders"]
    figure, axes = stacked([len(ladder["rungs"]) for ladder in ladders.values()], 0.34, sharex=True)
    for axis, (name, ladder) in zip(axes, ladders.items(), strict=True):
        rungs = ladder["rungs"]
        rates = [one["bytes_per_s"] for one in rungs.values()]
        medians = [rate["median"] / 1e6 for rate in rates]
        below = [(rate["median"] - rate["low"]) / 1e6 for rate in rates]
        above = [(rate["high"] - rate["median"]) / 1e6 for rate in rates]
        bars = axis.barh(list(rungs), medians, xerr=(below, above), capsize=2, edgecolor="white", ecolor="#333333")
        for bar, one in zip(bars, rungs.values(), strict=True):
            bar.set_facecolor(THEIRS if one["in_python"] else OURS)
            bar.set_hatch("///" if one["in_python"] else "")
        axis.bar_label(bars, [_rung_label(one) for one in rungs.values()], padding=6, fontsize=9)
        axis.invert_yaxis()
        axis.tick_params(labelbottom=True)
        axis.grid(axis="x", which="major", alpha=0.3)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
        sizes = {f"{one['text_bytes'] / 1e6:g} MB" for one in rungs.values()}
        merges = f", {ladder['num_merges']:,} merges" if "num_merges" in ladder else ""
        axis.set_title(f"{name.split(',')[0]}   (text: {' and '.join(sorted(sizes))}{merges})", loc="left", fontsize=10)
    everything = [one["bytes_per_s"]["median"] / 1e6 for ladder in ladders.values() for one in ladder["rungs"].values()]
    axes[0].set_xscale("log")
    axes[0].set_xlim(min(everything) / 2, max(everything) * 12)  # room for the labels
    axes[0].xaxis.set_major_formatter("{x:g}")
    handles = [
        pyplot.Rectangle((0, 0), 1, 1, facecolor=THEIRS, edgecolor="white", hatch="///", label="Python"),
        pyplot.Rectangle((0, 0), 1, 1, facecolor=OURS, label="native core"),
    ]
    figure.legend(handles=handles, loc="outside lower right", ncols=2, frameon=False)
    axes[-1].set_xlabel(
        "MB of text per second, logarithmic: median and range of the rounds.\n"
        "x: times the rung above it; those called 'again': times 'the same text again'"
    )
    save(figure, path, f"{record['machine']['processor']}, {record['date']}")


def plot_steps(record: Mapping[str, Any], path: Path) -> None:
    """Write a result of step_ladder.py as a PNG: a bar for each rung, in phases, and the time of products alone."""
    pyplot = pyplot_to_file()
    rungs = record["rungs"]
    figure, axis = pyplot.subplots(figsize=(8.5, 1.4 + 0.36 * len(rungs)), layout="constrained")
    ends = [0.0] * len(rungs)
    looks = (("forward", OURS, ""), ("backward", "#7fb0d8", ""), ("update", THEIRS, "///"))
    for phase, colour, hatch in looks:
        lengths = [one["phases"][phase] for one in rungs.values()]
        axis.barh(list(rungs), lengths, left=ends, color=colour, hatch=hatch, edgecolor="white", label=phase)
        ends = [end + length for end, length in zip(ends, lengths, strict=True)]
    for place, (one, end) in enumerate(zip(rungs.values(), ends, strict=True)):
        gain = f", x {significant(one['gain']['median'])}" if one["gain"] else ""
        axis.annotate(
            f"{significant(one['seconds']['median'])} s{gain}",
            (end, place),
            (5, 0),
            fontsize=9,
            va="center",
            textcoords="offset points",
        )
    axis.axvline(record["products"]["median"], color="black", linewidth=1, linestyle="--", label="products alone")
    axis.invert_yaxis()
    axis.set_xlim(0, max(ends) * 1.18)
    axis.set_xlabel("seconds for an update (medians); x: times as fast as the rung above")
    axis.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper right", ncols=4, frameon=False, fontsize=9)
    tokens = (
        f"{record['batch_size']} x {record['shape']['context_length']} tokens, float32, {record['threads']} threads"
    )
    save(figure, path, f"{record['machine']['processor']}, {tokens}")


def plot_neighbours(record: Mapping[str, Any], path: Path) -> None:
    """Write a result of planner.py as a PNG: for each choice its values, by how much their loss is off the plan's."""
    pyplot = pyplot_to_file()
    base, *others = record["runs"]
    figure, axis = pyplot.subplots(figsize=(8, 1.4 + 0.3 * len(others)), layout="constrained")
    names = [f"{run['choice']} {run['value']}" for run in others]
    changes = [100 * (run["bits_per_byte"] / base["bits_per_byte"] - 1) for run in others]
    colours = [THEIRS if change >= 0 else OURS for change in changes]
    bars = axis.barh(names, changes, color=colours)
    axis.bar_label(bars, [f" {change:+.1f} %" for change in changes], padding=4)
    axis.axvline(0, color="black", linewidth=0.8)
    axis.invert_yaxis()
    axis.margins(x=0.2)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlabel("bits per byte, against the plan (right: the plan is better)")
    text = f"{', '.join(record['corpus'])}, {record['seconds']:.0f} s, plan {base['bits_per_byte']:.3f} bits per byte"
    save(figure, path, f"{text}, {record['date']}")


def plot_curves(record: Mapping[str, Any], path: Path) -> None:
    """Write a result of curves.py as a PNG: the loss curves, and below how far each fast path is from the reference."""
    pyplot = pyplot_to_file()
    figure, (upper, lower) = pyplot.subplots(
        2, 1, figsize=(8, 6), sharex=True, height_ratios=(3, 2), layout="constrained"
    )
    reference, *paths = record["curves"]
    updates = range(1, record["num_steps"] + 1)
    upper.plot(updates, record["curves"][reference], color=THEIRS, linewidth=5, label=reference)
    for name, colour, line in zip(paths, (OURS, "#c0561b"), ("-", "--"), strict=True):
        losses, tolerance = record["curves"][name], record["differences"][name]["tolerance"]
        upper.plot(updates, losses, line, color=colour, linewidth=1.3, label=name)
        gaps = [abs(one - other) for one, other in zip(losses, record["curves"][reference], strict=True)]
        lower.semilogy(updates, [max(gap, 1e-8) for gap in gaps], line, color=colour, linewidth=1)
        lower.axhline(tolerance, color=colour, linewidth=0.8, linestyle=":")
    upper.set_ylabel("loss of the batch, nats per token")
    lower.set_ylabel("distance from the reference\n(dotted: allowed)")
    lower.set_xlabel("update")
    upper.legend(frameon=False)
    for axis in (upper, lower):
        axis.spines[["top", "right"]].set_visible(False)
    save(figure, path, f"{record['title']}; {record['machine']['processor']}, {record['date']}")


def stacked(lines: Sequence[int], line_inches: float, *, sharex: bool = False) -> tuple[Any, list[Any]]:
    """A figure and its panels, one below the other, with room for so many bars or lines in each."""
    figure, axes = pyplot_to_file().subplots(
        len(lines),
        1,
        figsize=(9, 1.2 + line_inches * sum(lines) + 0.6 * len(lines)),
        height_ratios=lines,
        sharex=sharex,
        squeeze=False,
        layout="constrained",
    )
    return figure, list(axes[:, 0])


def save(figure: Any, path: Path, title: str) -> None:
    """Write the figure as a PNG, with what was measured and where above it, and let go of it."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=9)
    figure.savefig(path, dpi=150)
    pyplot_to_file().close(figure)


def pyplot_to_file() -> Any:
    """Matplotlib's pyplot, drawing to files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _rung_label(rung: Mapping[str, Any]) -> str:
    gain = f"   x {significant(rung['gain']['median'])}" if rung["gain"] else ""
    return f"{significant(rung['bytes_per_s']['median'] / 1e6)}{gain}"


def _compared(outcomes: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {name: outcome["ratios"] for name, outcome in outcomes.items() if outcome["ratios"]}
