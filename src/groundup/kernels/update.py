"""AdamW, the norm of all gradients and their scaling, over many tensors at once: native adamw.cpp, gradients.cpp.

Oracles: optim.adamw.AdamW, optim.gradients.global_norm and clip_gradients. These are no torch operations: they
run where no graph is recorded.
"""

import dataclasses
import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from groundup import _native
from groundup.kernels.arrays import VALUES, address, settings

FLOAT32, BF16 = torch.float32, torch.bfloat16


@dataclasses.dataclass(frozen=True)
class Update:
    """A parameter, its running means m and v, its gradient, and how it is updated for the `t`-th time (from 1).

    All float32 but the gradient, which may be bf16, and `copy`, which is bf16 and gets the new parameter too.
    """

    parameter: Tensor
    m: Tensor
    v: Tensor
    gradient: Tensor
    lr: float
    weight_decay: float
    t: int
    copy: Tensor | None = None


@dataclasses.dataclass
class WeightCopy:
    """The values of a parameter in another place or type, and the state of the parameter that they are known to be of.

    Unknown, None, until somebody who writes to both says so. A state is where the parameter lies and torch's count of
    its changes, which does not count what is written through `parameter.data`.
    """

    values: Tensor
    of_state: tuple[int, int] | None = None

    def mark(self, parameter: Tensor) -> None:
        """Note that `values` are those of the parameter as it is now."""
        self.of_state = (parameter.data_ptr(), parameter._version)

    @torch.no_grad()
    def refresh(self, parameter: Tensor) -> None:
        """Copy the parameter, unless `values` are known to be its own."""
        if self.of_state is None:
            self.values.copy_(parameter)
        elif self.of_state != (parameter.data_ptr(), parameter._version):
            self.values.copy_(parameter)
            self.mark(parameter)


@torch.no_grad()
def adamw(updates: Sequence[Update], *, betas: tuple[float, float], eps: float) -> None:
    """One step of AdamW in place, in one pass over memory."""
    beta1, beta2 = betas
    for dtype in VALUES:
        of_type = [update for update in updates if update.gradient.dtype == dtype]
        if not of_type:
            continue
        _native.adamw(
            [_native_update(update, betas) for update in of_type],
            m_share=1 - beta1,
            v_keep=beta2,
            v_share=1 - beta2,
            eps=eps,
            **settings(of_type[0].gradient),
        )
    written = [tensor for update in updates for tensor in (update.parameter, update.m, update.v, update.copy)]
    _tell_autograd([tensor for tensor in written if tensor is not None])


def _native_update(
    update: Update, betas: tuple[float, float]
) -> tuple[int, int, int, int, int, int, float, float, float]:
    shape = update.parameter.shape
    return (
        address(update.parameter, shape, FLOAT32),
        address(update.m, shape, FLOAT32),
        address(update.v, shape, FLOAT32),
        address(update.gradient, shape, *VALUES),
        address(update.copy, shape, BF16),
        update.parameter.numel(),
        1 - update.lr * update.weight_decay,
        update.lr / (1 - betas[0] ** update.t),
        math.sqrt(1 - betas[1] ** update.t),
    )


@torch.no_grad()
def global_norm(tensors: Sequence[Tensor]) -> float:
    """The l2 norm of all `tensors` as if they were one vector; their order counts, the number of threads does not."""
    total = 0.0
    for some in _by_type(tensors):
        total += _native.sum_of_squares(_places(some), **settings(some[0]))
    return math.sqrt(total)


@torch.no_grad()
def scale(tensors: Sequence[Tensor], factor: float) -> None:
    """All values times `factor`, in place."""
    for some in _by_type(tensors):
        _native.scale(_places(some), factor, **settings(some[0]))
    _tell_autograd(tensors)


def _tell_autograd(tensors: Sequence[Tensor]) -> None:
    """That these were written to: a graph that needs what they held before is then refused, not computed wrongly."""
    for tensor in tensors:
        torch.autograd.graph.increment_version(tensor)


def _places(tensors: Iterable[Tensor]) -> list[tuple[int, int]]:
    return [(address(tensor, tensor.shape, *VALUES), tensor.numel()) for tensor in tensors]


def _by_type(tensors: Sequence[Tensor]) -> Iterable[list[Tensor]]:
    """Those in float32, then those in bf16, where there are any: a kernel takes one type at a time."""
    assert all(tensor.dtype in VALUES for tensor in tensors)
    for dtype in VALUES:
        if some := [tensor for tensor in tensors if tensor.dtype == dtype]:
            yield some
