"""A laboratory without training: runs that write made-up metrics in no time, for the tests of this room."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from groundup.config import DataConfig, ModelConfig, OptimizerConfig, RunConfig, TrainingConfig
from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Outcome, Results
from groundup.experiments.runner import facts

TOKENS = 2048


def make_lab(data: Path | str, folder: Path, *, num_seeds: int = 2, **fields: Any) -> Lab:
    """A lab on prepared data, with a model of two layers of width 16 and 32 updates of 4 x 16 tokens."""
    base = RunConfig(
        model=ModelConfig(vocab_size=0, context_length=16, d_model=16, num_layers=2, num_heads=2),
        data=DataConfig(path=str(data)),
        optimizer=OptimizerConfig(lr=1e-2),
        training=TrainingConfig(batch_size=4, device="cpu"),
    )
    given = {"rates": (1e-3, 1e-2, 1.0), "batch_sizes": (1, 4), "memory_bytes": 10**9} | fields
    return Lab(
        base=base, tokens=TOKENS, num_seeds=num_seeds, data=(str(data),), runs=folder, vocab_size=300, **given
    )  # fmt: skip


def near_best(config: RunConfig) -> float:
    """A loss that is lowest at a rate of 0.01 and not finite from 0.5 on; the seed moves it a little."""
    if config.optimizer.lr >= 0.5:
        return math.nan
    return 2.0 + 0.5 * abs(math.log10(config.optimizer.lr) + 2) + 0.01 * config.training.seed


class FakeTrainer:
    """Writes the metrics of a run whose validation loss ends at `loss_of(config)`; remembers what it was asked for."""

    def __init__(self, loss_of: Callable[[RunConfig], float] = near_best) -> None:
        self.loss_of = loss_of
        self.calls: list[RunConfig] = []

    def __call__(self, config: RunConfig, *, resume: str, sinks: Sequence[Any] = ()) -> Any:
        assert resume == "auto"
        self.calls.append(config)
        folder = Path(config.out)
        folder.mkdir(parents=True)
        steps, loss = config.training.max_steps, self.loss_of(config)
        tokens = config.training.batch_size * config.model.context_length
        with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
            for step in sorted({max(1, steps * part // 4) for part in range(1, 5)}):
                now = loss + (5.0 - loss) * (1 - step / steps) if math.isfinite(loss) else "nan"
                for kind in ("train", "eval"):
                    record = {
                        "kind": kind, "step": step, "tokens": tokens * step, "seconds": 0.5 * step, "loss": now,
                        "tokens_per_s": 2.0 * tokens, "max_steps": steps,
                        "bits_per_byte": now / 2 if math.isfinite(loss) else "nan",
                    }  # fmt: skip
                    file.write(json.dumps(record) + "\n")
                    for sink in sinks:
                        sink.write(record)
        weights = folder / "checkpoints" / f"step-{steps:08d}"
        weights.mkdir(parents=True)
        (weights / "model.safetensors").touch()
        (weights / "optimizer.safetensors").touch()
        return SimpleNamespace(stopped_by=None)


def outcome(seed: int, loss: float, *, diverged: str = "", curve: Sequence[float] = ()) -> Outcome:
    records = [
        {"kind": "eval", "step": 10 * step, "tokens": 640 * step, "seconds": step, "loss": value}
        for step, value in enumerate(curve, 1)
    ]
    return Outcome(seed, f"run-{seed}-{loss:g}", diverged, loss, loss / 2, 40, 2560, 20.0, 128.0, records)


def group(label: str, losses: Sequence[float], *, x: float | None = None, **settings: Any) -> Group:
    """A group with one run a seed; NaN for one that diverged."""
    outcomes = [
        outcome(seed, loss, diverged="" if math.isfinite(loss) else "its loss was not finite", curve=(5.0, loss))
        for seed, loss in enumerate(losses)
    ]
    return Group(Variant(label, label, settings, len(outcomes), x), tuple(outcomes))


def results(lab: Lab, groups: Sequence[Group], measured: Mapping[str, Any] | None = None) -> Results:
    common = facts(lab.base, lab.data, tokens=lab.tokens, num_seeds=lab.num_seeds)
    return Results({**common, "command": "groundup experiment it"}, tuple(groups), measured or {})
