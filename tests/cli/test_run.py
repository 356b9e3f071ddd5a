"""`groundup run` on a tiny text with a machine that is not measured: the whole path, a stop on it, and bad input."""

import dataclasses
import json
import os
import signal

import pytest

from groundup.checkpoint import find_checkpoint, load_run
from groundup.cli import run
from groundup.cli.main import main
from groundup.training import loop, measure, planner
from groundup.training.planner import Machine
from groundup.training.step_cost import TYPICAL, StepCost


@pytest.fixture
def mine(text, tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The same plan each time, for a slow machine and so for a small model; the clock is not asked to keep time."""

    plan_once = planner.plan_run

    def same_plan(corpus, machine, *, seconds, spent_s):
        corpus = dataclasses.replace(corpus, read_bytes_per_s=1e6, encode_bytes_per_s=1e6)
        return plan_once(corpus, machine, seconds=seconds, spent_s=1.0)

    cost = StepCost(tuple((20 * TYPICAL).tolist()))
    monkeypatch.setattr(planner, "plan_run", same_plan)
    monkeypatch.setattr(planner, "paid_by_measure", lambda plan, *_, **__: dataclasses.replace(plan, steps=24))
    monkeypatch.setattr(measure, "measure_machine", lambda seconds: Machine(cost, 0.05, 1 << 33))
    monkeypatch.setattr(measure, "measure_update", lambda plan, seconds: 0.2)
    monkeypatch.setattr(run, "LOOKS", 1e-9)  # never look after the end: the number of updates is that of the plan


@pytest.fixture
def groundup_run(mine, tmp_path, capsys):
    def call(*options, out="out"):
        code = main(["run", str(mine), "--minutes", "0.2", "--out", str(tmp_path / out), *options])
        printed, err = capsys.readouterr()
        return code, printed, err

    return call


def test_the_whole_path(groundup_run, tmp_path):
    code, printed, err = groundup_run()
    assert code == 0, err
    for name in ("text", "held out", "vocabulary", "model", "batch", "learning rate", "dropout", "expected loss"):
        assert name in printed
    assert "predicted" in printed and "reached" in printed and "asked 12 s, used" in printed
    mark = json.loads((tmp_path / "out" / "plan.json").read_text(encoding="utf-8"))
    finished = load_run(tmp_path / "out" / "run", which="latest")
    assert finished.state.step == mark["plan"]["steps"]
    assert finished.config.model.d_model == mark["plan"]["model"]["d_model"]
    assert 0 < mark["finished"]["bits_per_byte"] < 8
    assert (tmp_path / "out" / "run" / "report.html").exists()

    code, _, err = groundup_run()
    assert code == 2 and "finished" in err.splitlines()[-1] and "--out" in err.splitlines()[-1]


def test_plan_only_writes_nothing(groundup_run, tmp_path):
    code, printed, _ = groundup_run("--plan-only", "--json")
    assert code == 0 and json.loads(printed)["plan"]["steps"] > 0
    assert not (tmp_path / "out").exists()


def test_stopped_and_gone_on_with_equals_one_that_was_not(groundup_run, tmp_path, monkeypatch):
    assert groundup_run(out="whole")[0] == 0
    update = loop.update

    def stopping(session, loss):
        if session.state.step == 12:
            os.kill(os.getpid(), signal.SIGTERM)
        return update(session, loss)

    monkeypatch.setattr(loop, "update", stopping)
    code, _, err = groundup_run()
    assert code == 128 + signal.SIGTERM and "the same command goes on" in err
    monkeypatch.setattr(loop, "update", update)
    code, printed, err = groundup_run("--resume", "--json")
    assert code == 0 and "Going on from step 13" in err
    assert json.loads(printed)["steps"] == load_run(tmp_path / "whole" / "run", which="latest").state.step
    whole, parts = (find_checkpoint(tmp_path / out / "run") / "model.safetensors" for out in ("whole", "out"))
    assert whole.read_bytes() == parts.read_bytes()


def test_ctrl_c_before_training_leaves_a_folder_to_start_again_in(groundup_run, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "_config", interrupted)
        assert groundup_run()[0] == 130
    assert groundup_run()[0] == 0


def one_sentence(err):
    last = err.strip().splitlines()[-1]
    assert last.startswith("groundup run: error: ") and "Traceback" not in err
    return last


@pytest.mark.parametrize(
    ("minutes", "says"), [("0", "0; it must be positive"), ("-1", "-1"), ("nan", "nan"), ("inf", "below a million")]
)
def test_minutes_must_be_positive(groundup_run, tmp_path, minutes, says):
    code, _, err = groundup_run("--minutes", minutes)
    assert code == 2 and says in one_sentence(err) and not (tmp_path / "out").exists()


@pytest.mark.parametrize(("content", "says"), [("", "no text"), ("Short.", "6 bytes")])
def test_too_little_text(groundup_run, mine, tmp_path, content, says):
    mine.write_text(content, encoding="utf-8")
    code, _, err = groundup_run()
    assert code == 1 and says in one_sentence(err) and not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_not_touched(groundup_run, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "diary.txt").write_text("mine", encoding="utf-8")
    code, _, err = groundup_run()
    assert code == 2 and "--out" in one_sentence(err)
    assert os.listdir(tmp_path / "out") == ["diary.txt"]
    (tmp_path / "letter").write_text("mine", encoding="utf-8")
    code, _, err = groundup_run(out="letter")
    assert code == 2 and "letter" in one_sentence(err)
    assert (tmp_path / "letter").read_text(encoding="utf-8") == "mine"


def test_a_finished_run_without_a_finite_loss_is_not_gone_on_with(groundup_run, monkeypatch):
    monkeypatch.setattr(run, "_reached", lambda folder: None)
    code, printed, _ = groundup_run()
    assert code == 0 and "reached none" in printed
    code, _, err = groundup_run()
    assert code == 2 and "finished" in one_sentence(err)


def test_another_text_does_not_go_on(groundup_run, mine, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(run, "_train", lambda *_, **__: 143)
        groundup_run()
    mine.write_text(mine.read_text(encoding="utf-8") + "More.", encoding="utf-8")
    code, _, err = groundup_run()
    assert code == 2 and "mine.txt" in one_sentence(err)


def test_resume_without_a_run(groundup_run):
    code, _, err = groundup_run("--resume")
    assert code == 2 and "--resume" in one_sentence(err)


def test_a_full_disk_is_told_before_anything_is_written(groundup_run, tmp_path, monkeypatch):
    monkeypatch.setattr(run.shutil, "disk_usage", lambda _: type("usage", (), {"free": 1000})())
    code, _, err = groundup_run()
    assert code == 2 and "1 kB are free" in one_sentence(err).replace("1.00", "1") and not (tmp_path / "out").exists()


def test_a_missing_file(tmp_path, capsys):
    assert main(["run", str(tmp_path / "no.txt")]) == 1
    assert "no.txt does not exist" in one_sentence(capsys.readouterr().err)


def test_the_folder_is_named_after_the_text():
    assert [run._name(text) for text in ("a/books.txt.zst", "b/mine.jsonl")] == ["books", "mine"]
    assert run._name("corpora/shakespeare/input.txt") == run._name("corpora/shakespeare/*.txt") == "shakespeare"
