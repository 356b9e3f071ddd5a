"""AdamW: steps of about the learning rate in every coordinate, whatever the size of its gradient.

The update is PyTorch's to the last bit, so runs can be compared. What decides the learning rate of a
step is in schedule.py, what becomes of the gradients before it in gradients.py.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from groundup.errors import ConfigError


class AdamW(Optimizer):
    """Adam with decoupled weight decay. Loshchilov & Hutter 2017 (arXiv:1711.05101), algorithm 2.

    With gradient g, for the update number t = 1, 2, ... of a parameter:

        theta <- theta - lr * weight_decay * theta
        m     <- beta1 * m + (1 - beta1) * g                  running mean of g
        v     <- beta2 * v + (1 - beta2) * g^2                running mean of g^2
        theta <- theta - lr * m_hat / (sqrt(v_hat) + eps)     m_hat = m / (1 - beta1^t), v_hat = v / (1 - beta2^t)

    m and v start at 0 and are too small at first; the hats make up for it. Some texts decay after the
    step, which differs by lr * weight_decay * step, or fold the hats into lr, which moves eps.

    Args:
        params: Parameters, or groups of them as dicts with `params` and options of their own.
        lr: Learning rate; a schedule may set `group["lr"]` before each step.
        betas: How much of the running means survives a step.
        eps: Keeps the step finite where a gradient has always been 0.
        weight_decay: Fraction, times lr, by which a weight shrinks per step.

    Raises ConfigError for values out of range. Memory: two arrays of the parameters' size.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | int = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | int = 0.01,
    ) -> None:
        for name, value in (("lr", lr), ("eps", eps), ("weight_decay", weight_decay)):
            if not value >= 0:  # written so that NaN is refused too
                raise ConfigError(f"{name} of AdamW is {value}; it must not be negative")
        if not all(0 <= beta < 1 for beta in betas):
            raise ConfigError(f"betas of AdamW are {betas}; each must be at least 0 and below 1")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient; returns what `closure` (recomputes the loss) gives."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._update_all([parameter for parameter in group["params"] if parameter.grad is not None], group)
        return loss

    def _update_all(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        """Update those parameters of a group that have a gradient."""
        for parameter in parameters:
            assert parameter.grad is not None
            self._update(parameter, parameter.grad, group)

    def _update(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> None:
        """The formula above, in place.

        One parameter after the other, which stays in cache through the five lines; torch._foreach_
        functions, which go through all of them line by line, took a fifth longer on two cores.
        """
        state = self._state_of(parameter)
        state["step"] += 1
        t, m, v = state["step"], state["m"], state["v"]
        lr, (beta1, beta2) = group["lr"], group["betas"]

        parameter.mul_(1 - lr * group["weight_decay"])
        m.lerp_(gradient, 1 - beta1)
        v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root_of_v_hat = v.sqrt().div_((1 - beta2**t) ** 0.5)
        parameter.addcdiv_(m, root_of_v_hat.add_(group["eps"]), value=-lr / (1 - beta1**t))

    def _state_of(self, parameter: Tensor) -> dict[str, Any]:
        """Number of updates so far, m and v; made at the first."""
        state = self.state[parameter]
        if not state:
            state["step"] = 0
            state["m"] = torch.zeros_like(parameter)
            state["v"] = torch.zeros_like(parameter)
        return state
