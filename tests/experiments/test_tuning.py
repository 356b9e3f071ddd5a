"""Tests of groundup.experiments.tuning: each thing gets a rate of its own, found beyond the edge if it lies there."""

import math
from pathlib import Path

import pytest
from experiments.labs import FakeTrainer, make_lab

from groundup.experiments.runner import carry_out, run_trial
from groundup.experiments.study import Study
from groundup.experiments.tuning import Tuned


def tune(tmp_path: Path, prepared: Path, tuned: Tuned, best_rate: float):
    """The results with a loss that is lowest at `best_rate`, which is NaN for a loss that never is finite."""

    def loss_of(config):
        return 2 + abs(math.log(config.optimizer.lr / best_rate)) / 10

    lab = make_lab(prepared, tmp_path)
    study = Study("it", "", "", "", tuned.variants, lambda results: [])
    return carry_out(study, lab, lambda config: run_trial(config, train=FakeTrainer(loss_of)))


@pytest.mark.parametrize(
    ("best_rate", "tried", "chosen"),
    [
        (0.01, [0.0032, 0.01, 0.032], 0.01),
        (0.1, [0.0032, 0.01, 0.032, 0.1, 0.32], 0.1),
        (0.001, [0.0003, 0.001, 0.0032, 0.01, 0.032], 0.001),
        (9.0, [0.0032, 0.01, 0.032, 0.1, 0.32], 0.32),
    ],
)
def test_the_best_rate_is_found_and_repeated(tmp_path, prepared, best_rate, tried, chosen) -> None:
    tuned = Tuned("it", "it", {}, (0.0032, 0.01, 0.032))
    results = tune(tmp_path, prepared, tuned, best_rate)
    rates = {group.variant.settings["optimizer.lr"]: len(group.outcomes) for group in results.groups}
    assert list(rates) == pytest.approx(tried, rel=0.1)
    best = tuned.best(results)
    assert best is not None and best.variant.settings["optimizer.lr"] == pytest.approx(chosen, rel=0.1)
    assert [rate for rate, runs in rates.items() if runs == 2] == [best.variant.settings["optimizer.lr"]]


def test_rates_to_be_repeated_are(tmp_path, prepared) -> None:
    results = tune(tmp_path, prepared, Tuned("it", "it", {}, (0.001, 0.01, 0.1), repeated=(0.1,)), 0.01)
    assert [len(group.outcomes) for group in results.groups] == [1, 2, 2]


def test_where_all_diverge_lower_rates_are_tried_and_none_is_best(tmp_path, prepared) -> None:
    tuned = Tuned("it", "it", {}, (0.01, 0.1))
    results = tune(tmp_path, prepared, tuned, math.nan)
    assert [group.variant.settings["optimizer.lr"] for group in results.groups] == [0.001, 0.0032, 0.01, 0.1]
    assert tuned.best(results) is None
