"""Tests of groundup.experiments.runner: nothing is run twice, what was stopped goes on, divergence is a result."""

import dataclasses
from pathlib import Path
from types import SimpleNamespace

import pytest
from experiments.labs import FakeTrainer, make_lab

from groundup.errors import DataError, DivergenceError
from groundup.experiments.catalog import find_study
from groundup.experiments.lab import Variant
from groundup.experiments.runner import planned_runs, run_study, run_trial, spare_disk


def run(name: str, lab, train):
    return run_study(find_study(name), lab, command="", train=train, say=lambda text: None)


def test_a_finished_study_is_not_run_again(tmp_path: Path, prepared: Path) -> None:
    lab, train = make_lab(prepared, tmp_path), FakeTrainer()
    first = run("learning-rate", lab, train)
    assert len(train.calls) == 6
    again = FakeTrainer()
    assert repr(run("learning-rate", lab, again).groups) == repr(first.groups)
    assert again.calls == []


def test_all_variants_get_their_first_seed_first(tmp_path: Path, prepared: Path) -> None:
    train = FakeTrainer()
    run("positions", make_lab(prepared, tmp_path), train)
    assert [config.training.seed for config in train.calls] == [0, 0, 1, 1]


def test_experiments_share_their_equal_runs(tmp_path: Path, prepared: Path) -> None:
    lab = make_lab(prepared, tmp_path)
    run("positions", lab, FakeTrainer())
    second = FakeTrainer()
    run("gating", lab, second)
    assert [config.model.ffn for config in second.calls] == ["silu", "silu"]


def test_a_stopped_study_goes_on_with_what_is_missing(tmp_path: Path, prepared: Path) -> None:
    lab, train = make_lab(prepared, tmp_path), FakeTrainer()

    def stopped_at_the_third(config, **options):
        if len(train.calls) == 2:
            return SimpleNamespace(stopped_by=15)
        return train(config, **options)

    with pytest.raises(KeyboardInterrupt):
        run("positions", lab, stopped_at_the_third)
    assert len(train.calls) == 2
    rest = FakeTrainer()
    run("positions", lab, rest)
    assert [config.training.seed for config in rest.calls] == [1, 1]


def test_divergence_is_a_result_and_any_other_failure_is_none(tmp_path: Path, prepared: Path) -> None:
    lab = make_lab(prepared, tmp_path)
    config = lab.config(Variant("it", "it", {}, 1), 0)

    def diverging(config, **options):
        FakeTrainer()(config, **options)
        raise DivergenceError("no")

    def failing(config, **options):
        raise DataError("another thing")

    with pytest.raises(DataError, match="another thing"):
        run_trial(config, train=failing)
    outcome = run_trial(config, train=diverging)
    assert outcome.diverged == "loss or gradients were not finite"
    assert not (Path(config.out) / "checkpoints").exists()
    assert repr(run_trial(config, train=failing)) == repr(outcome)


def test_a_finished_run_keeps_the_weights_of_its_last_checkpoint(tmp_path: Path) -> None:
    for step in (1, 2):
        folder = tmp_path / "checkpoints" / f"step-0000000{step}"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").touch()
        (folder / "optimizer.safetensors").touch()
    (tmp_path / "checkpoints" / "best").write_text("step-00000001\n", encoding="utf-8")
    spare_disk(tmp_path, keeps_weights=True)
    kept = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert kept == ["checkpoints/step-00000002/model.safetensors"]


def test_the_number_of_runs_is_known_before(tmp_path: Path, prepared: Path) -> None:
    lab = make_lab(prepared, tmp_path)
    train, study = FakeTrainer(), find_study("norm")
    planned = planned_runs(study, lab)
    run("norm", lab, train)
    assert sorted(config.out for config in train.calls) == sorted(config.out for config in planned)


def test_a_true_study_of_two_runs(tmp_path: Path, prepared: Path) -> None:
    lab = dataclasses.replace(make_lab(prepared, tmp_path, num_seeds=1), tokens=256)
    results = run("positions", lab, None)
    with_rope, without = results.groups
    assert with_rope.outcomes[0].steps == without.outcomes[0].steps == 4
    assert 0 < with_rope.loss < 7 and 0 < without.loss < 7 and with_rope.loss != without.loss
    assert len(with_rope.outcomes[0].records) == 8
