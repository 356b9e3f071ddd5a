"""Several runs side by side: a table of what they reached and in which settings they differ, and their curves."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundup.experiments.quantities import count, duration
from groundup.experiments.records import RunRecord, column, number, read_run
from groundup.files import StrPath
from groundup.model.accounting import num_parameters
from groundup.recipe import setting

_NEVER_SHOWN = {"out"}


@dataclass(frozen=True)
class Comparison:
    """Runs in the order given. `settings` are the dotted names in which at least two of them differ."""

    runs: tuple[RunRecord, ...]
    settings: tuple[str, ...]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each run: its name, what it reached, and its value of each setting that differs."""
        return [_row(run, self.settings) for run in self.runs]

    def curves(self) -> list[tuple[str, list[float], list[float]]]:
        """Name, updates and validation losses of each run; training losses where nothing was validated."""
        found = []
        for run in self.runs:
            records = run.evals or run.train
            found.append((run.name, column(records, "step"), column(records, "loss")))
        return found


def compare_runs(folders: Sequence[StrPath]) -> Comparison:
    """Read the runs and find where they differ. Raises CheckpointError for a folder that holds no run."""
    runs = tuple(read_run(folder) for folder in folders)
    configs = [run.config for run in runs if run.config is not None]
    names = [name for name in _names(configs[0]) if name not in _NEVER_SHOWN] if configs else []
    return Comparison(runs, tuple(name for name in names if len({repr(setting(c, name)) for c in configs}) > 1))


def text_table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows as aligned columns: numbers to the right, for a terminal.

    >>> print(text_table([{"run": "a", "loss": 1.5}, {"run": "longer", "loss": 1.25}]))
    run       loss
    a       1.5000
    longer  1.2500
    """
    names = list(rows[0])
    cells = [names, *([cell_text(name, row[name]) for name in names] for row in rows)]
    widths = [max(len(line[index]) for line in cells) for index in range(len(names))]
    is_number = [all(isinstance(row[name], int | float) for row in rows) for name in names]
    lines = []
    for line in cells:
        parts = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, is_number, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def cell_text(name: str, value: Any) -> str:
    """A value of a row as people read it; the name of its column says what it is."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if name in ("parameters", "tokens", "tokens/s"):
        return count(value)
    if name == "time":
        return duration(value)
    if name in ("loss", "best", "bits/byte"):
        return f"{value:.4f}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _row(run: RunRecord, settings: Sequence[str]) -> dict[str, Any]:
    end = run.evals[-1] if run.evals else {}
    speeds = sorted(speed for speed in column(run.train, "tokens_per_s") if math.isfinite(speed))
    config = run.config
    has_size = config is not None and config.model.vocab_size
    return {
        "run": run.name,
        "parameters": num_parameters(config.model).total if config is not None and has_size else math.nan,
        "tokens": number(run.last, "tokens"),
        "loss": number(end, "loss"),
        "best": number(run.best_eval or {}, "loss"),
        "bits/byte": number(end, "bits_per_byte"),
        "time": number(run.last, "seconds"),
        "tokens/s": speeds[len(speeds) // 2] if speeds else math.nan,
        **{name: setting(config, name) if config is not None else None for name in settings},
    }


def _names(config: Any, prefix: str = "") -> list[str]:
    """Dotted names of all settings."""
    names: list[str] = []
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        name = prefix + field.name
        names += _names(value, f"{name}.") if dataclasses.is_dataclass(value) else [name]
    return names


def picture(comparison: Comparison, path: StrPath) -> Path:
    """Draw the curves of all runs into one picture; the suffix of its name decides the format."""
    from groundup.experiments.study_plots import compare_curves

    return compare_curves(comparison.curves(), Path(path))
