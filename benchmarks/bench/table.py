"""Results as text for a terminal: columns that line up, the best of each side marked."""

from collections.abc import Mapping, Sequence
from typing import Any


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows with every column as wide as its widest cell; the first one to the left, the others to the right.

    >>> columns([["a", "12"], ["long", "3"]])
    ['a     12', 'long   3']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def training_table(precision: str, group: Mapping[str, Any]) -> str:
    """The record of one precision (bench/contest.py), fastest first."""
    ranked = sorted(group["contestants"].items(), key=lambda item: -item[1]["tokens_per_s"]["median"])
    rows = [[precision, "tokens/s", "low", "high", "steps", "loss", "after check"]]
    for name, one in ranked:
        mark = "*" if name in group["best"].values() else " "
        rate = one["tokens_per_s"]
        numbers = [f"{rate[key]:,.0f}" for key in ("median", "low", "high")]
        losses = [f"{one['losses'][place]:.3f}" for place in (0, -1)]
        rows.append([f"{mark} {name}", *numbers, str(one["num_steps"]), *losses])
    lines = columns(rows)
    lines += [f"  {name}: not measured, {problem}" for name, problem in group["refused"].items()]
    if ratio := group["ratio"]:
        ours, theirs = group["best"].values()
        lines.append(f"{ours} / {theirs}: {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})")
    else:
        lines.append("no ratio: one side has nothing to compare")
    return "\n".join(lines)
