"""A result of generate.py as a table and as a picture."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.plot import OURS, THEIRS, save, stacked
from bench.table import columns


def generation_table(batch_size: int, group: Mapping[str, Any]) -> str:
    """The record of one batch (bench/generation.py), fastest first, then the ratios."""
    rows = [[f"batch {batch_size}", "tokens/s", "low", "high", "same ids", "below best", "memory"]]
    for name, one in _ranked(group):
        rate = one["tokens_per_s"]
        numbers = [f"{rate[key]:,.0f}" for key in ("median", "low", "high")]
        peak = one["peak_memory_bytes"]
        memory = "-" if peak is None else f"{peak / 1e6:,.0f} MB"
        rows.append([name, *numbers, f"{one['same_ids']:.0%}", f"{one['shortfall']:.1g}", memory])
    lines = columns(rows)
    lines += [f"{name}: not measured, {problem}" for name, problem in group["refused"].items()]
    lines += [
        f"{pair}: {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})"
        for pair, ratio in group["ratios"].items()
    ]
    return "\n".join(lines)


def plot_generation(record: Mapping[str, Any], path: Path) -> None:
    """Write tokens per second as a PNG, one panel for each batch size."""
    groups = record["batches"]
    figure, axes = stacked([max(len(group["contestants"]), 1) for group in groups.values()], 0.4)
    for axis, (batch_size, group) in zip(axes, groups.items(), strict=True):
        ranked = _ranked(group)[::-1]
        rates = [one["tokens_per_s"] for _, one in ranked]
        medians = [rate["median"] for rate in rates]
        below = [rate["median"] - rate["low"] for rate in rates]
        above = [rate["high"] - rate["median"] for rate in rates]
        colours = [OURS if one["peer"] == "groundup" else THEIRS for _, one in ranked]
        bars = axis.barh([name for name, _ in ranked], medians, color=colours, xerr=(below, above), capsize=3)
        axis.bar_label(bars, [f" {median:,.0f}" for median in medians], padding=4)
        axis.margins(x=0.15)
        axis.spines[["top", "right"]].set_visible(False)
        axis.set_title(f"{batch_size} {'text' if batch_size == '1' else 'texts side by side'}", loc="left", fontsize=10)
    axes[-1].set_xlabel("greedy text, tokens per second (median and range of the rounds)")
    machine = record["machine"]
    save(figure, path, f"{machine['processor']}, {record['threads']} threads, {record['date']}")


def _ranked(group: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return sorted(group["contestants"].items(), key=lambda item: -item[1]["tokens_per_s"]["median"])
