"""Tests of groundup.experiments.records: run folders as they are found, whole and not."""

import math
from pathlib import Path

import pytest
from experiments.runs import complete, eval_record, record, train_record, write_run, write_samples

from groundup.errors import CheckpointError
from groundup.experiments.records import column, number, read_run


def test_a_whole_run(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "fables"))
    assert run.name == "fables"
    assert (len(run.train), len(run.evals), len(run.resumed), len(run.skipped)) == (10, 2, 1, 0)
    assert run.last["step"] == 100
    assert run.best_eval is not None
    assert run.best_eval["step"] == 50
    assert run.config is not None
    assert run.config.model.d_model == 32
    assert run.environment["cores"] == 2
    assert [(moment.step, len(moment.items)) for moment in run.samples] == [(100, 2)]


def test_a_folder_plainly_called_run_is_named_after_the_one_around_it(tmp_path: Path) -> None:
    assert read_run(write_run(tmp_path / "demo" / "run")).name == "demo"


def test_a_line_cut_short_and_lines_that_are_no_records_are_passed_over(tmp_path: Path) -> None:
    folder = write_run(tmp_path, [train_record(10, 3.0)])
    with (folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('[1, 2]\n{"no": "kind"}\n{"kind": "train"}\nnot json\n{"kind": "train", "step": 20, "lo')
    assert [r["step"] for r in read_run(folder).train] == [10]


def test_values_that_are_no_numbers_are_nan() -> None:
    assert number({"loss": 1}, "loss") == 1.0
    assert number({"loss": "inf"}, "loss") == math.inf
    for value in ("nan", None, "much", [1]):
        assert math.isnan(number({"loss": value}, "loss"))
    assert math.isnan(number({}, "loss"))
    assert column([{"loss": 2.0}, {"loss": 3}], "loss") == [2.0, 3.0]


def test_the_best_validation_loss_is_a_finite_one(tmp_path: Path) -> None:
    records = [record("eval", 1, loss="nan"), eval_record(2, 3.0), record("eval", 3, loss="nan")]
    best = read_run(write_run(tmp_path, records)).best_eval
    assert best is not None
    assert best["step"] == 2
    assert read_run(write_run(tmp_path, records[:1])).best_eval is None


def test_parts_that_are_missing_or_damaged_are_empty(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "bare", config=False, environment=False, samples=False))
    assert (run.config, run.environment, run.samples) == (None, {}, ())
    folder = write_run(tmp_path / "damaged")
    (folder / "config.yaml").write_text("model: {no_such_field: 1}\n", encoding="utf-8")
    (folder / "environment.json").write_text("[]", encoding="utf-8")
    (folder / "samples" / "step-00000100.json").write_text("{", encoding="utf-8")
    run = read_run(folder)
    assert (run.config, run.environment, run.samples) == (None, {}, ())


def test_only_a_configuration_is_a_run_that_has_not_begun(tmp_path: Path) -> None:
    folder = write_run(tmp_path)
    (folder / "metrics.jsonl").unlink()
    assert read_run(folder).last == {}


def test_the_newest_record_is_the_latest_of_the_last_step(tmp_path: Path) -> None:
    records = [train_record(10, 3.0), eval_record(10, 3.0) | {"seconds": 9.0}, record("resumed", 5) | {"seconds": 99.0}]
    last = read_run(write_run(tmp_path, records)).last
    assert (last["kind"], last["seconds"]) == ("eval", 9.0)


def test_other_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="not a run folder"):
        read_run(tmp_path)
    with pytest.raises(CheckpointError, match="not a run folder"):
        read_run(tmp_path / "nowhere")


def test_samples_come_in_the_order_of_their_steps(tmp_path: Path) -> None:
    folder = write_run(tmp_path, complete(), samples=False)
    for step in (1000, 20, 300):
        write_samples(folder, step, [("", f"at {step}")])
    (folder / "samples" / "final.json").write_text('[{"prompt": "", "text": "no step"}, 7, {"text": ""}]')
    found = read_run(folder).samples
    assert [moment.step for moment in found] == [None, 20, 300, 1000]
    assert len(found[0].items) == 1
