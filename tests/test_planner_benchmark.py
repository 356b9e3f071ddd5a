"""benchmarks/planner.py: neighbours of a plan differ in one choice and get the same time."""

import json
import sys
from pathlib import Path

import pytest

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import planner
from bench.plot import plot_neighbours
from bench.results import keep_results

from groundup.data.excerpt import Corpus
from groundup.training.planner import Machine, plan_run
from groundup.training.step_cost import TYPICAL, StepCost

ENTRIES = ((512, 1.9), (1024, 2.3), (2048, 2.6), (4096, 2.9))


@pytest.fixture(scope="module")
def runs():
    corpus = Corpus(
        size_bytes=1_100_000, is_whole=True, documents=1, bytes_per_token=ENTRIES, packed_bits_per_byte=2.3,
        read_bytes_per_s=50e6, encode_bytes_per_s=10e6,
    )  # fmt: skip
    machine = Machine(StepCost(tuple(TYPICAL.tolist())), token_s=0.001, memory_bytes=8 << 30)
    plan = plan_run(corpus, machine, seconds=300.0)
    return machine, list(planner.neighbours(plan, machine, ENTRIES))


def test_each_choice_has_a_neighbour_in_the_same_time(runs):
    machine, (base, *others) = runs
    assert base.choice == "plan" and {run.choice for run in others} == set(planner.CHOICES)
    time_s = base.plan.steps * machine.cost.update_s(base.plan.model, base.plan.batch_size)
    for run in others:
        update_s = machine.cost.update_s(run.plan.model, run.plan.batch_size)
        assert abs(run.plan.steps * update_s - time_s) <= 0.51 * update_s, run.choice
        assert run.plan != base.plan


def test_the_result_is_kept_with_its_picture(runs, tmp_path):
    _, found = runs
    losses = [{"choice": run.choice, "value": run.value, "bits_per_byte": 2.0 + 0.01 * i, "steps": 10, "tokens": 10}
              for i, run in enumerate(found)]  # fmt: skip
    record = {
        "benchmark": "planner", "date": "2026-01-01", "machine": {"processor": "Test"}, "corpus": ["mine.txt"],
        "seconds": 60.0, "runs": losses,
    }  # fmt: skip
    assert len(planner._table(losses)) == len(found) + 1
    keep_results(record, plot_neighbours, tmp_path)
    assert json.loads((tmp_path / "2026-01-01-test-planner.json").read_text(encoding="utf-8"))["runs"] == losses
    assert (tmp_path / "2026-01-01-test-planner.png").stat().st_size > 1000
