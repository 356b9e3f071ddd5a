"""What decides in benchmarks/race.py: schedules, batches, turns, resuming, who was how soon where.

Ours races against torch's own model on a toy, with real steps and a plan made up here.
"""

import contextlib
import dataclasses
import functools
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks" / "workers"))

import race
import train_groundup
import train_torch
from bench.contest import HUGGING_FACE, OURS, Contestant
from bench.race_course import (
    MIN_UPDATES,
    Leg,
    Rules,
    Runner,
    Text,
    batch_starts,
    describe_plan,
    learning_rates,
    plan_leg,
    time_to_reach,
    update_time,
    validation_starts,
    verdict,
)
from bench.training_plot import plot_race
from model_shape import Shape
from racing import Racer

from groundup.data.batches import batch_at

RULES = Rules(
    shape={"vocab_size": 50, "context_length": 8, "d_model": 16, "d_ff": 24, "num_layers": 1, "num_heads": 2},
    minutes=1.0,
    batch_size=4,
    lr=1e-2,
    max_norm=1.0,
    seed=3,
    same_start=True,
    validations=3,
    validation_windows=5,
    turn_s=4.0,
    threads=torch.get_num_threads(),
)
LEG = Leg("float32", compiled=False, update_s=1.0, updates=10)


@pytest.fixture
def text(tmp_path) -> Text:
    ids = {"train": np.arange(1000) * 7 % 50, "valid": np.arange(100) * 7 % 50}
    for name, values in ids.items():
        values.astype("<u2").tofile(tmp_path / f"{name}.bin")
    return Text({name: str(tmp_path / f"{name}.bin") for name in ids}, {name: len(each) for name, each in ids.items()})


@pytest.fixture
def start(text, tmp_path):
    """How to have a side at the start or, where it was before, on its way."""
    with contextlib.ExitStack() as settings:
        builds = {"ours": functools.partial(train_groundup.build, settings), "torch": train_torch.build}

        def runner(side: str, leg: Leg = LEG) -> Runner:
            racer = Racer(lambda shape, precision: builds[side](Shape(**shape), precision), {"torch": "any"})
            fields = {"shape": dict(RULES.shape), "precision": "float32", "compiled": False, "threads": RULES.threads}
            fields |= {"seed": RULES.seed, "same_start": RULES.same_start, "max_norm": RULES.max_norm}
            facts = racer.set_up(**fields, files=dict(text.files), state_file=str(tmp_path / f"{side}.pt"))

            def request(operation, *, timeout_s, **fields):
                return racer.operations[operation](**json.loads(json.dumps(fields)))

            found = Runner(side, request, RULES, text, leg)
            found.resume(facts["memory"])
            return found

        yield runner


def losses_of(curve: list[dict]) -> list[float]:
    return [point["loss"] for point in curve]


# The way


def test_the_fastest_way_is_taken_for_as_many_updates_as_the_time_holds():
    ways = {name: Contestant(OURS, name, compiled=name == "fast") for name in ("slow", "fast")}
    assert plan_leg(2.0, {"slow": 3.0, "fast": 1.5}, ways) == Leg("fast", True, 1.5, 80)
    assert plan_leg(0.1, {"slow": 60.0}, ways).updates == MIN_UPDATES


def test_a_schedule_ends_with_its_own_updates():
    rates = learning_rates(RULES, 100, 0, 100)
    assert rates[0] == pytest.approx(RULES.lr / 2) and max(rates) == rates[1] == RULES.lr
    assert rates[-1] == pytest.approx(RULES.lr / 10)
    assert learning_rates(RULES, 100, 30, 5) == rates[30:35]
    assert learning_rates(RULES, 10, 0, 10)[-1] == pytest.approx(RULES.lr / 10)


def test_batches_are_those_of_our_training(text):
    ids = np.fromfile(text.files["train"], dtype="<u2")
    starts = batch_starts(RULES, text, 5, 2)
    assert starts == [*batch_starts(RULES, text, 5, 1), *batch_starts(RULES, text, 6, 1)]
    for step, row in zip((5, 6), starts, strict=True):
        inputs, _ = batch_at(ids, step=step, batch_size=4, context_length=8, seed=RULES.seed)
        assert [ids[start : start + 8].tolist() for start in row] == inputs.tolist()


def test_validation_windows_lie_end_to_end_and_have_targets(text):
    assert validation_starts(RULES, text) == [0, 8, 16, 24, 32]
    short = Text(text.files, {"train": 9, "valid": 24})  # 23 targets
    assert validation_starts(RULES, short) == [0, 8]


# Sides on their way


def test_the_same_start_and_batches_give_the_same_curve(start):
    ours, theirs = start("ours"), start("torch")
    for runner in (ours, theirs):
        while not runner.is_done:
            runner.take_turn()
    assert [point["step"] for point in ours.curve] == [0, 3, 6, 10]
    assert losses_of(ours.curve) == pytest.approx(losses_of(theirs.curve), abs=2e-3)
    assert ours.losses == pytest.approx(theirs.losses, abs=2e-3) and len(ours.losses) == 10
    assert losses_of(ours.curve)[-1] < losses_of(ours.curve)[0] - 0.1
    times = [point["seconds"] for point in ours.curve]
    assert times[0] == 0 < times[1] < times[2] < times[3]


@pytest.mark.parametrize("side", ["ours", "torch"])
def test_a_side_that_was_stopped_goes_on_as_if_it_had_not_been(start, side, tmp_path):
    whole = start(side)
    while not whole.is_done:
        whole.take_turn()
    (tmp_path / f"{side}.pt").unlink()
    parted = start(side)
    parted.take_turn()
    parted.take_turn()
    assert parted.step == 8 and not parted.is_done
    resumed = start(side)
    assert (resumed.step, resumed.seconds, resumed.curve) == (8, parted.seconds, parted.curve)
    resumed.take_turn()
    assert resumed.is_done
    assert resumed.losses == whole.losses and losses_of(resumed.curve) == losses_of(whole.curve)
    assert start(side).is_done


def test_gradients_are_clipped_and_rates_obeyed(start):
    runner = start("torch")
    before = runner._request("race_evaluate", starts=[0], timeout_s=1)["loss"]
    runner._request("race_train", starts=[[0, 8, 16, 24]], rates=[0.0], timeout_s=1)
    assert runner._request("race_evaluate", starts=[0], timeout_s=1)["loss"] == before
    runner._request("race_train", starts=[[0, 8, 16, 24]], rates=[0.1], timeout_s=1)
    assert runner._request("race_evaluate", starts=[0], timeout_s=1)["loss"] != before


def test_an_update_is_timed_for_as_long_as_asked(text):
    asked = []

    def request(operation, *, timeout_s, starts, rates):
        asked.append(len(starts))
        return {"seconds": [2.0] * len(starts)}

    assert update_time(request, RULES, text, 5.0) == 2.0
    assert asked == [3, 1, 1, 1]


# The verdict


CURVE = [
    {"step": 0, "seconds": 0.0, "loss": 9.0},
    {"step": 5, "seconds": 10.0, "loss": 5.0},
    {"step": 9, "seconds": 20.0, "loss": 4.0},
]


@pytest.mark.parametrize(
    ("loss", "seconds"), [(4.0, 20.0), (4.5, 15.0), (5.0, 10.0), (7.0, 5.0), (9.5, 0.0), (3.9, None)]
)
def test_the_time_to_a_loss_lies_on_the_lines_of_the_curve(loss, seconds):
    assert time_to_reach(CURVE, loss) == seconds


def test_the_verdict_is_a_part_of_their_time():
    theirs = [CURVE[0], {"step": 7, "seconds": 30.0, "loss": 4.5}]
    found = verdict(CURVE, theirs)
    assert (found["reached_s"], found["part_of_time"]) == (15.0, 0.5)
    assert verdict(theirs, CURVE)["part_of_time"] is None
    assert verdict(CURVE, [CURVE[0] | {"loss": float("nan")}])["reached_s"] is None


@pytest.fixture
def record() -> dict:
    theirs = [CURVE[0], {"step": 7, "seconds": 30.0, "loss": 4.5}]
    return {
        "date": "2025-03-01",
        "machine": {"processor": "Some CPU", "torch": "2.0"},
        "threads": 2,
        "rules": {"batch_size": 8, "shape": {"context_length": 256}},
        "sides": {
            OURS.name: {"way": "groundup float32 eager", "curve": CURVE},
            HUGGING_FACE.name: {"way": "huggingface float32 eager", "curve": theirs},
        },
        "verdict": verdict(CURVE, theirs),
    }


def test_the_table_tells_who_was_how_soon_where(record):
    header, ours, theirs, last = race.race_table(record).splitlines()
    assert header.split()[:3] == ["side", "way", "updates"]
    assert ours.split()[-4:] == ["9", "18,432", "0.33", "4.0000"]
    assert theirs.split()[-4:] == ["7", "14,336", "0.50", "4.5000"]
    assert last.startswith("ours came down to 4.5000 after 0.25 minutes, 50% of their time")
    record["verdict"] |= {"reached_s": None}
    assert race.race_table(record).splitlines()[-1] == "ours never came down to 4.5000"


def test_the_race_is_drawn(record, tmp_path):
    for number in range(2):
        plot_race(record, tmp_path / f"{number}.png")
        assert (tmp_path / f"{number}.png").read_bytes().startswith(b"\x89PNG")
        record["verdict"] |= {"reached_s": None}


def test_a_plan_under_other_rules_is_not_taken_up(tmp_path, text):
    (tmp_path / "plan.json").write_text(json.dumps(describe_plan(RULES, {OURS.name: LEG})), encoding="utf-8")
    assert race.read_or_make_plan(RULES, text, "float32", tmp_path) == {OURS.name: LEG}
    with pytest.raises(SystemExit, match="holds a race under other rules"):
        race.read_or_make_plan(dataclasses.replace(RULES, lr=1.0), text, "float32", tmp_path)
