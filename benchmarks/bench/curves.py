"""Loss curves of the readable model and of the fast paths on the same weights and batches: what curves.py compares."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bench.notes import say
from groundup.config import ModelConfig
from groundup.data.batches import batch_at
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM
from groundup.optim import fast, gradients
from groundup.optim.adamw import AdamW
from groundup.optim.schedule import cosine_schedule
from groundup.training.loss import choose_loss
from groundup.training.products import fast_products

# Which kernels, precision, and how far from REFERENCE the loss of a batch may be, in nats.
REFERENCE = "reference, float32"
PATHS: dict[str, tuple[str, torch.dtype, float | None]] = {
    REFERENCE: ("reference", torch.float32, None),
    "fast, float32": ("auto", torch.float32, 1e-3),
    "fast, bf16": ("auto", torch.bfloat16, 5e-3),
}


@dataclass(frozen=True)
class Course:
    """What is trained, and for how long; the rest is as in recipes/tinystories-cpu.yaml."""

    model: ModelConfig
    batch_size: int
    num_steps: int
    max_lr: float = 3e-3


def curve(path: str, course: Course, ids: np.ndarray) -> list[float]:
    """The loss of each update's batch, in nats per token."""
    kernels, dtype, _ = PATHS[path]
    torch.manual_seed(0)
    model = TransformerLM(course.model, ops=choose("cpu", dtype, kernels))
    groups = gradients.parameter_groups(model, 0.1)
    is_fast = kernels == "auto"
    optimizer = (fast.FastAdamW if is_fast else AdamW)(groups, betas=(0.9, 0.95))
    clip = fast.clip_gradients if is_fast else gradients.clip_gradients
    loss_of = choose_loss(model, optimizer, dtype, kernels="auto", as_one_function=is_fast)
    losses: list[float] = []
    with fast_products("cpu", wanted=is_fast):
        for step in range(course.num_steps):
            inputs, targets = batch_at(
                ids,
                step=step,
                batch_size=course.batch_size,
                context_length=course.model.context_length,
                seed=0,
                vocab_size=course.model.vocab_size,
            )
            loss = loss_of(inputs, targets)
            loss.backward()
            clip(model.parameters(), 1.0)
            for group in optimizer.param_groups:
                group["lr"] = rate(course, step + 1)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            losses.append(float(loss.detach()))
            if (step + 1) % 50 == 0:
                say(f"{path}: {step + 1} updates, loss {losses[-1]:.3f}")
    return losses


def rate(course: Course, step: int) -> float:
    """Warm-up over a tenth, then a cosine to a tenth."""
    return cosine_schedule(
        step,
        max_lr=course.max_lr,
        min_lr=course.max_lr / 10,
        warmup_steps=max(1, course.num_steps // 10),
        decay_steps=course.num_steps,
    )


def differences(curves: Mapping[str, list[float]]) -> dict[str, dict[str, Any]]:
    """For each fast path: the largest difference from the reference, at which update, and whether it is allowed."""
    found: dict[str, dict[str, Any]] = {}
    for path, losses in curves.items():
        tolerance = PATHS[path][2]
        if tolerance is None:
            continue
        gaps = [abs(one - other) for one, other in zip(losses, curves[REFERENCE], strict=True)]
        largest = max(gaps)
        found[path] = {
            "largest": largest,
            "at_update": gaps.index(largest) + 1,
            "mean": sum(gaps) / len(gaps),
            "tolerance": tolerance,
            "is_within": largest <= tolerance,
        }
    return found
