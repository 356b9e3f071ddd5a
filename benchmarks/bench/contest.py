"""The contest of train.py: who takes part, how they are checked and measured.

Everyone is checked against the judge and measured once, in a process of their own and one after the other. The fastest
ways of each side are then measured in turns, with the matrix products alone as the limit of all. What is said of the
numbers is in training_result.py.
"""

import contextlib
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.notes import say
from bench.peers import Peer, interpreter
from bench.rounds import interleave
from bench.training_check import TOLERANCES, find_problem
from bench.training_result import conclude
from bench.worker import Worker, WorkerError

OURS = Peer("groundup", "train_groundup.py")
HUGGING_FACE = Peer("huggingface", "train_huggingface.py", "huggingface.txt")
LITGPT = Peer("litgpt", "train_litgpt.py", "litgpt.txt")
TORCH = Peer("torch", "train_torch.py")
PRODUCTS = Peer("products", "train_products.py")
OTHERS = (HUGGING_FACE, LITGPT, TORCH)
SIDES = (OURS.name, f"{OURS.name} reference", *(peer.name for peer in OTHERS))
OUR_WAYS = {"float32": ("float32", "float32 reference"), "bf16": ("bf16", "bf16 reference")}
THEIR_WAYS = {"float32": ("float32", "float32 oneDNN"), "bf16": ("bf16", "bf16 autocast")}

SET_UP_S = 1800.0  # compiling, and a few steps of a precision that the machine only imitates
CHECK_STEPS, WARM_UP_STEPS = 5, 2
# What allocations keep for the next step instead of giving back: without it page faults cost a part of every step.
# The same for all; glibc's malloc reads it when a process begins.
_KEEP_BYTES = str(4 << 30)
ALLOCATORS: Mapping[str, Mapping[str, str]] = {
    "tuned": {"MALLOC_MMAP_THRESHOLD_": _KEEP_BYTES, "MALLOC_TRIM_THRESHOLD_": _KEEP_BYTES},
    "default": {},
}


@dataclass(frozen=True)
class Contestant:
    """A way to run the training step. `precision` is the worker's word for it."""

    peer: Peer
    precision: str
    compiled: bool

    @property
    def side(self) -> str:
        """Whom it stands for; our readable reference is a side of its own."""
        return f"{self.peer.name} reference" if self.precision.endswith("reference") else self.peer.name

    @property
    def name(self) -> str:
        """How tables call it: the bf16 of ours and of others differ, so the precision is part of it."""
        return f"{self.peer.name} {self.precision} {'compiled' if self.compiled else 'eager'}"


JUDGE = Contestant(TORCH, "float32", compiled=False)  # nothing of it is ours but the order of torch's operations


@dataclass(frozen=True)
class Task:
    """What everyone does: shape of the model, one batch of ids (batch, context + 1), threads, memory at most."""

    shape: Mapping[str, int]
    ids: Sequence[Sequence[int]]
    threads: int
    memory_bytes: int
    allocator: str = "tuned"

    @property
    def num_targets(self) -> int:
        return len(self.ids) * (len(self.ids[0]) - 1)


@dataclass(frozen=True)
class Limits:
    """How long it may take: rounds, time and steps of one measurement, ways of a side that are in the rounds."""

    rounds: int
    seconds: float
    max_steps: int
    ways: int = 2


def contestants(
    precision: str, names: Sequence[str] | None = None, sides: Sequence[str] | None = None
) -> list[Contestant]:
    """Eager and compiled of all sides, in every way there is (the workers name them); only `names` and `sides`."""
    ways = [(OURS, way) for way in OUR_WAYS[precision]]
    ways += [(peer, way) for peer in OTHERS for way in THEIR_WAYS[precision]]
    everyone = [Contestant(peer, way, compiled) for peer, way in ways for compiled in (False, True)]
    return [one for one in everyone if (names is None or one.name in names) and (sides is None or one.side in sides)]


def run_contest(precision: str, task: Task, limits: Limits, everyone: Sequence[Contestant]) -> dict[str, Any]:
    """Check and measure everyone alone, then the fastest in turns; returns the record of it."""
    named = {one.name: one for one in everyone}
    with tempfile.TemporaryDirectory() as folder:
        entries, refused = qualify(named, precision, task, limits, Path(folder) / "gradients.pt")
    chosen, left_out = finalists(entries, limits.ways, task.memory_bytes)
    refused |= left_out
    rates, products = measure_in_turns({name: named[name] for name in chosen}, precision, task, limits)
    return conclude(entries, refused, rates, products, task.shape, OURS.name)


def qualify(
    everyone: Mapping[str, Contestant], precision: str, task: Task, limits: Limits, gradients_file: Path
) -> tuple[dict[str, dict[str, Any]], dict[str, str]]:
    """What was found out about each, one after the other, and who was refused for which reason."""
    entries: dict[str, dict[str, Any]] = {}
    refused: dict[str, str] = {}

    def check(worker: Worker, contestant: Contestant, *, judge: bool) -> dict[str, Any]:
        facts = _set_up(worker, contestant, task)
        return facts | worker.request(
            "check",
            max_steps=CHECK_STEPS,
            seconds=6 * limits.seconds,
            gradients_file=str(gradients_file),
            judge=judge,
            timeout_s=SET_UP_S,
        )

    say(f"{JUDGE.name}: judges")
    try:
        with _start(JUDGE, task) as worker:
            judge = check(worker, JUDGE, judge=True)
    except WorkerError as error:
        return {}, dict.fromkeys(everyone, f"there is no judge: {error}")
    for name, contestant in everyone.items():
        say(f"{name}: qualifying")
        try:
            with _start(contestant, task) as worker:
                _warm_up(worker, contestant, task)
                reset = worker.request("peak_memory", reset=True)["reset"]
                rate = _rate(worker, task, limits)
                peak = worker.request("peak_memory")["peak_bytes"]
                entry = check(worker, contestant, judge=False)
        except WorkerError as error:
            refused[name] = str(error).removeprefix(f"{name}: ")
            continue
        entry |= {"side": contestant.side, "peak_bytes": peak, "peak_of_steps_alone": reset, "qualifying": rate}
        if problem := find_problem(entry, judge, task.shape["vocab_size"], TOLERANCES[precision]):
            refused[name] = problem
        else:
            entries[name] = entry
    return entries, refused


def finalists(
    entries: Mapping[str, Mapping[str, Any]], ways: int, memory_bytes: int
) -> tuple[list[str], dict[str, str]]:
    """The `ways` fastest of each side, as far as all of them fit in memory at once, and who else should be there.

    The fastest of every side go first, then the second ones; ours before all, the others in the order of `entries`.
    """
    sides: dict[str, list[str]] = {}
    for name in sorted(entries, key=lambda name: -entries[name]["qualifying"]):
        sides.setdefault(entries[name]["side"], []).append(name)
    order = sorted(sides, key=lambda side: (side != OURS.name, list(entries).index(sides[side][0])))
    chosen: list[str] = []
    left_out: dict[str, str] = {}
    free = memory_bytes
    for rank in range(ways):
        for name in [sides[side][rank] for side in order if rank < len(sides[side])]:
            needed = entries[name]["peak_bytes"] or 0
            if needed <= free:
                chosen.append(name)
                free -= needed
            elif rank == 0:
                left_out[name] = f"not in the rounds: it needs {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are left"
    return chosen, left_out


def measure_in_turns(
    chosen: Mapping[str, Contestant], precision: str, task: Task, limits: Limits
) -> tuple[dict[str, list[float]], list[dict[str, float]]]:
    """Tokens per second of each in every round, and FLOPs per second of the products in every round."""
    with contextlib.ExitStack() as stack:
        calls: dict[str, Callable[[], Any]] = {}
        for name, contestant in chosen.items():
            say(f"{name}: setting up")
            worker = stack.enter_context(_start(contestant, task))
            _warm_up(worker, contestant, task)
            calls[name] = lambda worker=worker: _rate(worker, task, limits)
        products = stack.enter_context(_worker(PRODUCTS, PRODUCTS.name, task))
        _set_up_products(products, precision, task)
        calls[PRODUCTS.name] = lambda: products.request("measure", timeout_s=SET_UP_S)["flops_per_s"]
        values = interleave(
            list(calls), lambda name: calls[name](), limits.rounds, lambda i: say(f"round {i + 1} of {limits.rounds}")
        )
    return values, values.pop(PRODUCTS.name)


def _rate(worker: Worker, task: Task, limits: Limits) -> float:
    """Tokens per second, from the median time of some steps."""
    answer = worker.request("measure", max_steps=limits.max_steps, seconds=limits.seconds, timeout_s=SET_UP_S)
    return task.num_targets / statistics.median(answer["step_s"])


def _warm_up(worker: Worker, contestant: Contestant, task: Task) -> None:
    _set_up(worker, contestant, task)
    worker.request("measure", max_steps=WARM_UP_STEPS, seconds=SET_UP_S, timeout_s=SET_UP_S)


def _set_up(worker: Worker, contestant: Contestant, task: Task) -> dict[str, Any]:
    return worker.request(
        "set_up",
        shape=dict(task.shape),
        precision=contestant.precision,
        compiled=contestant.compiled,
        ids=[list(row) for row in task.ids],
        threads=task.threads,
        memory_bytes=task.memory_bytes,
        timeout_s=SET_UP_S,
    )


def _set_up_products(worker: Worker, precision: str, task: Task) -> None:
    worker.request(
        "set_up", shape=dict(task.shape), num_tokens=task.num_targets, precision=precision, threads=task.threads
    )


def _start(contestant: Contestant, task: Task) -> Worker:
    return _worker(contestant.peer, contestant.name, task)


def _worker(peer: Peer, name: str, task: Task) -> Worker:
    return Worker([interpreter(peer), peer.script], name, ALLOCATORS[task.allocator])
