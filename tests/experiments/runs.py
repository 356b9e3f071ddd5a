"""Run folders as training writes them, small and made up, for the tests of this room."""

import json
import math
from pathlib import Path
from typing import Any

from groundup.config import DataConfig, ModelConfig, RunConfig, TrainingConfig
from groundup.recipe import write_config

TOKENS_PER_STEP = 64


def record(kind: str, step: int, **values: Any) -> dict[str, Any]:
    return {"kind": kind, "step": step, "tokens": TOKENS_PER_STEP * step, "seconds": 0.5 * step, **values}


def train_record(step: int, loss: float | str) -> dict[str, Any]:
    return record("train", step, loss=loss, lr=1e-3 / step, grad_norm=0.5, tokens_per_s=128.0, max_steps=100)


def eval_record(step: int, loss: float) -> dict[str, Any]:
    bits = loss / math.log(2) / 4
    return record("eval", step, loss=loss, perplexity=math.exp(loss), bits_per_byte=bits, num_targets=5000)


def complete() -> list[dict[str, Any]]:
    """100 updates, measured every 10, validated every 50, resumed at 50; best in the middle."""
    losses = [train_record(step, 5.0 - step / 40) for step in range(10, 101, 10)]
    return [*losses[:5], eval_record(50, 2.0), record("resumed", 50), *losses[5:], eval_record(100, 2.5)]


def write_run(folder: Path, records: list[dict[str, Any]] | None = None, **parts: bool) -> Path:
    """A run folder; `config=False`, `environment=False` or `samples=False` leave a part out."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(item) for item in (complete() if records is None else records)]
    (folder / "metrics.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    if parts.get("config", True):
        config = RunConfig(
            out=str(folder),
            model=ModelConfig(vocab_size=300, context_length=16, d_model=32, num_layers=2, num_heads=2),
            data=DataConfig(path="data/fables"),
            training=TrainingConfig(max_steps=100, batch_size=4),
        )
        (folder / "config.yaml").write_text(write_config(config), encoding="utf-8")
    if parts.get("environment", True):
        facts = {
            "groundup": "9.9",
            "revision": "abc123",
            "processor": "Abacus <2>",
            "cores": 2,
            "device": "cpu",
            "memory_bytes": 8_000_000_000,
            "instruction_sets": ["avx2", "fma"],
            "torch": None,
            "command": 'groundup train --out "a & b"',
            "started": "2031-05-06T07:08:09+0000",
        }
        (folder / "environment.json").write_text(json.dumps(facts), encoding="utf-8")
    if parts.get("samples", True):
        write_samples(folder, 100, [("Once", " upon <b>a</b> time & “so”\nit went"), ("", " Alone")])
    return folder


def write_samples(folder: Path, step: int, texts: list[tuple[str, str]]) -> None:
    items = [{"prompt": prompt, "text": text, "temperature": 0.8, "top_p": 0.95} for prompt, text in texts]
    path = folder / "samples" / f"step-{step:08d}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(items), encoding="utf-8")
