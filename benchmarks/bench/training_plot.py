"""Pictures of training: bars for a contest of training steps, lines for a sweep of them, curves for the race.

Colours are those of Okabe and Ito, which every eye tells apart; markers and hatches say the same without colour.
"""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.plot import pyplot_to_file, save, stacked
from bench.training_table import sides_of

OURS, READABLE = "#0072b2", "#56b4e9"
OTHERS = ("#d55e00", "#009e73", "#cc79a7", "#e69f00")
MARKERS = ("s", "^", "D", "v")


def plot_training(record: Mapping[str, Any], path: Path) -> None:
    """Write a result of train.py as a PNG: for each precision a bar of tokens per second for everyone in the rounds."""
    groups = {precision: group for precision, group in record["precisions"].items() if any(group["best"].values())}
    if not groups:
        return
    ranked = {
        precision: sorted(
            (item for item in group["contestants"].items() if "tokens_per_s" in item[1]),
            key=lambda item: item[1]["tokens_per_s"]["median"],
        )
        for precision, group in groups.items()
    }
    figure, axes = stacked([len(bars) for bars in ranked.values()], 0.45)
    for axis, (precision, group) in zip(axes, groups.items(), strict=True):
        looks = looks_of(list(group["best"]))
        for name, one in ranked[precision]:
            rate = one["tokens_per_s"]
            spread = ([rate["median"] - rate["low"]], [rate["high"] - rate["median"]])
            colour, _ = looks[one["side"]]
            hatch = "" if one["side"] == "groundup" else "//"
            bar = axis.barh(
                name, rate["median"], color=colour, edgecolor="white", hatch=hatch, xerr=spread, ecolor="#333333"
            )
            peak = "" if one["peak_bytes"] is None else f", {one['peak_bytes'] / 1e9:.1f} GB"
            label = f" {rate['median']:,.0f}  ({one['utilisation']['median']:.0%}{peak})"
            axis.bar_label(bar, [label], padding=5, fontsize=9)
        axis.set_xlim(0, 1.4 * max(one["tokens_per_s"]["high"] for _, one in ranked[precision]))
        axis.spines[["top", "right"]].set_visible(False)
        ratio = group["ratio"]
        verdict = f"ours / {group['strongest']}: {ratio['median']:.2f}" if ratio else "no ratio"
        axis.set_title(f"{precision}   ({verdict})", loc="left", fontsize=10)
    axes[-1].set_xlabel(
        "training step, tokens per second: median and range of the rounds\n"
        "(in brackets: part of the fastest matrix product's rate, peak memory)"
    )
    _save(figure, record, path)


def plot_sweep(record: Mapping[str, Any], path: Path) -> None:
    """Write a sweep of train.py as a PNG: tokens per second and peak memory of each side against what was varied."""
    points = record["points"]
    sides = sides_of(points)
    if not sides:
        return
    pyplot = pyplot_to_file()
    figure, (speed, memory) = pyplot.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for side, (colour, marker) in looks_of(sides).items():
        there = [point for point in points if side in point["group"]["best"]]
        values = [point["value"] for point in there]
        best = [point["group"]["contestants"][point["group"]["best"][side]] for point in there]
        rates = [one["tokens_per_s"] for one in best]
        medians = [rate["median"] for rate in rates]
        spread = (
            [rate["median"] - rate["low"] for rate in rates],
            [rate["high"] - rate["median"] for rate in rates],
        )
        look = {"color": colour, "marker": marker, "linewidth": 2.2 if side == "groundup" else 1.4, "label": side}
        speed.errorbar(values, medians, yerr=spread, capsize=3, **look)
        if all(one["peak_bytes"] is not None for one in best):
            memory.plot(values, [one["peak_bytes"] / 1e9 for one in best], **look)
    for axis, label in ((speed, "tokens per second, median and range"), (memory, "peak memory, GB")):
        axis.set_xscale("log", base=2)
        axis.set_xticks([point["value"] for point in points], [f"{point['value']:,}" for point in points])
        axis.minorticks_off()
        axis.set_ylim(bottom=0)
        axis.set_xlabel(f"{record['sweep']} ({record['meaning']})")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    handles, labels = speed.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    _save(figure, record, path)


def plot_race(record: Mapping[str, Any], path: Path) -> None:
    """Write a result of race.py as a PNG: validation loss against minutes of training, and where ours is as far."""
    pyplot = pyplot_to_file()
    figure, axis = pyplot.subplots(figsize=(8.5, 4.8), layout="constrained")
    sides = record["sides"]
    for side, (colour, marker) in looks_of(list(sides)).items():
        curve = sides[side]["curve"]
        axis.plot(
            [point["seconds"] / 60 for point in curve],
            [point["loss"] for point in curve],
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=2,
            label=f"{side} ({curve[-1]['step']:,} updates, {curve[-1]['loss']:.3f} at the end)",
        )
    verdict = record["verdict"]
    goal_minutes = verdict["their_seconds"] / 60
    axis.axhline(verdict["their_loss"], color="#555555", linewidth=1, linestyle="--")
    axis.axvline(goal_minutes, color="#555555", linewidth=1, linestyle=":")
    if verdict["reached_s"] is not None:
        axis.annotate(
            f"as far after {verdict['part_of_time']:.0%} of the time",
            xy=(verdict["reached_s"] / 60, verdict["their_loss"]),
            xytext=(-40, -24),  # where no curve passes that falls
            textcoords="offset points",
            ha="right",
            arrowprops={"arrowstyle": "->", "color": "#333333"},
        )
    axis.set_xlabel("minutes of training (validation and saving not counted)")
    axis.set_ylabel("validation loss, nats per token")
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False)
    _save(figure, record, path)


def looks_of(sides: list[str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each side: ours and its reference always the same."""
    looks = {"groundup": (OURS, "o"), "groundup reference": (READABLE, "P")}
    others = itertools.cycle(zip(OTHERS, MARKERS, strict=True))
    return {side: looks[side] if side in looks else next(others) for side in sides}


def _save(figure: Any, record: Mapping[str, Any], path: Path) -> None:
    machine = record["machine"]
    title = f"{machine['processor']}, {record['threads']} threads, torch {machine['torch']}, {record['date']}"
    save(figure, path, title)
