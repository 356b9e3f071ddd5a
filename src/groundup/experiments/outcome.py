"""What came out of an experiment: the outcome of each run, and of all runs of a variant with their spread.

Outcomes are read from run folders; `write_results` keeps them with thinned metrics beside the page, from where
`read_results` takes them again: tables, pictures and comment can be made anew without the runs.
"""

import dataclasses
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundup.errors import DataError
from groundup.experiments.lab import Variant
from groundup.experiments.records import number
from groundup.files import write_atomic, write_json
from groundup.training.metrics import read_metrics

RESULT_FILE = "result.json"
DIVERGED_BY = 0.5  # nats above its own lowest training loss, or above a guess
MAX_KEPT = 50  # lines of training loss kept beside the page; all validation passes are kept
_KEPT = ("kind", "step", "tokens", "seconds", "loss", "bits_per_byte", "lr", "grad_norm", "tokens_per_s")


@dataclass(frozen=True)
class Outcome:
    """What came out of one run.

    Attributes:
        seed: Of initial weights and batches.
        run: Name of the run's folder, and of its file of metrics beside the page.
        diverged: Why the run counts as diverged; empty if it does not.
        loss: Validation loss at the end, in nats per token; NaN if the run never came there.
        bits_per_byte: The same per byte of text; NaN if unknown.
        steps, tokens, seconds: How far it came and how long it took, validation included.
        tokens_per_s: Median speed of the updates.
        records: Lines of metrics.
    """

    seed: int
    run: str
    diverged: str
    loss: float
    bits_per_byte: float
    steps: int
    tokens: int
    seconds: float
    tokens_per_s: float
    records: Sequence[Mapping[str, Any]] = field(default=(), repr=False)


@dataclass(frozen=True)
class Group:
    """All runs of a variant. Means and spreads are over the runs that did not diverge."""

    variant: Variant
    outcomes: tuple[Outcome, ...]

    @property
    def name(self) -> str:
        return self.variant.name

    @property
    def label(self) -> str:
        return self.variant.label

    @property
    def sound(self) -> tuple[Outcome, ...]:
        """The runs that did not diverge."""
        return tuple(outcome for outcome in self.outcomes if not outcome.diverged)

    @property
    def num_diverged(self) -> int:
        return len(self.outcomes) - len(self.sound)

    @property
    def losses(self) -> list[float]:
        """Validation loss at the end of each sound run, in nats per token."""
        return [outcome.loss for outcome in self.sound]

    @property
    def loss(self) -> float:
        """Their mean; NaN if there is none."""
        return mean(self.losses)

    @property
    def spread(self) -> float:
        """Their standard deviation; NaN for fewer than two."""
        return spread(self.losses)


@dataclass(frozen=True)
class Results:
    """All that a page is made from.

    Attributes:
        facts: What the runs have in common: shape, tokens, text, machine; JSON data.
        groups: One for each variant, in the order of the study.
        measured: What the study measured besides; JSON data.
    """

    facts: Mapping[str, Any]
    groups: tuple[Group, ...] = ()
    measured: Mapping[str, Any] = field(default_factory=dict)

    def group(self, name: str) -> Group | None:
        """The group of the variant of this name, if there is one with runs."""
        return next((group for group in self.groups if group.name == name), None)

    @property
    def sound(self) -> list[Group]:
        """The groups in which at least one run did not diverge."""
        return [group for group in self.groups if group.sound]


def mean(values: Sequence[float] | Sequence[int]) -> float:
    return statistics.fmean(values) if values else math.nan


def spread(values: Sequence[float]) -> float:
    """Standard deviation of a sample; NaN for fewer than two values."""
    return statistics.stdev(values) if len(values) > 1 else math.nan


def read_outcome(folder: Path, *, seed: int, diverged: str, vocab_size: int) -> Outcome:
    """The outcome of a run from its metrics. `diverged` is why training gave up, or empty.

    A run also counts as diverged if its last update was skipped for values that are not finite, or if it ends half a
    nat above a guess among all entries of the vocabulary, or half a nat above its own lowest training loss (means over
    eighths of the run, since single batches differ by more).
    """
    records = read_metrics(folder / "metrics.jsonl")
    train = [record for record in records if record["kind"] == "train"]
    evals = [record for record in records if record["kind"] == "eval"]
    last = evals[-1] if evals and not diverged else {}
    speeds = [number(record, "tokens_per_s") for record in train if number(record, "step") > 1]
    end = max([*train, *evals], key=lambda record: number(record, "step"), default={})
    return Outcome(
        seed=seed,
        run=folder.name,
        diverged=diverged or _why_diverged(records, number(last, "loss"), vocab_size),
        loss=number(last, "loss"),
        bits_per_byte=number(last, "bits_per_byte"),
        steps=int(end.get("step", 0)),
        tokens=int(end.get("tokens", 0)),
        seconds=max((number(record, "seconds") for record in records), default=0.0),
        tokens_per_s=statistics.median(speeds) if speeds else math.nan,
        records=thinned(records),
    )


def thinned(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All validation passes and at most `MAX_KEPT` lines of training loss, in six digits, as a curve needs them."""
    train = [record for record in records if record["kind"] == "train"]
    every = max(1, math.ceil(len(train) / MAX_KEPT))
    kept = {id(record) for record in [*train[::every], *train[-1:]]}
    return [
        {key: _six_digits(record[key]) for key in _KEPT if key in record}
        for record in records
        if record["kind"] == "eval" or id(record) in kept
    ]


def write_results(results: Results, folder: Path, *, name: str) -> None:
    """Write `result.json` and `metrics/RUN.jsonl` of every run; files of runs that are no longer there go."""
    metrics = folder / "metrics"
    runs = {outcome.run: outcome for group in results.groups for outcome in group.outcomes}
    for run, outcome in runs.items():
        write_atomic(metrics / f"{run}.jsonl", "".join(json.dumps(record) + "\n" for record in outcome.records))
    for old in metrics.glob("*.jsonl"):
        if old.stem not in runs:
            old.unlink()
    groups = [
        {
            **dataclasses.asdict(group.variant),
            "loss": {"mean": group.loss, "spread": group.spread, "n": len(group.sound)},
            "runs": [_without_records(outcome) for outcome in group.outcomes],
        }
        for group in results.groups
    ]
    content = {"experiment": name, "facts": results.facts, "groups": groups, "measured": results.measured}
    write_json(folder / RESULT_FILE, _json_ready(content))


def read_results(folder: Path) -> tuple[str, Results]:
    """Name of the experiment and its results, from beside its page. Raises DataError for anything else."""
    path = folder / RESULT_FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        groups = tuple(_read_group(group, folder / "metrics") for group in content["groups"])
        return str(content["experiment"]), Results(content["facts"], groups, content["measured"])
    except FileNotFoundError:
        raise DataError(f"{str(folder)!r} holds no {RESULT_FILE}; run the experiment into it first") from None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{str(path)!r} is not the result of an experiment: {error}") from None


def _read_group(fields: Mapping[str, Any], metrics: Path) -> Group:
    variant = Variant(**{field.name: fields[field.name] for field in dataclasses.fields(Variant)})
    outcomes = []
    for values in fields["runs"]:
        records = read_metrics(metrics / f"{values['run']}.jsonl")
        numbers = {key: number(values, key) for key in ("loss", "bits_per_byte", "tokens_per_s")}
        outcomes.append(Outcome(**{**values, **numbers}, records=records))
    return Group(variant, tuple(outcomes))


def _why_diverged(records: Sequence[Mapping[str, Any]], loss: float, vocab_size: int) -> str:
    train = [record for record in records if record["kind"] == "train"]
    if train and not math.isfinite(loss):
        return "the validation loss is not finite"
    skipped = [number(record, "step") for record in records if record["kind"] == "skipped"]
    if train and skipped and skipped[-1] >= number(train[-1], "step"):
        return "loss or gradients were not finite up to the end"
    guess = math.log(vocab_size)
    if loss > guess + DIVERGED_BY:
        return f"the validation loss is {loss - guess:.2f} nats above a guess among all {vocab_size:,} entries"
    losses = [value for record in train if math.isfinite(value := number(record, "loss"))]
    length = max(1, len(losses) // 8)
    means = [mean(losses[max(0, end - length) : end]) for end in range(len(losses), 0, -length)]  # the last one first
    if losses and means[0] > min(means) + DIVERGED_BY:
        return f"the training loss ended {means[0] - min(means):.2f} nats above its lowest"
    return ""


def _without_records(outcome: Outcome) -> dict[str, Any]:
    return {
        field.name: getattr(outcome, field.name) for field in dataclasses.fields(outcome) if field.name != "records"
    }


def _six_digits(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _json_ready(value: Any) -> Any:
    """Numbers that are not finite as null, which JSON has no numbers for."""
    if isinstance(value, Mapping):
        return {key: _json_ready(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
