"""Stochastic gradient descent, the simplest optimizer: what the learning rate does is seen best here."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.optim import Optimizer

from groundup.errors import ConfigError


class SGD(Optimizer):
    """theta <- theta - lr / sqrt(t + 1) * gradient, for t = 0, 1, 2, ... of a parameter.

    The falling rate lets the noise of the batches die out: its sum diverges, so any distance can be
    covered, while the steps become as small as one likes.

    Args:
        params: Parameters, or groups of them as dicts.
        lr: Learning rate of the first step.

    Raises ConfigError for a negative `lr`.
    """

    def __init__(self, params: Iterable[Any], lr: float | int = 1e-3) -> None:
        if not lr >= 0:  # written so that NaN is refused too
            raise ConfigError(f"lr of SGD is {lr}; it must not be negative")
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` (recomputes the loss) gives."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                t = state.get("step", 0)
                parameter.add_(parameter.grad, alpha=-group["lr"] / (t + 1) ** 0.5)
                state["step"] = t + 1
        return loss
