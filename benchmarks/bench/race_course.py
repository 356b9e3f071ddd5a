"""The race of race.py: its rules, the way along it, and who was how fast. Pure but for the workers it speaks to.

Each side has a schedule of its own that ends when its time does. Batches are windows of the same shards in the same
order for all; a side that is faster comes further in that order.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bench.contest import Contestant
from bench.notes import say
from groundup.data.order import window_starts
from groundup.optim.schedule import cosine_schedule

WARM_UP_UPDATES = 3
UPDATES_S = 3600.0  # that a worker may take for what it is asked at once
MIN_UPDATES = 10


@dataclass(frozen=True)
class Rules:
    """What holds for every side.

    Args:
        shape: Of the model.
        minutes: Of training, for which the schedules are planned; validation and saving do not count.
        batch_size: Sequences of an update.
        lr: Peak rate of AdamW; the schedule rises over the first 2 % and falls as a cosine to a tenth.
        max_norm: Gradients are clipped to this global norm.
        seed: Of initial weights and of the order of the data.
        same_start: All begin with the same weights, not each with those it makes itself.
        validations: Passes over the validation windows, evenly over the updates, besides the one before the first.
        validation_windows: How many windows of the held-out text such a pass has.
        turn_s: Seconds of training after which the other side goes on.
        threads: Of each side.
    """

    shape: Mapping[str, int]
    minutes: float
    batch_size: int
    lr: float
    max_norm: float
    seed: int
    same_start: bool
    validations: int
    validation_windows: int
    turn_s: float
    threads: int


@dataclass(frozen=True)
class Text:
    """Files with raw ids, and how many ids they hold."""

    files: Mapping[str, str]
    num_ids: Mapping[str, int]


@dataclass(frozen=True)
class Leg:
    """What one side is to do: its way to train, and how many updates its time holds."""

    precision: str
    compiled: bool
    update_s: float
    updates: int


def plan_leg(minutes: float, times: Mapping[str, float], ways: Mapping[str, Contestant]) -> Leg:
    """The fastest of the ways, by seconds of an update, with the number of updates that fit into the time.

    >>> from bench.contest import OURS
    >>> plan_leg(1.0, {"a": 3.0, "b": 2.0}, {"a": Contestant(OURS, "float32", False), "b": Contestant(OURS, "x", True)})
    Leg(precision='x', compiled=True, update_s=2.0, updates=30)
    """
    fastest = min(times, key=times.__getitem__)
    updates = max(MIN_UPDATES, round(60 * minutes / times[fastest]))
    return Leg(ways[fastest].precision, ways[fastest].compiled, times[fastest], updates)


def learning_rates(rules: Rules, updates: int, first: int, count: int) -> list[float]:
    """The rates of `count` updates, counted from 0, of a schedule of `updates`."""
    warmup = max(1, updates // 50)
    return [
        cosine_schedule(step + 1, max_lr=rules.lr, min_lr=rules.lr / 10, warmup_steps=warmup, decay_steps=updates)
        for step in range(first, first + count)
    ]


def batch_starts(rules: Rules, text: Text, first: int, count: int) -> list[list[int]]:
    """For each of `count` updates where its windows start in the training ids: as `groundup train` draws them."""
    positions = np.arange(first * rules.batch_size, (first + count) * rules.batch_size, dtype=np.int64)
    starts = window_starts(positions, text.num_ids["train"], rules.shape["context_length"], seed=rules.seed)
    return starts.reshape(count, rules.batch_size).tolist()


def validation_starts(rules: Rules, text: Text) -> list[int]:
    """The windows of each validation pass: the first ones of the held-out ids, end to end."""
    length = rules.shape["context_length"]
    return [place * length for place in range(min(rules.validation_windows, (text.num_ids["valid"] - 1) // length))]


def stops(updates: int, validations: int) -> list[int]:
    """After how many updates a side is evaluated: evenly, and always at the end.

    >>> stops(10, 4)
    [2, 5, 7, 10]
    """
    return sorted({max(1, updates * number // validations) for number in range(1, validations + 1)})


class Runner:
    """One side on its way. `request` speaks to its worker; what it remembers is saved there with weights and optimizer.

    A point of the curve is {"step", "seconds", "loss"}: updates, seconds of training, validation loss in nats.
    """

    def __init__(self, name: str, request: Callable[..., dict[str, Any]], rules: Rules, text: Text, leg: Leg) -> None:
        self.name, self.leg = name, leg
        self._request, self._rules, self._text = request, rules, text
        self._stops = stops(leg.updates, rules.validations)
        self.step, self.seconds = 0, 0.0
        self.curve: list[dict[str, float]] = []
        self.losses: list[float] = []  # of each update

    @property
    def is_done(self) -> bool:
        return self.step == self.leg.updates

    def resume(self, memory: Mapping[str, Any] | None) -> None:
        """Take up what was saved; without it, begin with the validation loss of the untrained model."""
        if memory is None:
            self._evaluate()
            return
        self.step, self.seconds = memory["step"], memory["seconds"]
        self.curve, self.losses = memory["curve"], memory["losses"]
        say(f"{self.name}: goes on after {self.step:,} of {self.leg.updates:,} updates")

    def take_turn(self) -> None:
        """Train for about a turn, evaluate where that is due on the way, and save."""
        count = max(1, round(self._rules.turn_s / self.leg.update_s))
        end = min(self.step + count, self.leg.updates)
        while self.step < end:
            self._train(min([end, *(stop for stop in self._stops if stop > self.step)]) - self.step)
            if self.step in self._stops:
                self._evaluate()
        memory = {"step": self.step, "seconds": self.seconds, "curve": self.curve, "losses": self.losses}
        self._request("race_save", memory=memory, timeout_s=UPDATES_S)

    def _train(self, count: int) -> None:
        answer = self._request(
            "race_train",
            starts=batch_starts(self._rules, self._text, self.step, count),
            rates=learning_rates(self._rules, self.leg.updates, self.step, count),
            timeout_s=UPDATES_S,
        )
        self.step += count
        self.seconds += sum(answer["seconds"])
        self.losses += answer["losses"]

    def _evaluate(self) -> None:
        answer = self._request("race_evaluate", starts=validation_starts(self._rules, self._text), timeout_s=UPDATES_S)
        self.curve.append({"step": self.step, "seconds": self.seconds, "loss": answer["loss"]})
        say(f"{self.name}: update {self.step:,} of {self.leg.updates:,}, {self.seconds:,.0f} s, {answer['loss']:.4f}")


def update_time(request: Callable[..., dict[str, Any]], rules: Rules, text: Text, seconds: float) -> float:
    """Median seconds of an update, of about `seconds` of them after a warm-up. The model has changed afterwards."""
    request("race_train", **_updates(rules, text, 0, WARM_UP_UPDATES), timeout_s=UPDATES_S)
    times: list[float] = []
    while not times or sum(times) < seconds:
        times += request("race_train", **_updates(rules, text, len(times), 1), timeout_s=UPDATES_S)["seconds"]
    return statistics.median(times)


def time_to_reach(curve: Sequence[Mapping[str, float]], loss: float) -> float | None:
    """Seconds of training until the curve has come down to `loss`, on straight lines between its points; None: never.

    >>> time_to_reach([{"seconds": 0, "loss": 9.0}, {"seconds": 10, "loss": 5.0}, {"seconds": 20, "loss": 4.0}], 4.5)
    15.0
    """
    before = None
    for point in curve:
        if point["loss"] <= loss:
            if before is None:
                return float(point["seconds"])
            part = (before["loss"] - loss) / (before["loss"] - point["loss"])
            return before["seconds"] + part * (point["seconds"] - before["seconds"])
        before = point
    return None


def verdict(ours: Sequence[Mapping[str, float]], theirs: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """How soon ours was where theirs ended: its seconds, and what part of their time that is (None: never)."""
    goal, their_seconds = theirs[-1]["loss"], theirs[-1]["seconds"]
    reached = time_to_reach(ours, goal) if math.isfinite(goal) else None
    return {
        "their_loss": goal,
        "their_seconds": their_seconds,
        "our_loss": ours[-1]["loss"],
        "our_seconds": ours[-1]["seconds"],
        "reached_s": reached,
        "part_of_time": None if reached is None else reached / their_seconds,
    }


def describe_plan(rules: Rules, legs: Mapping[str, Leg]) -> dict[str, Any]:
    """Rules and legs as JSON keeps them."""
    return {"rules": asdict(rules), "legs": {name: asdict(leg) for name, leg in legs.items()}}


def _updates(rules: Rules, text: Text, first: int, count: int) -> dict[str, Any]:
    return {"starts": batch_starts(rules, text, first, count), "rates": [rules.lr / 100] * count}
