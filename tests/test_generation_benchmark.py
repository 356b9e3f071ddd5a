"""What decides which times of benchmarks/generate.py count: the check of the ids, pairs, ratios, table and picture."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks" / "workers"))

import generate as generate_benchmark
from bench.generation import CONTESTANTS, OURS, PAIRS, TOLERANCE, conclude, find_problem, shortfall
from bench.generation_report import generation_table, plot_generation
from bench.generation_weights import make_model, write_weights
from bench.results import keep_results
from bench.worker import Worker
from model_shape import Shape

from groundup.environment import peak_memory_bytes

SHAPE = {"vocab_size": 60, "context_length": 12, "d_model": 16, "d_ff": 24, "num_layers": 2, "num_heads": 2}
PROMPTS = generate_benchmark.make_prompts(60, 3)


@pytest.fixture(scope="module")
def texts(tmp_path_factory) -> dict[str, list[list[int]]]:
    """What our worker writes, each way."""
    from generate_groundup import build

    path = write_weights(make_model(SHAPE), tmp_path_factory.mktemp("weights") / "weights.npz")
    with np.load(path) as weights:
        arrays = dict(weights)
    threads = torch.get_num_threads()
    return {
        way: build(Shape(**SHAPE), arrays, way, threads)(PROMPTS, 11)
        for way in ("reference", "float32", "bf16", "int8")
    }


def test_our_worker_writes_what_the_model_says(texts):
    model = make_model(SHAPE)
    assert texts["reference"] == texts["float32"]
    for way, ids in texts.items():
        assert find_problem(model, PROMPTS, ids, "float32" if way == "reference" else way) is None


def test_an_id_that_is_not_the_most_likely_is_a_problem(texts):
    model = make_model(SHAPE)
    ids = [list(row) for row in texts["reference"]]
    with torch.no_grad():
        ids[1][4] = int(model(torch.tensor(PROMPTS[1] + ids[1][:4]))[-1].argmin())
    assert shortfall(model, PROMPTS, ids) > TOLERANCE["int8"]
    for weights in TOLERANCE:
        assert "below the most likely one" in str(find_problem(model, PROMPTS, ids, weights))


def test_texts_must_all_be_there_and_of_one_length(texts):
    model, ids = make_model(SHAPE), texts["reference"]
    assert "2 texts of [11] ids for 3 prompts" in str(find_problem(model, PROMPTS, ids[:2], "float32"))
    assert "[10, 11]" in str(find_problem(model, PROMPTS, [*ids[:2], ids[2][:10]], "float32"))


@pytest.mark.slow  # imports transformers
def test_weights_go_to_others_under_their_names_and_in_their_order():
    """Hugging Face pairs component k of a head with k + half, we 2k with 2k + 1."""
    pytest.importorskip("transformers")
    from generate_huggingface import build

    model = make_model(SHAPE)
    arrays = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
    ids = build(Shape(**SHAPE), arrays, "float32", torch.get_num_threads())(PROMPTS, 11)
    assert find_problem(model, PROMPTS, ids, "float32") is None


def test_memory_is_that_of_the_worker_and_not_of_the_one_who_started_it(tmp_path):
    """getrusage would tell the peak of this process, which holds torch, for a worker that holds next to nothing."""
    script = tmp_path / "worker.py"
    script.write_text(
        f"import sys\nsys.path.insert(0, {str(OURS.script.parent)!r})\nfrom writing import serve_writing\n"
        "serve_writing(lambda shape, weights, way, threads: lambda prompts, num_tokens: [[0] * num_tokens], {})\n",
        encoding="utf-8",
    )
    weights = write_weights(make_model(SHAPE), tmp_path / "weights.npz")
    with Worker([sys.executable, script], "light") as worker:
        worker.request("set_up", shape=SHAPE, weights_path=str(weights), way="any", threads=1)
        answer = worker.request("write", prompts=[[1]], num_tokens=3)
    assert answer["ids"] == [[0, 0, 0]] and answer["seconds"] >= 0
    assert 1 << 20 < answer["peak_memory_bytes"] < peak_memory_bytes() / 2


def test_prompts_are_one_id_each_and_no_two_alike():
    assert generate_benchmark.make_prompts(60, 3) == PROMPTS
    assert len({tuple(prompt) for prompt in PROMPTS}) == 3 and {len(prompt) for prompt in PROMPTS} == {1}


def test_pairs_are_of_contestants():
    names = {one.name for one in CONTESTANTS}
    assert len(names) == len(CONTESTANTS) and {name for pair in PAIRS for name in pair} <= names


@pytest.fixture
def group() -> dict:
    facts = {"weights": "bf16", "versions": {}, "shortfall": 0.01, "same_ids": 0.9, "peak_memory_bytes": 2e8}
    entries = {
        "groundup bf16": facts | {"peer": "groundup"},
        "llama_cpp BF16": facts | {"peer": "llama_cpp"},
    }
    rates = {"groundup bf16": [20.0, 30.0, 44.0], "llama_cpp BF16": [10.0, 10.0, 11.0]}
    return conclude(entries, rates, {"llama_cpp F32": "it did not start"})


def test_ratios_are_taken_of_pairs_that_were_measured(group):
    assert group["ratios"] == {"groundup bf16 / llama_cpp BF16": {"median": 3.0, "low": 2.0, "high": 4.0}}


def test_the_table_ranks_and_concludes(group):
    header, *lines = generation_table(16, group).splitlines()
    assert header.split()[:3] == ["batch", "16", "tokens/s"]
    assert [line.split() for line in lines[:2]] == [
        ["groundup", "bf16", "30", "20", "44", "90%", "0.01", "200", "MB"],
        ["llama_cpp", "BF16", "10", "10", "11", "90%", "0.01", "200", "MB"],
    ]
    assert lines[2:] == [
        "llama_cpp F32: not measured, it did not start",
        "groundup bf16 / llama_cpp BF16: 3.00 (2.00 to 4.00)",
    ]


def test_results_are_written_as_json_and_png(group, tmp_path):
    record = {
        "benchmark": "generate",
        "date": "2025-03-01",
        "machine": {"processor": "Some CPU"},
        "threads": 2,
        "batches": {"1": group, "16": group},
    }
    keep_results(record, plot_generation, tmp_path)
    path = tmp_path / "2025-03-01-some-cpu-generate.json"
    assert json.loads(path.read_text(encoding="utf-8")) == record
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
