"""Results of training as text for a terminal: a contest of training steps, a sweep of contests."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.table import columns


def training_table(precision: str, group: Mapping[str, Any]) -> str:
    """The record of one precision (bench/training_result.py): who was in the rounds, fastest first, then the others.

    A star marks the best way of a side. "of limit" is the part of the largest rate of matrix products in that round.
    """
    measured = {name: one for name, one in group["contestants"].items() if "tokens_per_s" in one}
    others = {name: one for name, one in group["contestants"].items() if name not in measured}
    rows = [[precision, "tokens/s", "low", "high", "of limit", "peak GB", "loss", "after check", "gradient off by"]]
    for name, one in sorted(measured.items(), key=lambda item: -item[1]["tokens_per_s"]["median"]):
        mark = "*" if name in group["best"].values() else " "
        rates = [f"{one['tokens_per_s'][key]:,.0f}" for key in ("median", "low", "high")]
        rows.append([f"{mark} {name}", *rates, f"{one['utilisation']['median']:.0%}", *_checked(one)])
    for name, one in sorted(others.items(), key=lambda item: -item[1]["qualifying"]):
        rows.append([f"  {name}", f"({one['qualifying']:,.0f})", "", "", "", *_checked(one)])
    lines = columns(rows)
    if others:
        lines.append("In brackets: one measurement, before the rounds; a faster way of the same side was in them.")
    lines += [f"  {name}: {problem}" for name, problem in group["refused"].items()]
    for side, ratio in group["ratios"].items():
        mark = "   <- the strongest" if group["best"][side] == group["strongest"] else ""
        lines.append(f"ours / {side}: {ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f}){mark}")
    if not group["ratios"]:
        lines.append("no ratio: there are not two sides to compare")
    products = group["products"]
    fastest = max(products["rounds"][0], key=products["rounds"][0].__getitem__)
    lines.append(
        f"limit: {products['flops_per_s']['median'] / 1e9:,.0f} GFLOP/s, the fastest matrix product of the model "
        f"({fastest}); a step needs {group['flops_per_token'] / 1e6:.1f} MFLOP for each token"
    )
    return "\n".join(lines)


def sweep_table(record: Mapping[str, Any]) -> str:
    """A row for each size, tokens per second and peak memory of each side's best, and ours over the strongest."""
    points = record["points"]
    sides = sides_of(points)
    rows = [[record["sweep"], "batch", *sides, "ours / strongest"]]
    for point in points:
        cells = [_cell(point["group"], side) for side in sides]
        ratio = point["group"]["ratio"]
        verdict = f"{ratio['median']:.2f} ({ratio['low']:.2f} to {ratio['high']:.2f})" if ratio else "-"
        rows.append([f"{point['value']:,}", str(point["batch_size"]), *cells, verdict])
    notes = [
        f"  {point['value']:,}: {name}: {problem}"
        for point in points
        for name, problem in point["group"]["refused"].items()
    ]
    return "\n".join([*columns(rows), "tokens per second, and peak memory of the process in GB", *notes])


def sides_of(points: Sequence[Mapping[str, Any]]) -> list[str]:
    """The sides that were measured at one point at least, in the order of the first."""
    return list(dict.fromkeys(side for point in points for side in point["group"]["best"]))


def _cell(group: Mapping[str, Any], side: str) -> str:
    if side not in group["best"]:
        return "-"
    one = group["contestants"][group["best"][side]]
    return f"{one['tokens_per_s']['median']:,.0f}, {_gigabytes(one['peak_bytes'])}"


def _checked(one: Mapping[str, Any]) -> list[str]:
    losses = [f"{one['losses'][place]:.3f}" for place in (0, -1)]
    return [_gigabytes(one["peak_bytes"]), *losses, f"{one['gradient_error']:.0e}"]


def _gigabytes(size_bytes: int | None) -> str:
    return "-" if size_bytes is None else f"{size_bytes / 1e9:.2f}"
