"""Tests of groundup.experiments.search: it finds the best, gives up the hopeless, and goes on where it stopped."""

from pathlib import Path

import pytest
from experiments.labs import FakeTrainer, make_lab

from groundup.errors import ConfigError
from groundup.experiments.search import search
from groundup.experiments.sweep import Choice, Range
from groundup.recipe import changed, read_config

SETTINGS = [
    Range("optimizer.lr", 1e-4, 1.0),
    Range("training.batch_size", 2.0, 16.0),
    Choice("model.norm", ("pre", "none")),
]


def run(prepared: Path, tmp_path: Path, train, num_trials: int, settings=SETTINGS):
    recipe = changed(make_lab(prepared, tmp_path).base, {"training.max_steps": 8})
    said: list[str] = []
    out = tmp_path / "out"
    return search(recipe, settings, out=out, num_trials=num_trials, train=train, say=said.append), said


def test_a_search_finds_a_good_rate_and_goes_on_later(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    train = FakeTrainer()
    run(prepared, tmp_path, train, 3)
    assert len(train.calls) == 3
    best, said = run(prepared, tmp_path, train, 8)
    assert len(train.calls) == 8
    assert best is not None and 5e-4 < best.optimizer.lr < 0.2 and 2 <= best.training.batch_size <= 16
    assert len({config.optimizer.lr for config in train.calls}) == 8
    assert any("given up" in line for line in said)
    assert read_config(tmp_path / "out" / "best.yaml").optimizer.lr == best.optimizer.lr
    with pytest.raises(ConfigError, match="holds a search over other settings"):
        run(prepared, tmp_path, train, 9, settings=SETTINGS[:1])


def test_a_trial_that_was_killed_is_taken_up_again(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")

    def killed(config, **options):
        asked.append(config.optimizer.lr)
        raise KeyboardInterrupt

    asked: list[float] = []
    with pytest.raises(KeyboardInterrupt):
        run(prepared, tmp_path, killed, 1)
    train = FakeTrainer()
    run(prepared, tmp_path, train, 1)
    assert [config.optimizer.lr for config in train.calls] == asked


def test_where_everything_diverges_there_is_no_best(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    assert run(prepared, tmp_path, FakeTrainer(lambda config: float("nan")), 2)[0] is None
