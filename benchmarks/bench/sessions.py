"""A session is the life of one fresh worker: some requests in order, and what is read off their answers.

What a library does in its first call it does once in a process, so every round starts everyone's process anew.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bench.peers import Peer
from bench.rounds import best_of, interleave, ratio, summarise
from bench.worker import Worker, WorkerError

OURS = "groundup"
STEP_S = 600.0  # a call that takes longer is given up, with what the session still had to say

Answer = dict[str, Any]
Answers = dict[str, Answer]  # by the key of the step


@dataclass(frozen=True)
class Measure:
    """Something that is compared. `better` is None for what is only told."""

    name: str
    unit: str
    better: Literal["higher", "lower"] | None


@dataclass(frozen=True)
class Step:
    """A request; "{peer}" in a field stands for the name of who gets it."""

    key: str
    operation: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Reading:
    """A number out of the answers to the steps that it needs."""

    measure: Measure
    needs: tuple[str, ...]
    value: Callable[..., float]


@dataclass(frozen=True)
class Session:
    """Steps, and the readings that they allow."""

    name: str
    steps: tuple[Step, ...]
    readings: tuple[Reading, ...]


@dataclass(frozen=True)
class Entrant:
    """A peer with the interpreter that runs it, or with the reason why there is none."""

    peer: Peer
    python: Path | None
    problem: str | None = None

    @property
    def name(self) -> str:
        return self.peer.name


def play_rounds(
    session: Session, entrants: Sequence[Entrant], rounds: int, note: Callable[[int], None] = lambda _: None
) -> dict[str, list[Answers]]:
    """The answers of everyone in each round. Whose worker failed once is not started again."""
    by_name = {entrant.name: entrant for entrant in entrants}
    failed: dict[str, Answers] = {}

    def play_once(name: str) -> Answers:
        if name not in failed:
            answers = play(session, by_name[name])
            if not any("failed" in answer for answer in answers.values()):
                return answers
            failed[name] = answers
        return failed[name]

    return interleave(list(by_name), play_once, rounds, note)


def play(session: Session, entrant: Entrant) -> Answers:
    """The answers to all steps by a fresh worker. One that fails has the reason as `problem` in the rest of them."""
    answers: Answers = {}
    try:
        with contextlib.ExitStack() as stack:
            if entrant.python is None:
                raise WorkerError(entrant.problem or "it is not installed")
            worker = stack.enter_context(Worker([entrant.python, entrant.peer.script], entrant.name))
            for step in session.steps:
                fields = {key: _named(value, entrant.name) for key, value in step.fields.items()}
                answers[step.key] = worker.request(step.operation, timeout_s=STEP_S, **fields)
    except WorkerError as error:
        for step in session.steps:
            answers.setdefault(step.key, {"problem": str(error), "failed": True})
    return answers


def read(session: Session, played: Mapping[str, Sequence[Answers]]) -> dict[str, dict[str, Any]]:
    """The outcome of each measure of a session, by its name."""
    outcomes = {}
    for reading in session.readings:
        values: dict[str, list[float]] = {}
        refused: dict[str, str] = {}
        for name, rounds in played.items():
            problems = [answers[key].get("problem") for answers in rounds for key in reading.needs]
            if problem := next(filter(None, problems), None):
                refused[name] = problem
            else:
                values[name] = [reading.value(*(answers[key] for key in reading.needs)) for answers in rounds]
        outcomes[reading.measure.name] = conclude(reading.measure, values, refused)
    return outcomes


def conclude(
    measure: Measure, values: Mapping[str, Sequence[float]], refused: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The record of one measure: medians and ranges, and how many times better ours is than each, round by round.

    `best_peer` is the best of the others; of who was refused there is the reason and no time.
    """
    others = {name: rounds for name, rounds in values.items() if name != OURS}
    ratios = {}
    if measure.better and OURS in values:
        for name, rounds in others.items():
            pair = (values[OURS], rounds) if measure.better == "higher" else (rounds, values[OURS])
            ratios[name] = asdict(ratio(*pair))
    return {
        "unit": measure.unit,
        "better": measure.better,
        "contestants": {name: asdict(summarise(rounds)) | {"rounds": list(rounds)} for name, rounds in values.items()},
        "refused": dict(refused or {}),
        "best_peer": best_of(others, highest=measure.better == "higher") if measure.better else None,
        "ratios": ratios,
    }


def facts_of(played: Mapping[str, Sequence[Answers]]) -> dict[str, dict[str, Any]]:
    """Versions and calls that the answers tell, by name."""
    facts: dict[str, dict[str, Any]] = {}
    for name, rounds in played.items():
        for answer in (answer for answers in rounds for answer in answers.values()):
            for key in ("versions", "calls"):
                facts.setdefault(name, {}).setdefault(key, {}).update(answer.get(key, {}))
    return facts


def rate(size_bytes: int) -> Callable[[Answer], float]:
    """Reads MB/s off the seconds for a text of that size."""
    return lambda answer: size_bytes / 1e6 / answer["seconds"]


def _named(value: Any, name: str) -> Any:
    return value.replace("{peer}", name) if isinstance(value, str) else value
