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


def measures_table(group: str, outcomes: Mapping[str, Mapping[str, Any]]) -> str:
    """A row for each measure (bench/sessions.py), a column for everyone: median and half the spread in per cent.

    The last column is how many times better ours is than the best of the others, with the range of the rounds.
    """
    names = list(dict.fromkeys(name for one in outcomes.values() for name in (*one["contestants"], *one["refused"])))
    names.sort(key=lambda name: name != "groundup")
    rows = [[group, "", *names, "ours / best"]]
    notes: dict[str, list[str]] = {}
    for measure, outcome in outcomes.items():
        cells = [_cell(outcome, name) for name in names]
        rows.append([measure, outcome["unit"], *cells, _verdict(outcome)])
        for name, problem in outcome["refused"].items():
            notes.setdefault(f"{name}: {problem}", []).append(measure)
    lines = columns(rows)
    lines += [f"  {problem} ({', '.join(measures)})" for problem, measures in notes.items()]
    return "\n".join(lines)


def _cell(outcome: Mapping[str, Any], name: str) -> str:
    if problem := outcome["refused"].get(name):
        return problem.split(":")[0] if problem.startswith("wrong ") else "failed"
    if name not in outcome["contestants"]:
        return ""
    one = outcome["contestants"][name]
    half = 50 * (one["high"] - one["low"]) / one["median"] if one["median"] else 0.0
    return f"{significant(one['median'])} ±{half:.0f}%"


def _verdict(outcome: Mapping[str, Any]) -> str:
    best = outcome["best_peer"]
    if best not in outcome["ratios"]:
        return ""
    found = outcome["ratios"][best]
    return f"{found['median']:.2f} ({found['low']:.2f}-{found['high']:.2f}) {best}"


def significant(value: float) -> str:
    """Three digits that matter, never fewer than the whole number has.

    >>> significant(1234.5), significant(12.345), significant(0.01234)
    ('1,234', '12.3', '0.0123')
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
