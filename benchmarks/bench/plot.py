"""The picture of a result: a bar for each contestant, with the spread of its rounds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

OURS, THEIRS = "#1b6ca8", "#b0b7bf"


def plot_training(record: Mapping[str, Any], path: Path) -> None:
    """Write tokens per second of a result of train.py as a PNG, one panel for each precision."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

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
