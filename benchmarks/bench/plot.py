"""The picture of a result: a bar for each contestant, with the spread of its rounds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

OURS, THEIRS = "#1b6ca8", "#b0b7bf"


def plot_training(record: Mapping[str, Any], path: Path) -> None:
    """Write tokens per second of a result of train.py as a PNG, one panel for each precision."""
    pyplot = _pyplot()
    groups = record["precisions"]
    heights = [len(group["contestants"]) for group in groups.values()]
    figure, axes = pyplot.subplots(
        len(groups),
        1,
        figsize=(8, 1.2 + 0.45 * sum(heights) + 0.6 * len(groups)),
        height_ratios=heights,
        squeeze=False,
        layout="constrained",
    )
    for axis, (precision, group) in zip(axes[:, 0], groups.items(), strict=True):
        ranked = sorted(group["contestants"].items(), key=lambda item: item[1]["tokens_per_s"]["median"])
        medians = [one["tokens_per_s"]["median"] for _, one in ranked]
        below = [one["tokens_per_s"]["median"] - one["tokens_per_s"]["low"] for _, one in ranked]
        above = [one["tokens_per_s"]["high"] - one["tokens_per_s"]["median"] for _, one in ranked]
        colours = [OURS if one["peer"] == "groundup" else THEIRS for _, one in ranked]
        bars = axis.barh([name for name, _ in ranked], medians, color=colours, xerr=(below, above), capsize=3)
        axis.bar_label(bars, [f" {median:,.0f}" for median in medians], label_type="edge", padding=4)
        axis.margins(x=0.15)
        axis.spines[["top", "right"]].set_visible(False)
        ratio = group["ratio"]
        verdict = f"best of ours / best of theirs: {ratio['median']:.2f}" if ratio else "no ratio"
        axis.set_title(f"{precision}   ({verdict})", loc="left", fontsize=10)
    axes[-1, 0].set_xlabel("training step, tokens per second (median and range of the rounds)")
    machine = record["machine"]
    figure.suptitle(f"{machine['processor']}, {record['threads']} threads, {record['date']}", fontsize=10)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def plot_measures(record: Mapping[str, Any], path: Path) -> None:
    """Write a result of tokenizer.py as a PNG: on every line a measure, and how many times better ours is than each.

    A dot is the median of the rounds, its line their range; left of 1 the other is better.
    """
    panels = {name: _compared(group["measures"]) for name, group in record["groups"].items()}
    panels = {name: measures for name, measures in panels.items() if measures}
    if not panels:
        return
    pyplot = _pyplot()
    heights = [len(measures) for measures in panels.values()]
    figure, axes = pyplot.subplots(
        len(panels),
        1,
        figsize=(9, 1.2 + 0.32 * sum(heights) + 0.5 * len(panels)),
        height_ratios=heights,
        sharex=True,
        squeeze=False,
        layout="constrained",
    )
    names = list(dict.fromkeys(name for one in panels.values() for ratios in one.values() for name in ratios))
    colours = {name: f"C{number}" for number, name in enumerate(names)}
    for axis, (group, measures) in zip(axes[:, 0], panels.items(), strict=True):
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
    axes[-1, 0].set_xlabel("times better is groundup (median and range of the rounds, logarithmic)")
    figure.suptitle(
        f"{record['machine']['processor']}, {record['threads']} threads, {record['date']}",
        x=0.01,
        ha="left",
        fontsize=9,
    )
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _compared(outcomes: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {name: outcome["ratios"] for name, outcome in outcomes.items() if outcome["ratios"]}


def _pyplot() -> Any:
    """Matplotlib's pyplot, drawing to files."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot
