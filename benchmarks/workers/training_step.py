"""A training step as both sides are measured: forward, loss, backward, update, on one fixed batch.

A worker says how to build model and optimizer; setting up, checking and timing are the same for all and
stand here. Runs in the environments of all peers, so: torch and the standard library only.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from protocol import serve
from torch import Tensor, nn
from torch.optim import Optimizer

# The optimizer of both sides. No schedule and no clipping: neither is part of what is compared.
LR, BETAS, EPS, WEIGHT_DECAY = 1e-3, (0.9, 0.95), 1e-8, 0.1


@dataclass(frozen=True)
class Shape:
    """The model both sides build; embedding and head are two matrices, no layer has a bias."""

    vocab_size: int
    context_length: int
    d_model: int
    d_ff: int
    num_layers: int
    num_heads: int


@dataclass(frozen=True)
class Built:
    """What a side hands over: model, its loss as a function of (inputs, targets), optimizer, and notes in words."""

    model: nn.Module
    loss_of: Callable[[Tensor, Tensor], Tensor]
    optimizer: Optimizer
    notes: str


class TrainingStep:
    """One model on one batch, again and again."""

    def __init__(self, built: Built, inputs: Tensor, targets: Tensor, *, compiled: bool) -> None:
        self._built, self._inputs, self._targets = built, inputs, targets
        self._loss_of = torch.compile(built.loss_of) if compiled else built.loss_of

    def check(self, *, max_steps: int, seconds: float) -> dict[str, Any]:
        """Losses of some steps, at least 2, and whether all gradients were finite; compiles on the way."""
        losses: list[float] = []
        finite = True
        begin = time.perf_counter()
        while len(losses) < 2 or (len(losses) < max_steps and time.perf_counter() - begin < seconds):
            losses.append(float(self._forward_and_backward()))
            gradients = [parameter.grad for parameter in self._built.model.parameters()]
            finite &= all(gradient is not None and bool(gradient.isfinite().all()) for gradient in gradients)
            self._update()
        return {"losses": losses, "gradients_finite": finite and all(map(math.isfinite, losses))}

    def measure(self, *, max_steps: int, seconds: float) -> dict[str, Any]:
        """Seconds of each of some steps: as many as begin within the time, at least 1."""
        step_s: list[float] = []
        begin = time.perf_counter()
        while not step_s or (len(step_s) < max_steps and time.perf_counter() - begin < seconds):
            start = time.perf_counter()
            float(self._forward_and_backward())
            self._update()
            step_s.append(time.perf_counter() - start)
        return {"step_s": step_s}

    def _forward_and_backward(self) -> Tensor:
        loss = self._loss_of(self._inputs, self._targets)
        loss.backward()
        return loss.detach()

    def _update(self) -> None:
        self._built.optimizer.step()
        self._built.optimizer.zero_grad(set_to_none=True)


def serve_training(build: Callable[[Shape, str], Built], versions: dict[str, str]) -> None:
    """Answer `set_up`, `check` and `measure` for the model that `build(shape, precision)` makes."""
    steps: list[TrainingStep] = []

    def set_up(
        shape: dict[str, int], precision: str, compiled: bool, ids: list[list[int]], threads: int
    ) -> dict[str, Any]:
        torch.set_num_threads(threads)
        torch.manual_seed(0)
        built = build(Shape(**shape), precision)
        windows = torch.tensor(ids)  # (batch, context + 1)
        inputs, targets = windows[:, :-1].contiguous(), windows[:, 1:].contiguous()
        steps.append(TrainingStep(built, inputs, targets, compiled=compiled))
        return {
            "num_parameters": sum(parameter.numel() for parameter in built.model.parameters()),
            "notes": built.notes,
            "versions": {"torch": str(torch.__version__), **versions},
        }

    serve(
        {
            "set_up": set_up,
            "check": lambda **limits: steps[-1].check(**limits),
            "measure": lambda **limits: steps[-1].measure(**limits),
        }
    )
