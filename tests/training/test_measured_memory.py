"""The estimate of peak memory against whole runs, each in a process of its own: within 15 %."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from training.runs import lines

from groundup.config import DataConfig, ModelConfig, RunConfig, TrainingConfig
from groundup.data.shards import prepare
from groundup.recipe import write_config
from groundup.training.memory import peak_memory

PROGRAM = "import sys; from groundup.recipe import read_config; from groundup.training.loop import train;"
PROGRAM += "train(read_config(sys.argv[1]))"
SHAPES = {
    "base, few sequences": ({}, 8),
    "base, many sequences": ({"num_layers": 2}, 32),
    "narrow and deep": ({"vocab_size": 2000, "d_model": 128, "num_layers": 12, "num_heads": 4}, 16),
    "long": ({"vocab_size": 2000, "d_model": 128, "num_layers": 2, "num_heads": 4, "context_length": 2048}, 1),
}


@pytest.fixture(scope="module")
def data(text, tokenizer, tmp_path_factory) -> Path:
    """So much that a pass over the held-out part fills its batches."""
    folder = tmp_path_factory.mktemp("much")
    (folder / "text.txt").write_text(20 * text, encoding="utf-8")
    prepare(folder / "text.txt", tokenizer, folder / "data", valid_fraction=0.2)
    return folder / "data"


WAYS = {
    "kernels": {},
    "reference": {"kernels": "reference"},
    "kernels, computed again": {"checkpoint_activations": True},
    "one function": {"as_one_function": True},
    "one function, computed again": {"as_one_function": True, "checkpoint_activations": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", SHAPES)
def test_within_15_percent(shape, way, data, tmp_path):
    model, rows = SHAPES[shape]
    training = TrainingConfig(
        max_steps=4, batch_size=rows, eval_batch_size=rows, log_every=1, device="cpu", **WAYS[way]
    )
    config = RunConfig(str(tmp_path / "run"), "", ModelConfig(**model), DataConfig(str(data)), training=training)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(write_config(config), encoding="utf-8")
    environment = os.environ | {"OMP_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", PROGRAM, str(recipe)], check=True, env=environment)
    measured = max(record["peak_memory_bytes"] for kind in ("train", "eval") for record in lines(config.out, kind))
    estimate = peak_memory(config)
    print(f"{shape}, {way}: {estimate.total_bytes / 1e6:,.0f} MB estimated, {measured / 1e6:,.0f} measured")
    assert estimate.total_bytes == pytest.approx(measured, rel=0.15), estimate
