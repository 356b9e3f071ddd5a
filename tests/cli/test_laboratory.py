"""The commands of the laboratory as a user types them: experiment, sweep, compare, report, watch."""

import json
from pathlib import Path

import pytest
from experiments.runs import train_record, write_run

from groundup.cli import watch
from groundup.cli.main import main
from groundup.experiments.catalog import IN_TURN
from groundup.experiments.records import read_run
from groundup.recipe import changed

SMALL = [
    "--model.context_length=16", "--model.d_model=16", "--model.num_layers=1", "--model.num_heads=2",
    "--training.batch_size=4", "--training.device=cpu",
]  # fmt: skip


def run(capsys, *arguments) -> tuple[int, str, str]:
    code = main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return code, out, err


def test_an_experiment_leaves_a_page_and_is_redrawn(capsys, tmp_path: Path, prepared: Path) -> None:
    """A true one: two models are trained, for two updates each."""
    pytest.importorskip("matplotlib")
    page, runs = tmp_path / "page", tmp_path / "runs"
    line = ["experiment", "positions", "--data", prepared, "--preset", "smoke", "--tokens", "128", "--seeds", "1"]
    code, out, err = run(capsys, *line, "--out", page, "--runs", runs, *SMALL)
    assert code == 0 and f"page: {page / 'README.md'}" in out and "run 2 of 2" in err
    text = (page / "README.md").read_text(encoding="utf-8")
    assert "one pair cannot tell" in text and str(tmp_path) not in text
    assert "--data data --model.context_length=16" in text
    code, out, _ = run(capsys, "experiment", "positions", "--redraw", "--json", "--out", page)
    assert code == 0 and json.loads(out)["experiment"] == "positions"
    assert (page / "README.md").read_text(encoding="utf-8") == text
    code, _, err = run(capsys, "experiment", "norm", "--redraw", "--out", page)
    assert code == 2 and "holds the experiment positions, not norm" in err


@pytest.mark.parametrize(
    ("line", "code", "why"),
    [
        (["experiment", "learning_rate"], 2, "did you mean learning-rate"),
        (["experiment", "norm", "--preset", "huge"], 2, "there is no preset 'huge'"),
        (["experiment", "norm", "--tokens", "5", "--minutes", "1"], 2, "not allowed with"),
        (["experiment", "norm", "--seeds", "0"], 2, "--seeds is 0"),
        (["experiment", "all", "--data", "one.txt"], 2, "main-text compares 2 texts"),
        (["experiment", "norm", "--redraw", "--out", "nowhere"], 1, "holds no result.json"),
        (["sweep", "--set", "optimizer.lr"], 2, "write name=value,value"),
        (["sweep", "--set", "optimizer.rate=1,2"], 2, "unknown option --optimizer.rate"),
        (["sweep", "--set", "optimizer.lr=1..2"], 2, "a range a search"),
        (["sweep", "--set", "optimizer.lr=1,2", "--trials", "0"], 2, "--trials is 0"),
        (["sweep"], 2, "nothing is varied; give at least one --set"),
        (["sweep", "--redraw"], 1, "holds no result.json"),
        (["compare", "nowhere"], 1, "not a run folder"),
        (["report", "nowhere"], 1, "there is no folder"),
        (["watch", "nowhere"], 1, "not a run folder"),
        (["watch", "nowhere", "--every", "0"], 2, "--every is 0"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(capsys, tmp_path, monkeypatch, line, code, why) -> None:
    monkeypatch.chdir(tmp_path)
    got, _, err = run(capsys, *line)
    assert (got, "Traceback" in err) == (code, False)
    assert why in err.strip().splitlines()[-1]


def test_a_grid_of_two_true_runs(capsys, tmp_path: Path, prepared: Path) -> None:
    pytest.importorskip("matplotlib")
    line = ["sweep", "--set", "optimizer.lr=1e-3,1e-2", "--out", tmp_path, "--data.path", prepared, *SMALL]
    code, out, _ = run(capsys, *line, "--training.max_steps=2", "--json")
    assert code == 0
    points = json.loads(out)["points"]
    assert [point["settings"] for point in points] == [{"optimizer.lr": 0.001}, {"optimizer.lr": 0.01}]
    assert all(len(point["losses"]) == 1 for point in points)
    before = (tmp_path / "README.md").read_text(encoding="utf-8")
    (tmp_path / "README.md").unlink()
    assert run(capsys, "sweep", "--redraw", "--out", tmp_path)[0] == 0
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == before


def test_compare_prints_a_table_and_report_a_site(capsys, tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name) for name in ("a", "b")]
    code, out, _ = run(capsys, "compare", *runs)
    assert code == 0 and [line.split()[0] for line in out.splitlines()] == ["run", "a", "b"]
    assert len(json.loads(run(capsys, "compare", *runs, "--json")[1])) == 2
    code, out, _ = run(capsys, "report", tmp_path, "--out", tmp_path / "site")
    assert code == 0 and out == f"site: {tmp_path / 'site' / 'index.html'}\n"


def test_watch_shows_curve_figures_and_text(capsys, tmp_path: Path) -> None:
    code, out, _ = run(capsys, "watch", write_run(tmp_path / "fables"), "--once")
    assert code == 0
    assert "fables: update 100 of 100, training 2.500, validation 2.500, 128 tokens/s, finished" in out
    assert "validation loss" in out and "after 100 updates: Once upon" in out


def test_watch_prints_lines_where_nobody_looks_until_the_run_is_finished(capsys, tmp_path: Path, monkeypatch) -> None:
    folder = write_run(tmp_path / "fables", [train_record(1, 5.0)])

    def grows(seconds: float) -> None:
        assert seconds == 7.0
        write_run(folder, [train_record(1, 5.0), train_record(100, 4.0)])

    monkeypatch.setattr(watch.time, "sleep", grows)
    code, out, _ = run(capsys, "watch", folder, "--every", "7")
    lines = out.splitlines()
    assert code == 0 and len(lines) == 3
    assert lines[0].endswith("update 1 of 100, training 5.000, 128 tokens/s, 50 s left")
    assert lines[1].startswith("fables: after 100 updates: Once upon")
    assert lines[2].endswith("finished")


def test_watch_of_a_run_without_measurements(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path / "new", [], samples=False))
    assert watch.panel(run, 60, watch.Writer(None)(run)) == "new: nothing measured yet"
    assert watch.Writer("Once")(run) == ""


def test_watch_lets_a_new_checkpoint_write(tmp_path: Path, tiny_config) -> None:
    from groundup.training.loop import train

    short = changed(tiny_config, {"training.max_steps": 2, "training.eval_every": 0, "training.save_every": 0})
    run = read_run(train(short).folder)
    write = watch.Writer("The cat")
    text = write(run)
    assert text.startswith("after 2 updates: The cat")
    assert write(run) is text


@pytest.mark.slow
def test_every_experiment_end_to_end(capsys, tmp_path: Path) -> None:
    """All with true runs on the texts that every machine has, then the site of their pages."""
    pytest.importorskip("matplotlib")
    out, runs = tmp_path / "pages", tmp_path / "lab"
    assert run(capsys, "experiment", "all", "--preset", "smoke", "--out", out, "--runs", runs)[0] == 0
    assert sorted(page.parent.name for page in out.glob("*/README.md")) == sorted(IN_TURN)
    assert "| real text, held out |" in (out / "generate" / "README.md").read_text(encoding="utf-8")
    board = out / "leaderboard"
    line = ["experiment", "leaderboard", "--preset", "smoke", "--seeds", "1", "--out", board, "--runs", runs]
    assert run(capsys, *line)[0] == 0
    assert "| Muon |" in (board / "README.md").read_text(encoding="utf-8")
    code, printed, _ = run(capsys, "report", out, "--out", tmp_path / "site")
    assert code == 0 and "index.html" in printed
