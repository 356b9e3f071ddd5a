"""Tests of groundup.experiments.comparison: runs side by side, and where they differ."""

import math
from pathlib import Path

import pytest
from experiments.runs import train_record, write_run

from groundup.errors import CheckpointError, ConfigError
from groundup.experiments.comparison import compare_runs, picture, text_table
from groundup.recipe import changed, read_config, write_config


def other(folder: Path, **settings) -> Path:
    """A run as write_run makes it, with other settings."""
    write_run(folder)
    config = changed(read_config(folder / "config.yaml"), {k.replace("__", "."): v for k, v in settings.items()})
    (folder / "config.yaml").write_text(write_config(config), encoding="utf-8")
    return folder


def test_runs_side_by_side_with_what_differs(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / "a"), other(tmp_path / "b", optimizer__lr=0.5, model__norm="none")]
    comparison = compare_runs(runs)
    assert comparison.settings == ("model.norm", "optimizer.lr")
    first, second = comparison.rows()
    assert (first["run"], first["loss"], first["best"], first["tokens"]) == ("a", 2.5, 2.0, 6400)
    assert (second["model.norm"], second["optimizer.lr"]) == ("none", 0.5)
    assert [len(xs) for _, xs, _ in comparison.curves()] == [2, 2]
    table = text_table([first, second]).splitlines()
    assert "model.norm" in table[0] and len({len(line) for line in table}) == 1


def test_a_run_that_has_just_begun_has_gaps(tmp_path: Path) -> None:
    run = write_run(tmp_path / "new", [train_record(1, 4.0)], config=False)
    (row,) = compare_runs([run]).rows()
    assert math.isnan(row["loss"]) and math.isnan(row["parameters"])
    assert "–" in text_table([row])


def test_what_is_no_run_and_no_picture_is_said(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a run folder"):
        compare_runs([tmp_path])
    with pytest.raises(ConfigError, match=r"'a\.bmp'; use"):
        picture(compare_runs([write_run(tmp_path / "a")]), tmp_path / "a.bmp")
