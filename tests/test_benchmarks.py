"""What all benchmarks are made of: protocol, rounds, ratios, tables, files, environments of the peers.

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

from bench import peers
from bench.contest import HUGGING_FACE, LITGPT, OURS
from bench.curves import PATHS, REFERENCE, differences
from bench.plot import plot_curves
from bench.results import keep_results, result_name
from bench.rounds import Summary, best_of, interleave, ratio, summarise
from bench.table import columns
from bench.worker import Worker, WorkerError

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"

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


# The record, the table, the files


def test_columns_line_up():
    assert columns([["name", "1,000"], ["n", "2"]]) == ["name  1,000", "n         2"]


def test_a_result_is_named_after_day_and_processor():
    assert result_name("2025-03-01", "Intel(R) Core(TM) i5 @ 2.9GHz", "x") == "2025-03-01-intel-r-core-tm-i5-2-9ghz-x"


def test_results_are_written_as_json_and_png(tmp_path):
    record = {"benchmark": "train", "date": "2025-03-01", "machine": {"processor": "Some CPU"}}
    said = keep_results(record, lambda record, path: path.write_bytes(b"a picture"), tmp_path)
    path = tmp_path / "2025-03-01-some-cpu-train.json"
    assert said == f"{path} and its plot"
    assert json.loads(path.read_text(encoding="utf-8")) == record
    assert path.with_suffix(".png").read_bytes() == b"a picture"
    assert "not kept" in keep_results(record, lambda *_: None, None)


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

def greeting():
    return dict(greeting=os.environ["GREETING"], has_path="PATH" in os.environ)

def leave():
    print("out of memory", file=sys.stderr, flush=True)
    os._exit(1)

serve({{"add": add, "greeting": greeting, "fail": fail, "leave": leave, "sleep": lambda secs: time.sleep(secs)}})
""",
        encoding="utf-8",
    )
    with Worker([sys.executable, script], "peer", {"GREETING": "hello"}) as worker:
        yield worker


def test_a_worker_answers_whatever_its_libraries_print(worker):
    assert worker.request("add", a=2, b=3) == {"sum": 5}
    assert worker.request("add", a=math.inf, b=1) == {"sum": math.inf}


def test_a_worker_has_our_environment_and_what_was_added(worker):
    assert worker.request("greeting") == {"greeting": "hello", "has_path": True}


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


# Environments


def test_ours_runs_in_the_environment_of_the_project():
    assert peers.interpreter(OURS) == Path(sys.executable)


def test_an_environment_is_made_once_and_again_when_its_requirements_change(monkeypatch, tmp_path):
    made: list[str] = []
    monkeypatch.setattr(peers.venv, "create", lambda path, **_: (made.append(path.name), path.mkdir(parents=True)))
    monkeypatch.setattr(peers.subprocess, "run", lambda command, **_: made.append(Path(command[-1]).name))
    for _ in range(2):
        assert peers.interpreter(HUGGING_FACE, tmp_path) == tmp_path / "huggingface" / "bin" / "python"
    assert made == ["huggingface", "huggingface.txt"]
    (tmp_path / "huggingface" / "requirements.installed").write_text("torch==1.0\n", encoding="utf-8")
    peers.interpreter(HUGGING_FACE, tmp_path)
    assert len(made) == 4


def test_an_environment_that_cannot_be_made_is_not_used_next_time(monkeypatch, tmp_path):
    def fail(command, **_):
        raise subprocess.CalledProcessError(1, "pip")

    monkeypatch.setattr(peers.venv, "create", lambda path, **_: path.mkdir(parents=True))
    monkeypatch.setattr(peers.subprocess, "run", fail)
    for _ in range(2):
        with pytest.raises(WorkerError, match="the environment of huggingface could not be made"):
            peers.interpreter(HUGGING_FACE, tmp_path)


@pytest.mark.parametrize(("peer", "package"), [(HUGGING_FACE, "transformers"), (LITGPT, "litgpt")])
def test_requirements_are_pinned_to_the_torch_of_the_project(peer, package):
    def pins(path: Path) -> dict[str, str]:
        lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
        return dict(line.split("==") for line in lines if line)

    assert peer.requirements is not None
    theirs, ours = pins(BENCHMARKS / "requirements" / peer.requirements), pins(BENCHMARKS.parent / "constraints.txt")
    assert {"torch", package} <= theirs.keys()
    assert theirs["torch"] == ours["torch"]


# Loss curves


def test_curves_are_as_far_apart_as_at_their_worst_update(tmp_path):
    curves = {path: [4.0, 3.0, 2.0] for path in PATHS}
    curves["fast, float32"] = [4.0, 3.0005, 2.0]
    curves["fast, bf16"] = [4.0, 3.0, 1.99]
    found = differences(curves)
    assert list(found) == [path for path in PATHS if path != REFERENCE]
    assert (found["fast, float32"]["at_update"], found["fast, float32"]["is_within"]) == (2, True)
    assert (found["fast, bf16"]["at_update"], found["fast, bf16"]["is_within"]) == (3, False)
    assert found["fast, bf16"]["largest"] == pytest.approx(0.01)
    record = {"curves": curves, "differences": found, "num_steps": 3, "title": "tiny", "date": "2025-03-01"}
    plot_curves(record | {"machine": {"processor": "Tube"}}, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000
