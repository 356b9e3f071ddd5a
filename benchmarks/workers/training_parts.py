"""The weights of a Llama under one set of names: what all contestants begin with, and whose gradients are compared.

A side shows where each part lies in its own parameters (`Parts`): a row range of a fused matrix, say. Queries and
keys have the shape (heads, 2, d_head / 2, d_model), so that the two ways to pair what rotary positions turn, next
neighbours and halves, are views of the same weights.
"""

import math
import zlib
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

View = Callable[[nn.Parameter], Tensor]  # of a parameter: its values, or its gradient
Parts = Callable[[View], dict[str, Tensor]]

EMBEDDING, HEAD, NORM = "embedding", "head", "norm"


def layer_parts(number: int, **parts: Tensor) -> dict[str, Tensor]:
    """The parts of a layer under their common names: `q` of layer 2 is "2.q"."""
    return {f"{number}.{name}": part for name, part in parts.items()}


def paired_by_halves(rows: Tensor, num_heads: int) -> Tensor:
    """Rows of a query or key matrix where x[k] is turned with x[k + d_head / 2] (Hugging Face, litgpt)."""
    return rows.view(num_heads, 2, -1, rows.shape[-1])


def paired_by_neighbours(rows: Tensor, num_heads: int) -> Tensor:
    """Rows of a query or key matrix where x[2k] is turned with x[2k + 1] (groundup)."""
    return rows.view(num_heads, -1, 2, rows.shape[-1]).transpose(1, 2)


@torch.no_grad()
def fill(parts: Parts) -> None:
    """Give a model the common weights: random, the same for every side, and none near a special value.

    A fault that a gain of 1 or a vector of size 1 would hide shows: gains lie between 0.5 and 1.5, the vectors of the
    embedding have the size 0.5. The first loss is that of an untrained model all the same.
    """
    for name, part in parts(lambda parameter: parameter.data).items():
        generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        if part.ndim == 1:
            part.copy_(torch.rand(part.shape, generator=generator) + 0.5)
            continue
        std = {EMBEDDING: 0.5, HEAD: 0.5 * part.shape[-1] ** -0.5}.get(name, part.shape[-1] ** -0.5)
        part.copy_(torch.randn(part.shape, generator=generator) * std)


def gradients(parts: Parts) -> dict[str, Tensor]:
    """The gradient of each part in float32, in memory of its own. A parameter without one raises ValueError."""

    def gradient(parameter: nn.Parameter) -> Tensor:
        if parameter.grad is None:
            raise ValueError(f"a parameter of shape {tuple(parameter.shape)} has no gradient")
        return parameter.grad

    return {name: part.to(torch.float32, copy=True).contiguous() for name, part in parts(gradient).items()}


def largest_error(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> tuple[float, str]:
    """The largest relative error (of the l2 norm) of a part, and the part; NaN counts as the largest of all.

    >>> largest_error({"a": torch.tensor([3.0, 4.5])}, {"a": torch.tensor([3.0, 4.0])})
    (0.1, 'a')
    """
    if found.keys() != expected.keys():
        raise ValueError(f"parts differ: {sorted(found.keys() ^ expected.keys())}")
    errors = {name: float((found[name] - part).norm() / part.norm()) for name, part in expected.items()}
    worst = max(errors, key=lambda name: math.inf if math.isnan(errors[name]) else errors[name])
    return round(errors[worst], 7), worst
