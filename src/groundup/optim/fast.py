"""AdamW and clipping on the native kernels: the same formulas and the same state, in one pass over memory.

For parameters in float32 on the CPU; the readable versions, adamw.py and gradients.py, do what is not that.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from groundup.kernels import update
from groundup.optim import gradients
from groundup.optim.adamw import AdamW


class FastAdamW(AdamW):
    """AdamW whose step goes through all parameters of a group at once. A state fits either of the two.

    `copies` may name for some parameters a copy in bf16 that gets each new value too, rounded to nearest, in the same
    pass: products in bf16 take them from there. They are no part of its state: a copy of the optimizer has none.
    """

    copies: Mapping[Tensor, update.WeightCopy] = MappingProxyType({})

    def _update_all(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        updates, copied, others = [], [], []
        for parameter in parameters:
            assert parameter.grad is not None
            if _is_taken(parameter) and _is_taken(parameter.grad):
                updates.append(self._update_of(parameter, parameter.grad, group))
                if parameter in self.copies:
                    copied.append(parameter)
            else:
                others.append(parameter)
        update.adamw(updates, betas=group["betas"], eps=group["eps"])
        for parameter in copied:
            self.copies[parameter].mark(parameter)
        super()._update_all(others, group)

    def _update_of(self, parameter: Tensor, gradient: Tensor, group: dict[str, Any]) -> update.Update:
        state = self._state_of(parameter)
        state["step"] += 1
        its_copy = self.copies.get(parameter)
        return update.Update(
            parameter.detach(),
            state["m"],
            state["v"],
            gradient,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            t=state["step"],
            copy=None if its_copy is None else its_copy.values,
        )


def clip_gradients(parameters: Iterable[Tensor], max_norm: float | int, eps: float = 1e-6) -> Float[Tensor, ""]:
    """As gradients.clip_gradients; the norm does not depend on the number of threads."""
    parameters = list(parameters)
    found = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not all(_is_taken(gradient) for gradient in found):
        return gradients.clip_gradients(parameters, max_norm, eps)
    norm = torch.tensor(update.global_norm(found))
    factor = float((max_norm / (norm + eps)).clamp(max=1.0))
    if factor != 1:  # of an infinite or unknown norm too
        update.scale(found, factor)
    return norm


def _is_taken(tensor: Tensor) -> bool:
    return tensor.device.type == "cpu" and tensor.dtype == torch.float32 and tensor.is_contiguous()
