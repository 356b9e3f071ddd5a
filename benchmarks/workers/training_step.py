"""A training step as all sides are measured: forward, loss, backward, update, on one fixed batch.

A worker says how to build model and optimizer; setting up, checking and timing are the same for all and
stand here. Runs in the environments of all peers, so: torch and the standard library only.
"""

import gc
import math
import resource
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from model_shape import Shape
from process_memory import peak_memory_bytes, reset_peak_memory
from protocol import serve
from racing import Racer
from torch import Tensor, nn
from torch.optim import Optimizer
from training_parts import Parts, fill, gradients, largest_error

# The optimizer of all sides. No schedule and no clipping: neither is part of what is compared.
LR, BETAS, EPS, WEIGHT_DECAY = 1e-3, (0.9, 0.95), 1e-8, 0.1


@dataclass(frozen=True)
class Built:
    """What a side hands over.

    Args:
        model: Whose parameters are trained.
        loss_of: Its loss, in nats per token, as a function of (inputs, targets).
        optimizer: Over the parameters.
        notes: What a reader of the result should know, in words.
        parts: Where the common parts lie in the parameters.
        clip: Scales gradients to a global norm; only in the race.
    """

    model: nn.Module
    loss_of: Callable[[Tensor, Tensor], Tensor]
    optimizer: Optimizer
    notes: str
    parts: Parts
    clip: Callable[[Iterable[Tensor], float], Tensor] = nn.utils.clip_grad_norm_


Build = Callable[[Shape, str], Built]  # of a shape and the worker's word for a precision


class TrainingStep:
    """One model on one batch, again and again."""

    def __init__(self, built: Built, inputs: Tensor, targets: Tensor, *, compiled: bool) -> None:
        self._built, self._inputs, self._targets = built, inputs, targets
        self._loss_of = torch.compile(built.loss_of) if compiled else built.loss_of

    def check(self, *, max_steps: int, seconds: float, gradients_file: str, judge: bool) -> dict[str, Any]:
        """Losses of some steps, at least 2, and whether all gradients were finite; compiles on the way.

        The judge writes the gradients of the first step to the file; everyone else's are compared with those.
        """
        losses: list[float] = []
        finite = True
        error, part = 0.0, ""
        begin = time.perf_counter()
        while len(losses) < 2 or (len(losses) < max_steps and time.perf_counter() - begin < seconds):
            losses.append(float(self._forward_and_backward()))
            found = gradients(self._built.parts)
            finite &= all(bool(gradient.isfinite().all()) for gradient in found.values())
            if len(losses) == 1 and judge:
                torch.save(found, gradients_file)
            elif len(losses) == 1:
                error, part = largest_error(found, torch.load(gradients_file))
            self._update()
        return {
            "losses": losses,
            "gradients_finite": finite and all(map(math.isfinite, losses)),
            "gradient_error": error,
            "gradient_part": part,
        }

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


def serve_training(build: Build, versions: dict[str, str]) -> None:
    """Answer for the model that `build(shape, precision)` makes: the training step, and the race (racing.py)."""
    steps: list[TrainingStep] = []
    versions = {"torch": str(torch.__version__), **versions}

    def set_up(
        shape: dict[str, int],
        precision: str,
        compiled: bool,
        ids: list[list[int]],
        threads: int,
        memory_bytes: int | None = None,
    ) -> dict[str, Any]:
        """A new model with the common weights, in place of the one before; no more than `memory_bytes` are taken."""
        steps.clear()
        gc.collect()
        if memory_bytes is not None:
            limit_memory(memory_bytes)
        torch.set_num_threads(threads)
        built = build(Shape(**shape), precision)
        fill(built.parts)
        windows = torch.tensor(ids)  # (batch, context + 1)
        inputs, targets = windows[:, :-1].contiguous(), windows[:, 1:].contiguous()
        steps.append(TrainingStep(built, inputs, targets, compiled=compiled))
        return {
            "num_parameters": sum(parameter.numel() for parameter in built.model.parameters()),
            "notes": built.notes,
            "versions": versions,
        }

    def peak_memory(reset: bool = False) -> dict[str, Any]:
        return {"peak_bytes": peak_memory_bytes(), "reset": reset and reset_peak_memory()}

    serve(
        {
            "set_up": set_up,
            "check": lambda **wanted: steps[-1].check(**wanted),
            "measure": lambda **limits: steps[-1].measure(**limits),
            "peak_memory": peak_memory,
            **Racer(lambda shape, precision: build(Shape(**shape), precision), versions).operations,
        }
    )


def limit_memory(size_bytes: int) -> None:
    """Have the system refuse what goes beyond, so that torch raises; else it might end any process of the machine."""
    resource.setrlimit(resource.RLIMIT_DATA, (size_bytes, resource.getrlimit(resource.RLIMIT_DATA)[1]))
