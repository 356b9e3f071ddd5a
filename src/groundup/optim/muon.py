"""Muon: for a matrix, the step is the nearest orthogonal matrix to its averaged gradient; the rest goes by AdamW.

A gradient of a matrix is mostly a few directions; steps of that shape would leave the others where they are. With all
singular values set to 1 each direction moves equally far. Which parameters are taken for matrices: `muon_groups`.
An option of the leaderboard lab (docs/leaderboard.md); the plain optimizer is adamw.py.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from groundup.errors import ConfigError
from groundup.model.attention import CausalSelfAttention
from groundup.optim.adamw import AdamW
from groundup.optim.fast import FastAdamW
from groundup.optim.gradients import parameter_groups

# x -> a x + b x^3 + c x^5 on singular values: steep at 0, so that small ones grow fast, and near 1 it stays near 1.
QUINTIC = (3.4445, -4.7750, 2.0315)
NUM_ITERATIONS = 5
SIZE_OF_STEP = 0.2  # root mean square of a step at rate 1: about that of AdamW's


class Muon(AdamW):
    """Momentum, orthogonalized, for groups with `rows`; AdamW for the others.

    Jordan et al. 2024, Muon: An optimizer for hidden layers in neural networks (kellerjordan.github.io/posts/muon).
    With gradient G of an m x n matrix W:

        M <- momentum * M + G                             sum of past gradients
        O  = orthogonalized(G + momentum * M)             Nesterov's look ahead
        W <- W - lr * weight_decay * W - lr * SIZE_OF_STEP * sqrt(max(m, n)) * O

    The factor gives the entries of a step the size that AdamW's have, so that one `lr` and one decay serve both: Liu et
    al. 2025, Muon is Scalable for LLM Training (arXiv:2502.16982), section 2.2.

    Args:
        params: Groups as `muon_groups` makes them: `rows` are the heights of the matrices that a parameter is made of,
            each orthogonalized on its own.
        momentum: Share of the sum that survives a step.
        others: As of AdamW, for parameters without `rows`.

    Raises ConfigError for values out of range. Memory: one array for a matrix where AdamW has two. Cost: up to
    30 m n min(m, n) operations for each matrix, whatever the batch (accounting.muon_flops).
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | int = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float | int = 0.01,
        momentum: float | int = 0.95,
    ) -> None:
        if not 0 <= momentum < 1:
            raise ConfigError(f"momentum of Muon is {momentum}; it must be at least 0 and below 1")
        super().__init__(params, lr, betas, eps, weight_decay)
        for group in self.param_groups:
            group["momentum"] = momentum

    def _update_all(self, parameters: list[Tensor], group: dict[str, Any]) -> None:
        if not group.get("rows"):
            super()._update_all(parameters, group)
            return
        rows, lr = group["rows"], group["lr"]
        averaged = [self._look_ahead(parameter, group) for parameter in parameters]
        steps = orthogonalized_all([part for matrix in averaged for part in matrix.split(rows)])
        for parameter in parameters:
            parameter.mul_(1 - lr * group["weight_decay"])
        parts = [part for parameter in parameters for part in parameter.split(rows)]
        for part, step in zip(parts, steps, strict=True):
            part.add_(step, alpha=-lr * SIZE_OF_STEP * max(part.shape) ** 0.5)

    def _look_ahead(self, parameter: Tensor, group: dict[str, Any]) -> Tensor:
        """G + momentum * M, after M has taken G in."""
        assert parameter.grad is not None
        state, momentum = self.state[parameter], group["momentum"]
        if "sum" not in state:
            state["sum"] = torch.zeros_like(parameter)
        state["sum"].mul_(momentum).add_(parameter.grad)
        return parameter.grad.add(state["sum"], alpha=momentum)


class FastMuon(Muon, FastAdamW):
    """Muon whose AdamW is that of the native kernels."""


def muon_groups(model: nn.Module, weight_decay: float | int) -> list[dict[str, Any]]:
    """The parameters of `model` for Muon: matrices within layers with their `rows`, all others as for AdamW.

    Embedding and head are no matrices in this sense, though they look so: a row of theirs belongs to a token, and most
    tokens are not in a batch. Queries, keys and values are three matrices in one parameter.
    """
    heights = _heights_of_fused(model)
    by_rows: dict[tuple[int, ...], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in model.named_parameters():
        if name.startswith("layers.") and parameter.ndim == 2 and parameter.requires_grad:
            by_rows[heights.get(parameter, (len(parameter),))].append(parameter)
    taken = {parameter for parameters in by_rows.values() for parameter in parameters}
    groups = [
        {**group, "params": [parameter for parameter in group["params"] if parameter not in taken], "rows": ()}
        for group in parameter_groups(model, weight_decay)
    ]
    groups += [{"params": found, "weight_decay": weight_decay, "rows": rows} for rows, found in by_rows.items()]
    return [group for group in groups if group["params"]]


def orthogonalized_all(matrices: list[Tensor]) -> list[Tensor]:
    """`orthogonalized` of each, those of a shape at once; on a GPU in bf16, which loses nothing that counts here."""
    by_shape: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for place, matrix in enumerate(matrices):
        by_shape[tuple(matrix.shape)].append(place)
    found = list(matrices)
    for places in by_shape.values():
        together = torch.stack([matrices[place] for place in places])
        narrow = together.to(torch.bfloat16) if together.is_cuda else together
        for place, step in zip(places, orthogonalized(narrow).to(together.dtype), strict=True):
            found[place] = step
    return found


def orthogonalized(matrix: Float[Tensor, "... m n"]) -> Float[Tensor, "... m n"]:
    """About U V^T of the singular value decomposition U S V^T: singular values go to somewhere from 0.68 to 1.21.

    An iteration of Newton and Schulz: X <- a X + b X X^T X + c (X X^T)^2 X applies the polynomial of `QUINTIC` to each
    singular value and leaves U and V as they are. X begins with the Frobenius norm 1, so that none is above 1. Those
    below about 1/600 of that norm come out smaller; with other coefficients all would converge to 1, and take longer.
    Bernstein & Newhouse 2024, Old Optimizer, New Norm (arXiv:2409.20325); the coefficients are those of the post above.
    """
    a, b, c = QUINTIC
    is_tall = matrix.shape[-2] > matrix.shape[-1]
    x = matrix.mT if is_tall else matrix  # X X^T is the smaller of the two products
    x = x / (torch.linalg.matrix_norm(x, keepdim=True) + 1e-7)
    for _ in range(NUM_ITERATIONS):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.mT if is_tall else x


def _heights_of_fused(model: nn.Module) -> dict[nn.Parameter, tuple[int, ...]]:
    """The heights of the matrices of queries, keys and values in each parameter that holds all three."""
    return {
        part.qkv_weight: tuple(heads * part.d_head for heads in part.heads)
        for part in model.modules()
        if isinstance(part, CausalSelfAttention)
    }
