"""What a run folder holds, read for showing: metrics, configuration, machine, samples.

Reads what is there and says so where something is not: a run that was killed, has just begun or diverged
must show as well as one that went to its end. Nothing here imports torch.
"""

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundup.config import RunConfig
from groundup.errors import CheckpointError, ConfigError
from groundup.files import StrPath
from groundup.recipe import read_config
from groundup.training.metrics import read_metrics

log = logging.getLogger(__name__)
NOT_A_NUMBER = float("nan")


@dataclass(frozen=True)
class Samples:
    """Texts the model wrote at one moment; `step` is None where the file does not say."""

    step: int | None
    items: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class RunRecord:
    """A run as its folder tells it; anything may be empty or None. `plan` is what `groundup run` planned."""

    folder: Path
    train: tuple[Mapping[str, Any], ...]
    evals: tuple[Mapping[str, Any], ...]
    resumed: tuple[Mapping[str, Any], ...]
    skipped: tuple[Mapping[str, Any], ...]
    moved: tuple[Mapping[str, Any], ...]
    config: RunConfig | None
    environment: Mapping[str, Any]
    samples: tuple[Samples, ...]
    plan: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The folder's own name, or that of the folder around it where it is plainly "run"."""
        folder = self.folder.resolve()
        return folder.parent.name if folder.name == "run" and folder.parent.name else folder.name

    @property
    def last(self) -> Mapping[str, Any]:
        """The newest record of any kind, for how far the run came; empty before the first."""
        latest: Mapping[str, Any] = {}
        for record in (*self.train, *self.evals, *self.resumed):
            if not latest or _moment(record) > _moment(latest):
                latest = record
        return latest

    @property
    def best_eval(self) -> Mapping[str, Any] | None:
        """The validation pass with the lowest finite loss."""
        finite = [record for record in self.evals if number(record, "loss") == number(record, "loss")]
        return min(finite, key=lambda record: number(record, "loss"), default=None)

    def peak(self, key: str) -> float:
        """The largest value of all sittings, peak_memory_bytes say; NaN where no record has one."""
        found = [value for value in column((*self.train, *self.evals), key) if value == value]
        return max(found, default=NOT_A_NUMBER)


def read_run(folder: StrPath) -> RunRecord:
    """Everything a run folder holds except the checkpoints.

    Raises CheckpointError if it is no run folder: it has neither metrics nor a configuration.
    """
    folder = Path(folder)
    if not any((folder / name).is_file() for name in ("metrics.jsonl", "config.yaml")):
        raise CheckpointError(f"{str(folder)!r} is not a run folder: it has no metrics.jsonl and no config.yaml")
    records = read_metrics(folder / "metrics.jsonl")
    return RunRecord(
        folder=folder,
        train=_of_kind(records, "train"),
        evals=_of_kind(records, "eval"),
        resumed=_of_kind(records, "resumed"),
        skipped=_of_kind(records, "skipped"),
        moved=_of_kind(records, "moved"),
        config=_read_config(folder / "config.yaml"),
        environment=_read_json(folder / "environment.json", dict, {}),
        samples=_read_samples(folder / "samples"),
        plan=_read_json(folder / "plan.json", dict, {}),
    )


def number(record: Mapping[str, Any], key: str) -> float:
    """A value of a record as a float; NaN if it is absent, null or no number ("nan" and "inf" are text there)."""
    try:
        return float(record[key])
    except (KeyError, TypeError, ValueError):
        return NOT_A_NUMBER


def column(records: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    """One value of every record."""
    return [number(record, key) for record in records]


def _moment(record: Mapping[str, Any]) -> tuple[float, float]:
    """Step and seconds, for ordering: validation follows the update of its own step."""
    seconds = number(record, "seconds")
    return number(record, "step"), seconds if seconds == seconds else 0.0


def _of_kind(records: Sequence[Mapping[str, Any]], kind: str) -> tuple[Mapping[str, Any], ...]:
    """The records of a kind that say at which step they were made: without one they have no place."""
    return tuple(r for r in records if r["kind"] == kind and number(r, "step") == number(r, "step"))


def _read_config(path: Path) -> RunConfig | None:
    if not path.is_file():
        return None
    try:
        return read_config(path)
    except ConfigError as error:
        log.warning("the report leaves the configuration out: %s", error)
        return None


def _read_samples(folder: Path) -> tuple[Samples, ...]:
    """All files of samples in the order of their steps (by the number in the name, then by name)."""
    found = []
    for path in folder.glob("*.json"):
        items = [item for item in _read_json(path, list, []) if isinstance(item, dict) and item.get("text")]
        steps = [int(item["step"]) for item in items if isinstance(item.get("step"), int)]
        steps += [int(digits) for digits in re.findall(r"\d+", path.stem)[-1:]]
        if items:
            found.append((steps[0] if steps else None, path.name, tuple(items)))
    found.sort(key=lambda entry: (entry[0] is not None, entry[0] or 0, entry[1]))
    return tuple(Samples(step, items) for step, _, items in found)


def _read_json(path: Path, kind: type, default: Any) -> Any:
    """The value in a JSON file if it is there and of this type, else the default."""
    try:
        value = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError:
        return default
    except (OSError, ValueError) as error:
        log.warning("%s cannot be read and is left out: %s", path, error)
        return default
    return value if isinstance(value, kind) else default
