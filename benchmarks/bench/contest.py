"""The contest of train.py: who takes part, whether they solve the same task, and what came of it."""

import contextlib
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench.notes import say
from bench.peers import Peer, interpreter
from bench.rounds import best_of, interleave, ratio, summarise
from bench.worker import Worker, WorkerError

OURS = Peer("groundup", "train_groundup.py")
THEIRS = Peer("huggingface", "train_huggingface.py", "huggingface.txt")
SET_UP_S = 1800.0  # compiling, and a few steps of a precision that the machine only imitates
CHECK_STEPS = 5
LOSS_TOLERANCE = 0.5  # how far from ln(vocab_size) an untrained model may begin, in nats


@dataclass(frozen=True)
class Contestant:
    """A way to run the training step. `precision` is the worker's word for it."""

    peer: Peer
    precision: str
    compiled: bool

    @property
    def name(self) -> str:
        """How tables call it: the bf16 of ours and of others differ, so the precision is part of it."""
        return f"{self.peer.name} {self.precision} {'compiled' if self.compiled else 'eager'}"


@dataclass(frozen=True)
class Task:
    """What everyone does: shape of the model, one batch of ids (batch, context + 1), threads."""

    shape: Mapping[str, int]
    ids: Sequence[Sequence[int]]
    threads: int

    @property
    def num_targets(self) -> int:
        return len(self.ids) * (len(self.ids[0]) - 1)


@dataclass(frozen=True)
class Limits:
    """How long it may take: rounds, and the time and steps of one measurement in a round."""

    rounds: int
    seconds: float
    max_steps: int


def contestants(precision: str) -> list[Contestant]:
    """Eager and compiled of both sides, and of Hugging Face's model every way there is (its worker names them)."""
    theirs = {"float32": ["float32", "float32 oneDNN"], "bf16": ["bf16", "bf16 autocast"]}
    ways = [(OURS, precision), *((THEIRS, way) for way in theirs[precision])]
    return [Contestant(peer, way, compiled) for peer, way in ways for compiled in (False, True)]


def run_contest(precision: str, task: Task, limits: Limits) -> dict[str, Any]:
    """Set up everyone, check them, measure the ones that pass in rounds; returns the record of it."""
    with contextlib.ExitStack() as stack:
        workers: dict[str, Worker] = {}
        entries: dict[str, dict[str, Any]] = {}
        refused: dict[str, str] = {}
        for contestant in contestants(precision):
            name = contestant.name
            say(f"{name}: setting up")
            try:
                workers[name] = stack.enter_context(_start(contestant))
                entries[name] = _set_up(workers[name], contestant, task, limits)
            except WorkerError as error:
                refused[name] = str(error)
                if name in workers:
                    workers[name].close()

        for name, problem in unequal(entries):
            refused[name] = problem
            del entries[name]

        def measure(name: str) -> float:
            answer = workers[name].request(
                "measure", max_steps=limits.max_steps, seconds=limits.seconds, timeout_s=SET_UP_S
            )
            entries[name]["num_steps"] += len(answer["step_s"])
            return task.num_targets / statistics.median(answer["step_s"])

        rates = interleave(list(entries), measure, limits.rounds, lambda i: say(f"round {i + 1} of {limits.rounds}"))
    return conclude(entries, rates, refused)


def find_problem(entry: Mapping[str, Any], vocab_size: int) -> str | None:
    """Why the times of a contestant would not count; None if they do.

    >>> find_problem({"losses": [6.9, 6.1], "gradients_finite": True}, 1000) is None
    True
    """
    losses = entry["losses"]
    if not all(map(math.isfinite, losses)):
        return f"a loss is not finite: {losses}"
    if not entry["gradients_finite"]:
        return "a gradient is not finite"
    if abs(losses[0] - math.log(vocab_size)) > LOSS_TOLERANCE:
        return f"the first loss is {losses[0]:.3f}, and an untrained model has about {math.log(vocab_size):.3f}"
    if losses[-1] >= losses[0]:
        return f"the loss on one batch does not fall: {losses[0]:.3f} -> {losses[-1]:.3f}"
    return None


def unequal(entries: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Those whose model has another number of parameters than the first one, with the reason."""
    counts = {name: entry["num_parameters"] for name, entry in entries.items()}
    wanted = next(iter(counts.values()), None)
    return [
        (name, f"the model has {count:,} parameters, not {wanted:,}")
        for name, count in counts.items()
        if count != wanted
    ]


def conclude(
    entries: Mapping[str, Mapping[str, Any]], rates: Mapping[str, Sequence[float]], refused: Mapping[str, str]
) -> dict[str, Any]:
    """The record of one precision: medians and ranges, the best of each side, their ratio round by round."""
    best = {
        side: best_of({name: rates[name] for name, entry in entries.items() if entry["peer"] == side})
        for side in (OURS.name, THEIRS.name)
    }
    ours, theirs = best[OURS.name], best[THEIRS.name]
    return {
        "contestants": {
            name: {**entry, "tokens_per_s": asdict(summarise(rates[name])), "rounds": list(rates[name])}
            for name, entry in entries.items()
        },
        "refused": dict(refused),
        "best": best,
        "ratio": asdict(ratio(rates[ours], rates[theirs])) if ours and theirs else None,
    }


def _start(contestant: Contestant) -> Worker:
    return Worker([interpreter(contestant.peer), contestant.peer.script], contestant.name)


def _set_up(worker: Worker, contestant: Contestant, task: Task, limits: Limits) -> dict[str, Any]:
    facts = worker.request(
        "set_up",
        shape=dict(task.shape),
        precision=contestant.precision,
        compiled=contestant.compiled,
        ids=[list(row) for row in task.ids],
        threads=task.threads,
        timeout_s=SET_UP_S,
    )
    check = worker.request("check", max_steps=CHECK_STEPS, seconds=4 * limits.seconds, timeout_s=SET_UP_S)
    if problem := find_problem(check, task.shape["vocab_size"]):
        raise WorkerError(problem)
    return {"peer": contestant.peer.name, **facts, **check, "num_steps": 0}
