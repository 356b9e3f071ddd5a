"""Where results go: one JSON file per run, named after day and processor, and a plot of the same name."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from groundup.files import write_atomic

Plot = Callable[[Mapping[str, Any], Path], None]  # draws a record into a file
FOLDER = Path(__file__).resolve().parent.parent / "results"


def result_name(day: str, processor: str, benchmark: str) -> str:
    """The name without ending.

    >>> result_name("2025-03-01", "AMD EPYC 9R45 (2 cores)", "train")
    '2025-03-01-amd-epyc-9r45-2-cores-train'
    """
    slug = re.sub(r"[^a-z0-9]+", "-", processor.lower()).strip("-")
    return f"{day}-{slug}-{benchmark}"


def write_results(folder: Path, name: str, record: Mapping[str, Any]) -> Path:
    """Write the record as JSON and return its path; a result of the same name is replaced."""
    path = folder / f"{name}.json"
    write_atomic(path, json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    return path


def keep_results(record: Mapping[str, Any], plot: Plot, folder: Path | None) -> str:
    """Write the record of a benchmark and its plot, unless there is no folder for them; returns what to say of it."""
    if folder is None:
        return "A quick run shows that everything works; its numbers mean nothing and are not kept."
    name = result_name(record["date"], record["machine"]["processor"], record["benchmark"])
    path = write_results(folder, name, record)
    plot(record, path.with_suffix(".png"))
    return f"{path} and its plot"
