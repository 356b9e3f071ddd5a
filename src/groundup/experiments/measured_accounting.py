"""Whether a training step takes what the formulas say: operations as PyTorch counts them, memory as the system does.

Three shapes, in each of which another part of the memory is the largest. A step is measured in a process of its own,
whose peak no earlier step has raised.
"""

import multiprocessing
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from groundup.config import ModelConfig, RunConfig, TrainingConfig
from groundup.environment import peak_memory_bytes
from groundup.experiments.answers import Answer, AnswerOptions, spread
from groundup.experiments.bpe_answers import machine
from groundup.model import accounting
from groundup.training.memory import Held, memory_by_moment

# name: shape and batch
SHAPES = {
    "base": (ModelConfig(), 2),
    "long": (ModelConfig(vocab_size=2_000, context_length=1024, d_model=256, num_layers=4, num_heads=8), 2),
    "wide": (ModelConfig(vocab_size=50_257, context_length=256, d_model=64, num_layers=2, num_heads=4), 4),
}
NUM_UPDATES = 2  # in the second one the optimizer has its state


@dataclass(frozen=True)
class MeasuredStep:
    """Operations of a forward pass alone and of forward and backward; the peak of the process."""

    forward_flops: int
    flops: int
    peak_memory_bytes: int


def measured_steps(options: AnswerOptions) -> Answer:
    """accounting-measured: predicted against measured operations and memory of a step, for three shapes."""
    figures: dict[str, Any] = {"machine": machine(), "rounds": options.rounds, "updates": NUM_UPDATES}
    for name, (model, batch_size) in SHAPES.items():
        steps = [measure_step(model, batch_size) for _ in range(options.rounds)]
        figures[name] = predicted(model, batch_size) | _measured(steps, predicted(model, batch_size))
    return Answer("accounting-measured", figures, measured_claims(figures))


def measured_claims(figures: Mapping[str, Any]) -> dict[str, bool]:
    """What the page says that must show in the figures."""
    shapes = [figures[name] for name in SHAPES]
    return {
        "forward operations are as predicted": all(
            shape["forward_flops"] == shape["measured_forward_flops"] for shape in shapes
        ),
        "backward takes twice as many": all(shape["flops"] == shape["measured_flops"] for shape in shapes),
        "the measured memory is within 15 % of the predicted": all(
            shape["measured_percent"]["low"] >= 85 and shape["measured_percent"]["high"] <= 115 for shape in shapes
        ),
        "in each shape another part is the largest": len({shape["largest"] for shape in shapes}) == len(shapes),
    }


def predicted(model: ModelConfig, batch_size: int) -> dict[str, Any]:
    """Operations of a step of the reference by `model/accounting.py`, its peak by `training/memory.py`."""
    memory = _peak(model, batch_size)
    forward = accounting.flops(model, batch_size=batch_size).total
    parts = {
        "parameters": memory.weights_bytes + memory.gradients_bytes + memory.optimizer_bytes,
        "activations": memory.activations_bytes,
        "workspace": memory.workspace_bytes,
        "runtime": memory.runtime_bytes,
    }
    squares = 4 * batch_size * model.num_layers * model.num_heads * model.context_length**2
    logits = 4 * batch_size * model.context_length * model.vocab_size
    sources = {"parameters": parts["parameters"], "squares": squares, "logits": logits + parts["workspace"]}
    return {
        "model": {name: getattr(model, name) for name in ("vocab_size", "d_model", "num_layers", "num_heads")}
        | {"context_length": model.context_length, "d_ff": model.ffn_width},
        "batch_size": batch_size,
        "num_parameters": accounting.num_parameters(model).total,
        "forward_flops": forward,
        "flops": 3 * forward,
        "parts": parts,
        "moment": memory.moment,
        "predicted_bytes": memory.total_bytes,
        "squares_bytes": squares,
        "logits_bytes": logits,
        "largest": max(sources, key=lambda name: sources[name]),
    }


def _peak(model: ModelConfig, batch_size: int) -> Held:
    """The peak of an update alone: nothing is validated here."""
    config = RunConfig(model=model, training=TrainingConfig(batch_size=batch_size, kernels="reference"))
    moments = [held for held in memory_by_moment(config) if held.moment != "validation"]
    return max(moments, key=lambda held: held.total_bytes)


def measure_step(model: ModelConfig, batch_size: int) -> MeasuredStep:
    """Two updates of the reference model by AdamW, in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_step, model, batch_size).result()


def _step(config: ModelConfig, batch_size: int) -> MeasuredStep:
    return MeasuredStep(*count_updates(config, batch_size), peak_memory_bytes())


def count_updates(config: ModelConfig, batch_size: int) -> tuple[int, int]:
    """Train a new model for `NUM_UPDATES`; the operations of the last forward pass, and with the backward pass."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from groundup.model.transformer import TransformerLM
    from groundup.optim.adamw import AdamW

    ids = torch.randint(0, config.vocab_size, (batch_size, config.context_length))
    model = TransformerLM(config)
    optimizer = AdamW(model.parameters())
    forward = flops = 0
    for _ in range(NUM_UPDATES):
        with FlopCounterMode(display=False) as counter:
            loss = model.ops.cross_entropy(model(ids), ids)
            forward = counter.get_total_flops()
            loss.backward()
            flops = counter.get_total_flops()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return forward, flops


def _measured(steps: list[MeasuredStep], expected: Mapping[str, Any]) -> dict[str, Any]:
    peaks = [step.peak_memory_bytes for step in steps]
    return {
        "measured_forward_flops": steps[0].forward_flops,
        "measured_flops": steps[0].flops,
        "measured_bytes": spread(peaks),
        "measured_percent": spread([100 * peak / expected["predicted_bytes"] for peak in peaks]),
    }
