"""The parts of the benchmarks that decide what may be said: protocol, checks, rounds, ratios, table, files.

No peer is started: the workers here are scripts of a few lines that speak the same protocol.
"""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

# Benchmarks and workers are scripts: what stands beside a script is found because Python looks there. Last on the
# path: benchmarks/tokenizer.py is not to hide tests/tokenizer.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks" / "workers"))

import train as train_benchmark
from bench import peers
from bench.contest import OURS, THEIRS, conclude, contestants, find_problem, unequal
from bench.plot import plot_training
from bench.results import keep_results, result_name
from bench.rounds import Summary, best_of, interleave, ratio, summarise
from bench.table import columns, training_table
from bench.worker import Worker, WorkerError

BENCHMARKS = Path(train_benchmark.__file__).parent

# Rounds, medians, ratios


def test_every_round_measures_everyone_once_in_an_order_that_turns():
    calls: list[str] = []
    rounds: list[int] = []

    def measure(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    values = interleave("abc", measure, 4, rounds.append)
    assert "".join(calls) == "abc" + "bca" + "cab" + "abc"
    assert values == {"a": [1, 6, 8, 10], "b": [2, 4, 9, 11], "c": [3, 5, 7, 12]}
    assert rounds == [0, 1, 2, 3]


def test_summary_is_median_and_range():
    assert summarise([5.0, 1.0, 2.0]) == Summary(2.0, 1.0, 5.0)
    assert summarise([5.0, 1.0, 2.0]).spread == 2.0


def test_a_ratio_is_taken_within_each_round():
    # The machine slows down in the second round, and ours is twice as fast in each.
    assert ratio([20.0, 2.0, 22.0], [10.0, 1.0, 11.0]) == Summary(2.0, 2.0, 2.0)
    assert ratio([1.0, 3.0, 8.0], [1.0, 2.0, 2.0]) == Summary(1.5, 1.0, 4.0)


def test_the_best_has_the_highest_median_not_the_highest_value():
    assert best_of({"steady": [5.0, 5.0, 5.0], "lucky": [9.0, 4.0, 4.0]}) == "steady"
    assert best_of({}) is None


def test_the_best_may_be_the_lowest():
    assert best_of({"slow": [5.0, 1.0, 6.0], "fast": [2.0, 9.0, 2.0]}, highest=False) == "fast"


# What counts as the same task


GOOD = {"losses": [math.log(1000) + 0.1, 6.0], "gradients_finite": True}


def test_a_model_that_learns_is_measured():
    assert find_problem(GOOD, 1000) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"losses": [6.9, math.nan]}, "a loss is not finite"),
        ({"losses": [math.inf, 6.9]}, "a loss is not finite"),
        ({"gradients_finite": False}, "a gradient is not finite"),
        ({"losses": [9.2, 6.0]}, "the first loss is 9.200, and an untrained model has about 6.908"),
        ({"losses": [6.9, 6.9]}, "does not fall"),
    ],
)
def test_a_model_that_does_something_else_is_not(change, reason):
    assert reason in find_problem(GOOD | change, 1000)


def test_models_must_have_the_same_size():
    sizes = {"a": 7, "b": 7, "c": 1234}
    found = unequal({name: {"num_parameters": size} for name, size in sizes.items()})
    assert found == [("c", "the model has 1,234 parameters, not 7")]
    assert unequal({}) == []


def test_both_sides_take_part_eager_and_compiled():
    for precision, ways in (("float32", {"float32", "float32 oneDNN"}), ("bf16", {"bf16", "bf16 autocast"})):
        everyone = contestants(precision)
        assert len({one.name for one in everyone}) == len(everyone)
        for peer, expected in ((OURS, {precision}), (THEIRS, ways)):
            found = {(one.precision, one.compiled) for one in everyone if one.peer == peer}
            assert found == {(way, compiled) for way in expected for compiled in (True, False)}


def test_everyone_gets_the_same_batch():
    ids = train_benchmark.make_ids(50, 3, 16)
    assert ids == train_benchmark.make_ids(50, 3, 16)
    assert [len(row) for row in ids] == [17, 17, 17]
    assert set(range(50)) >= {id for row in ids for id in row} and len({id for row in ids for id in row}) > 25


# The record, the table, the files


@pytest.fixture
def group() -> dict:
    def entry(peer: str) -> dict:
        return {"peer": peer, "losses": [9.25, 8.5], "gradients_finite": True, "num_parameters": 7, "num_steps": 9}

    entries = {"ours eager": entry(OURS.name), "ours compiled": entry(OURS.name), "theirs": entry(THEIRS.name)}
    rates = {
        "ours eager": [900.0, 1000.0, 1100.0],
        "ours compiled": [1500.0, 3000.0, 1600.0],
        "theirs": [750.0, 1000.0, 800.0],
    }
    return conclude(entries, rates, {"theirs compiled": "a gradient is not finite"})


def test_the_best_of_each_side_are_compared(group):
    assert group["best"] == {OURS.name: "ours compiled", THEIRS.name: "theirs"}
    assert group["ratio"] == {"median": 2.0, "low": 2.0, "high": 3.0}
    assert group["contestants"]["theirs"]["tokens_per_s"] == {"median": 800.0, "low": 750.0, "high": 1000.0}
    assert group["contestants"]["theirs"]["rounds"] == [750.0, 1000.0, 800.0]


def test_a_side_without_a_valid_contestant_has_no_ratio(group):
    alone = conclude({"ours": group["contestants"]["ours eager"]}, {"ours": [1.0]}, {"theirs": "it did not start"})
    assert alone["ratio"] is None and alone["best"] == {OURS.name: "ours", THEIRS.name: None}
    assert "theirs: not measured, it did not start" in training_table("float32", alone)
    assert "no ratio" in training_table("float32", alone)


def test_the_table_ranks_marks_and_concludes(group):
    header, *lines = training_table("bf16", group).splitlines()
    assert header.split() == ["bf16", "tokens/s", "low", "high", "steps", "loss", "after", "check"]
    assert [line.split()[:4] for line in lines[:2]] == [
        ["*", "ours", "compiled", "1,600"],
        ["ours", "eager", "1,000", "900"],
    ]
    assert lines[2].split() == ["*", "theirs", "800", "750", "1,000", "9", "9.250", "8.500"]
    assert lines[3:] == [
        "  theirs compiled: not measured, a gradient is not finite",
        "ours compiled / theirs: 2.00 (2.00 to 3.00)",
    ]


def test_columns_line_up():
    assert columns([["name", "1,000"], ["n", "2"]]) == ["name  1,000", "n         2"]


def test_a_result_is_named_after_day_and_processor():
    assert result_name("2025-03-01", "Intel(R) Core(TM) i5 @ 2.9GHz", "x") == "2025-03-01-intel-r-core-tm-i5-2-9ghz-x"


def test_results_are_written_as_json_and_png(group, tmp_path):
    record = {
        "benchmark": "train",
        "date": "2025-03-01",
        "machine": {"processor": "Some CPU"},
        "threads": 2,
        "precisions": {"float32": group, "bf16": group | {"ratio": None}},
    }
    said = keep_results(record, plot_training, tmp_path)
    path = tmp_path / "2025-03-01-some-cpu-train.json"
    assert said == f"{path} and its plot"
    assert json.loads(path.read_text(encoding="utf-8")) == record
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "not kept" in keep_results(record, plot_training, None)


# Workers


@pytest.fixture
def worker(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.worker.END_S", 0.5)  # the one that sleeps is not waited for
    script = tmp_path / "worker.py"
    script.write_text(
        f"""
import os, sys, time
sys.path.insert(0, {str(BENCHMARKS / "workers")!r})
from protocol import serve

def add(a, b):
    print("a library prints this")
    os.system("echo and its child this")
    return {{"sum": a + b}}

def fail():
    raise ValueError("too small\\nand a second line")

def leave():
    print("out of memory", file=sys.stderr, flush=True)
    os._exit(1)

serve({{"add": add, "fail": fail, "leave": leave, "sleep": lambda secs: time.sleep(secs)}})
""",
        encoding="utf-8",
    )
    with Worker([sys.executable, script], "peer") as worker:
        yield worker


def test_a_worker_answers_whatever_its_libraries_print(worker):
    assert worker.request("add", a=2, b=3) == {"sum": 5}
    assert worker.request("add", a=math.inf, b=1) == {"sum": math.inf}


def test_a_worker_survives_an_error(worker):
    with pytest.raises(WorkerError, match=r"^peer: ValueError: too small$"):
        worker.request("fail")
    with pytest.raises(WorkerError, match="KeyError: 'nonsense'"):
        worker.request("nonsense")
    assert worker.request("add", a=1, b=1) == {"sum": 2}


def test_the_last_words_of_a_dead_worker_are_told(worker):
    with pytest.raises(WorkerError, match="the process ended; its last words: out of memory"):
        worker.request("leave")
    with pytest.raises(WorkerError, match="the process ended"):
        worker.request("add", a=1, b=1)


def test_a_silent_worker_is_not_waited_for_in_vain(worker):
    with pytest.raises(WorkerError, match=r"no answer to 'sleep' within 0\.2 s"):
        worker.request("sleep", timeout_s=0.2, secs=60)


# The training step that workers run


def test_our_step_learns_and_is_timed():
    import torch
    from train_groundup import build
    from training_step import Shape, TrainingStep

    torch.manual_seed(0)
    built = build(Shape(vocab_size=50, context_length=8, d_model=16, d_ff=32, num_layers=1, num_heads=2), "float32")
    ids = torch.tensor(train_benchmark.make_ids(50, 2, 8))
    step = TrainingStep(built, ids[:, :-1], ids[:, 1:], compiled=False)
    check = step.check(max_steps=5, seconds=60)
    assert len(check["losses"]) == 5 and find_problem(check, 50) is None
    assert len(step.check(max_steps=5, seconds=0)["losses"]) == 2
    assert len(step.measure(max_steps=3, seconds=60)["step_s"]) == 3
    (seconds,) = step.measure(max_steps=3, seconds=0)["step_s"]
    assert seconds > 0


def test_gradients_are_checked_beside_losses():
    import torch
    from training_step import Built, TrainingStep

    model = torch.nn.Linear(1, 1, bias=False)

    def loss_of(inputs, targets):
        return (model.weight - model.weight.detach()).sum() * math.inf + 1.0  # finite only without a gradient

    def finite_loss_of(inputs, targets):
        weight = model.weight.sum()
        return torch.where(weight == weight, torch.ones(()), torch.sqrt(weight * 0 - 1))  # NaN flows backward

    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    for bad in (loss_of, finite_loss_of):
        built = Built(model, bad, optimizer, "SGD")
        assert not TrainingStep(built, torch.ones(1), torch.ones(1), compiled=False).check(max_steps=2, seconds=9)[
            "gradients_finite"
        ]


# Environments


def test_ours_runs_in_the_environment_of_the_project():
    assert peers.interpreter(OURS) == Path(sys.executable)


def test_an_environment_is_made_once_and_again_when_its_requirements_change(monkeypatch, tmp_path):
    made: list[str] = []
    monkeypatch.setattr(peers.venv, "create", lambda path, **_: (made.append(path.name), path.mkdir(parents=True)))
    monkeypatch.setattr(peers.subprocess, "run", lambda command, **_: made.append(Path(command[-1]).name))
    for _ in range(2):
        assert peers.interpreter(THEIRS, tmp_path) == tmp_path / "huggingface" / "bin" / "python"
    assert made == ["huggingface", "huggingface.txt"]
    (tmp_path / "huggingface" / "requirements.installed").write_text("torch==1.0\n", encoding="utf-8")
    peers.interpreter(THEIRS, tmp_path)
    assert len(made) == 4


def test_an_environment_that_cannot_be_made_is_not_used_next_time(monkeypatch, tmp_path):
    def fail(command, **_):
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(peers.venv, "create", lambda path, **_: path.mkdir(parents=True))
    monkeypatch.setattr(peers.subprocess, "run", fail)
    for _ in range(2):
        with pytest.raises(WorkerError, match="the environment of huggingface could not be made"):
            peers.interpreter(THEIRS, tmp_path)


def test_requirements_are_pinned_to_the_torch_of_the_project():
    def pins(path: Path) -> dict[str, str]:
        lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
        return dict(line.split("==") for line in lines if line)

    theirs, ours = pins(BENCHMARKS / "requirements" / "huggingface.txt"), pins(BENCHMARKS.parent / "constraints.txt")
    assert {"torch", "transformers"} <= theirs.keys()
    assert theirs["torch"] == ours["torch"]
