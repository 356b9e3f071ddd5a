"""Tests of groundup.experiments.outcome: what a run came to, what is kept, and that it reads back equal."""

import json
import math
from pathlib import Path

import pytest
from experiments.labs import group, make_lab, results
from experiments.runs import eval_record, record, train_record

from groundup.errors import DataError
from groundup.experiments.outcome import MAX_KEPT, read_outcome, read_results, thinned, write_results


def written(folder: Path, records: list) -> Path:
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(item) + "\n" for item in records), encoding="utf-8")
    return folder


def test_the_outcome_of_a_run(tmp_path: Path) -> None:
    records = [
        train_record(1, 5.0),
        train_record(10, 3.0),
        eval_record(10, 3.2),
        train_record(20, 2.0),
        eval_record(20, 2.5),
    ]
    found = read_outcome(written(tmp_path / "it", records), seed=3, diverged="", vocab_size=300)
    assert (found.seed, found.run, found.diverged, found.loss) == (3, "it", "", 2.5)
    assert (found.steps, found.tokens, found.seconds) == (20, 1280, 10.0)


@pytest.mark.parametrize(
    ("records", "why"),
    [
        ([train_record(1, 5.0), eval_record(1, 6.3)], "0.60 nats above a guess among all 300"),
        ([train_record(1, 5.0), record("skipped", 2), train_record(2, 5.0), eval_record(2, 5.0)], "up to the end"),
        ([train_record(1, 5.0), record("eval", 1, loss="nan")], "not finite"),
        ([train_record(1, 5.0), train_record(2, 2.0), train_record(3, 2.6), eval_record(3, 2.6)], "0.60 nats above"),
    ],
)  # fmt: skip
def test_a_run_that_ends_badly_counts_as_diverged(tmp_path: Path, records, why: str) -> None:
    found = read_outcome(written(tmp_path / "it", records), seed=0, diverged="", vocab_size=300)
    assert why in found.diverged


def test_a_run_that_has_hardly_begun_has_not_diverged(tmp_path: Path) -> None:
    records = [train_record(1, 5.9), record("skipped", 2), train_record(3, 5.8), eval_record(3, 5.8)]
    found = read_outcome(written(tmp_path / "it", records), seed=0, diverged="", vocab_size=300)
    assert found.diverged == ""


def test_a_run_that_training_gave_up_has_no_loss(tmp_path: Path) -> None:
    folder = written(tmp_path / "it", [train_record(1, 5.0), eval_record(1, 4.0)])
    found = read_outcome(folder, seed=0, diverged="not finite", vocab_size=300)
    assert found.diverged == "not finite"
    assert math.isnan(found.loss)


def test_thinning_keeps_every_validation_pass_and_both_ends() -> None:
    records = [train_record(step, 5.0 - step / 1000) for step in range(1, 1001)]
    records += [eval_record(step, 1 / 3) for step in (500, 1000)]
    kept = thinned(records)
    train = [item for item in kept if item["kind"] == "train"]
    assert len(train) <= MAX_KEPT + 1
    assert (train[0]["step"], train[-1]["step"]) == (1, 1000)
    assert [item["loss"] for item in kept if item["kind"] == "eval"] == [0.333333, 0.333333]


def test_means_and_spreads_leave_out_what_diverged() -> None:
    found = group("it", [2.0, math.nan, 3.0])
    assert (found.loss, found.num_diverged) == (2.5, 1)
    assert found.spread == pytest.approx(math.sqrt(0.5))
    assert math.isnan(group("one", [2.0]).spread)


def test_results_read_back_as_they_were_written(tmp_path: Path, prepared: Path) -> None:
    lab = make_lab(prepared, tmp_path)
    ours = results(lab, [group("a", [2.0, 2.5], x=0.1, **{"optimizer.lr": 0.1}), group("b", [math.nan])], {"k": [1]})
    (tmp_path / "page" / "metrics").mkdir(parents=True)
    (tmp_path / "page" / "metrics" / "old.jsonl").touch()
    write_results(ours, tmp_path / "page", name="it")
    name, theirs = read_results(tmp_path / "page")
    assert name == "it"
    assert theirs.groups[0] == ours.groups[0]
    assert theirs.groups[1].outcomes[0].diverged and math.isnan(theirs.groups[1].outcomes[0].loss)
    assert (json.dumps(theirs.facts), theirs.measured) == (json.dumps(ours.facts), ours.measured)
    assert not (tmp_path / "page" / "metrics" / "old.jsonl").exists()
    json.loads((tmp_path / "page" / "result.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)


def test_what_is_no_result_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no result\.json"):
        read_results(tmp_path)
    (tmp_path / "result.json").write_text('{"groups": 3}', encoding="utf-8")
    with pytest.raises(DataError, match="is not the result of an experiment"):
        read_results(tmp_path)
