"""Tests of groundup.experiments.sweep: every combination, checked before the first run."""

from pathlib import Path

import pytest
from experiments.labs import FakeTrainer, make_lab

from groundup.errors import ConfigError
from groundup.experiments.study_page import render_page
from groundup.experiments.sweep import Choice, Range, grid, parse_setting, run_grid
from groundup.recipe import changed


def recipe(prepared: Path, tmp_path: Path):
    return changed(make_lab(prepared, tmp_path).base, {"training.max_steps": 8})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("optimizer.lr", "write name=value,value"),
        ("=3", "write name=value,value"),
        ("optimizer.lr=a..b", "both ends must be numbers"),
        ("optimizer.lr=2..1", "the lower end must come first"),
    ],
)
def test_a_setting_that_means_nothing_is_said(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        parse_setting(text)


def test_every_combination_with_the_types_of_the_recipe(prepared: Path, tmp_path: Path) -> None:
    choices = [Choice("optimizer.lr", ("1e-3", "0.1")), Choice("model.norm", ("none", "pre"))]
    points = grid(recipe(prepared, tmp_path), choices)
    assert points[0] == {"optimizer.lr": 0.001, "model.norm": "none"} and len(points) == 4


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ([Range("optimizer.lr", 1.0, 2.0)], "a range a search"),
        ([Choice("optimizer.lr", ("1", "2")), Choice("optimizer.lr", ("3",))], "given twice"),
        ([Choice("optimizer.rate", ("1",))], "unknown option --optimizer.rate"),
        ([Choice("model.d_model", ("16", "17"))], "must be a multiple of num_heads"),
    ],
)
def test_what_cannot_work_is_said_before_any_run(prepared: Path, tmp_path: Path, choices, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        grid(recipe(prepared, tmp_path), choices)


def test_a_grid_makes_its_runs_once_and_writes_what_it_found(prepared: Path, tmp_path: Path) -> None:
    base = recipe(prepared, tmp_path)
    points = grid(base, [Choice("optimizer.lr", ("1e-3", "1e-2", "1"))])
    train = FakeTrainer()
    for _ in range(2):
        study, results = run_grid(
            base, points, out=tmp_path / "out", num_seeds=2, command="it", train=train, say=lambda text: None
        )
    assert len(train.calls) == 6
    assert all(config.training.max_steps == 8 for config in train.calls)
    assert study.x_name == "optimizer.lr" and [group.variant.x for group in results.groups] == [1e-3, 1e-2, 1.0]
    page = render_page(study, results, [])
    assert "2.005 ± 0.007 nats per token, is that of lr 0.01" in page
    assert "Both runs with lr 1 diverged" in page
