"""The embedding through native/kernels/embedding.cpp. Oracle: model.ops.embedding."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from groundup import _native
from groundup.kernels.arrays import VALUES, address, is_taken, settings
from groundup.model import ops


def embedding(ids: Int[Tensor, "..."], weight: Float[Tensor, "vocab d_model"]) -> Float[Tensor, "... d_model"]:
    """As model.ops.embedding. Raises IndexError for an id that is not one of the vocabulary.

    The gradient sums the rows of each id in their order, whatever the number of threads, in float32.
    """
    if not is_taken(weight) or ids.dtype != torch.int64 or ids.device != weight.device:
        return ops.embedding(ids, weight)
    return _embedding(ids, weight)


@torch.library.custom_op("groundup::embedding", mutates_args=())
def _embedding(ids: Tensor, weight: Tensor) -> Tensor:
    ids, weight = ids.contiguous(), weight.contiguous()
    out = weight.new_empty(*ids.shape, weight.shape[1])
    rows_into(out, ids, weight)
    return out


@_embedding.register_fake
def _(ids: Tensor, weight: Tensor) -> Tensor:
    return weight.new_empty(*ids.shape, weight.shape[1])


@torch.library.custom_op("groundup::embedding_backward", mutates_args=())
def _embedding_backward(gradient: Tensor, ids: Tensor, vocab_size: int) -> Tensor:
    gradient, ids = gradient.contiguous(), ids.contiguous()
    weight_gradient = gradient.new_empty(vocab_size, gradient.shape[-1], dtype=torch.float32)
    sums_into(weight_gradient, ids, gradient, accumulate=False)
    return weight_gradient.to(gradient.dtype)


@_embedding_backward.register_fake
def _(gradient: Tensor, ids: Tensor, vocab_size: Any) -> Tensor:  # a symbol while a graph is traced
    return gradient.new_empty(vocab_size, gradient.shape[-1])


def rows_into(out: Tensor, ids: Tensor, weight: Tensor) -> None:
    """Write the rows that ids name."""
    _native.embedding(
        address(weight, weight.shape, *VALUES),
        address(ids, ids.shape, torch.int64),
        address(out, (*ids.shape, weight.shape[1]), weight.dtype),
        vocab_size=len(weight),
        **_sizes(ids, weight),
    )


def sums_into(weight_gradient: Tensor, ids: Tensor, gradient: Tensor, *, accumulate: bool) -> None:
    """Write for each id the sum of its rows of `gradient`, in float32, or add it to what is there."""
    _native.embedding_backward(
        address(gradient, (*ids.shape, gradient.shape[-1]), *VALUES),
        address(ids, ids.shape, torch.int64),
        address(weight_gradient, weight_gradient.shape, torch.float32),
        vocab_size=len(weight_gradient),
        accumulate=accumulate,
        **_sizes(ids, gradient),
    )


def _sizes(ids: Tensor, values: Tensor) -> dict[str, Any]:
    return {"rows": ids.numel(), "columns": values.shape[-1]} | settings(values)


def _save_ids(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ids, weight = inputs
    ctx.save_for_backward(ids)
    ctx.vocab_size = weight.shape[0]


def _backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
    return None, _embedding_backward(gradient, *ctx.saved_tensors, ctx.vocab_size)


_embedding.register_autograd(_backward, setup_context=_save_ids)
