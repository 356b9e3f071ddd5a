"""Cross-entropy of logits, and of hidden states and the head without all logits, through cross_entropy.cpp.

Oracles: model.loss.cross_entropy and model.ops.linear_cross_entropy. The second takes hidden states by some
hundred rows, makes their logits, and turns these into loss and gradient while they are in cache, as in Hsu et
al. 2024, Liger Kernel: Efficient Triton Kernels for LLM Training (arXiv:2410.10989).
"""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from groundup import _native
from groundup.kernels.arrays import VALUES, address, is_taken, rows_of, settings
from groundup.model import loss, ops

FLOAT32 = torch.float32


def cross_entropy(logits: Float[Tensor, "... vocab"], targets: Int[Tensor, "..."]) -> Float[Tensor, ""]:
    """As model.loss.cross_entropy. Raises IndexError for a target that is not one of the vocabulary."""
    if not is_taken(logits) or targets.dtype != torch.int64 or targets.numel() == 0:
        return loss.cross_entropy(logits, targets)
    return _cross_entropy(logits, targets)[0]


def linear_cross_entropy(
    hidden: Float[Tensor, "... d_model"],
    weight: Float[Tensor, "vocab d_model"],
    targets: Int[Tensor, "..."],
    *,
    dtype: torch.dtype = FLOAT32,
    rows_at_once: int = 512,
    hold_gradient: bool = True,
) -> Float[Tensor, ""]:
    """Cross-entropy of the logits hidden @ weight^T, of which `rows_at_once` rows exist at a time.

    The gradient of all of them is held in `dtype`, or not at all.

    Args:
        hidden, weight: In float32, or already in `dtype`.
        dtype: In which products are taken and logits kept, float32 or bf16.
        rows_at_once: Rows of hidden whose logits are made together.
        hold_gradient: Keep the gradient of all logits, in `dtype`, until one product gives that of the weight. Without,
            each `rows_at_once` rows add to the gradient of the weight: less memory, more passes over it.

    Where a gradient is wanted it is computed here, beside the loss. Raises IndexError for a target that is
    not one of the vocabulary.
    """
    is_ours = hidden.device.type == "cpu" and not {hidden.dtype, weight.dtype} - {FLOAT32, dtype}
    if not is_ours or targets.dtype != torch.int64 or targets.numel() == 0:
        return ops.linear_cross_entropy(hidden, weight, targets)
    if torch.is_grad_enabled() and (hidden.requires_grad or weight.requires_grad):
        return _linear_cross_entropy(hidden, weight, targets, dtype, rows_at_once, hold_gradient)[0]
    return _linear_cross_entropy_loss(hidden, weight, targets, dtype, rows_at_once)


@torch.library.custom_op("groundup::cross_entropy", mutates_args=())
def _cross_entropy(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(loss, the logarithm of each row's sum of exponentials)"""
    log_sums = logits.new_empty(targets.shape, dtype=FLOAT32)
    losses = torch.empty_like(log_sums)
    losses_into(losses, logits.contiguous(), targets.contiguous(), log_sums)
    return mean(losses), log_sums


@_cross_entropy.register_fake
def _(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    return logits.new_empty((), dtype=FLOAT32), logits.new_empty(targets.shape, dtype=FLOAT32)


@torch.library.custom_op("groundup::cross_entropy_backward", mutates_args=())
def _cross_entropy_backward(gradient: Tensor, logits: Tensor, targets: Tensor, log_sums: Tensor) -> Tensor:
    logits, targets = logits.contiguous(), targets.contiguous()
    logit_gradient = torch.empty_like(logits)
    _native.cross_entropy_backward(
        address(logits, logits.shape, *VALUES),
        address(targets, logits.shape[:-1], torch.int64),
        address(log_sums, logits.shape[:-1], FLOAT32),
        address(logit_gradient, logits.shape, logits.dtype),
        scale=float(gradient) / targets.numel(),
        **_sizes(logits),
    )
    return logit_gradient


@_cross_entropy_backward.register_fake
def _(gradient: Tensor, logits: Tensor, targets: Tensor, log_sums: Tensor) -> Tensor:
    return logits.new_empty(logits.shape)


@torch.library.custom_op("groundup::linear_cross_entropy", mutates_args=())
def _linear_cross_entropy(
    hidden: Tensor, weight: Tensor, targets: Tensor, dtype: torch.dtype, rows_at_once: int, hold_gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """(loss, its gradient by hidden, its gradient by weight, each in the type of what it belongs to)"""
    assert targets.shape == hidden.shape[:-1], (targets.shape, hidden.shape)
    vectors = hidden.reshape(-1, hidden.shape[-1]).to(dtype)
    matrix, targets = weight.to(dtype), targets.reshape(-1).contiguous()
    rows, vocab_size = len(vectors), len(matrix)
    losses = vectors.new_empty(rows, dtype=FLOAT32)
    vector_gradient = torch.empty_like(vectors)
    logits = vectors.new_empty(rows if hold_gradient else min(rows_at_once, rows), vocab_size)
    weight_gradient = weight.new_zeros(() if hold_gradient else weight.shape, dtype=FLOAT32)
    for first in range(0, rows, rows_at_once):
        part = slice(first, min(first + rows_at_once, rows))
        of_part = logits[part] if hold_gradient else logits[: part.stop - first]
        torch.mm(vectors[part], matrix.mT, out=of_part)
        losses_into(losses[part], of_part, targets[part], torch.empty_like(losses[part]), of_part, 1 / rows)
        if not hold_gradient:
            torch.mm(of_part, matrix, out=vector_gradient[part])
            weight_gradient += of_part.mT @ vectors[part]
    if hold_gradient:
        torch.mm(logits, matrix, out=vector_gradient)
        weight_gradient = logits.mT @ vectors
    return mean(losses), vector_gradient.view(hidden.shape).to(hidden.dtype), weight_gradient.to(weight.dtype)


@_linear_cross_entropy.register_fake
def _(
    hidden: Tensor, weight: Tensor, targets: Tensor, dtype: torch.dtype, rows_at_once: int, hold_gradient: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return hidden.new_empty((), dtype=FLOAT32), hidden.new_empty(hidden.shape), weight.new_empty(weight.shape)


@torch.library.custom_op("groundup::linear_cross_entropy_loss", mutates_args=())
def _linear_cross_entropy_loss(
    hidden: Tensor, weight: Tensor, targets: Tensor, dtype: torch.dtype, rows_at_once: int
) -> Tensor:
    assert targets.shape == hidden.shape[:-1], (targets.shape, hidden.shape)
    vectors, targets = hidden.reshape(-1, hidden.shape[-1]).to(dtype), targets.reshape(-1).contiguous()
    matrix, losses = weight.to(dtype), vectors.new_empty(len(vectors), dtype=FLOAT32)
    for first in range(0, len(vectors), rows_at_once):
        part = slice(first, first + rows_at_once)
        logits = vectors[part] @ matrix.mT
        losses_into(losses[part], logits, targets[part], torch.empty_like(losses[part]))
    return mean(losses)


@_linear_cross_entropy_loss.register_fake
def _(hidden: Tensor, weight: Tensor, targets: Tensor, dtype: torch.dtype, rows_at_once: int) -> Tensor:
    return hidden.new_empty((), dtype=FLOAT32)


def losses_into(
    losses: Tensor,
    logits: Tensor,
    targets: Tensor,
    log_sums: Tensor,
    gradient: Tensor | None = None,
    scale: float = 1.0,
) -> None:
    """Write the loss of each row, `log_sums` and, if given, `gradient` (may be `logits`), times `scale`."""
    _native.cross_entropy(
        address(logits, logits.shape, *VALUES),
        address(targets, logits.shape[:-1], torch.int64),
        address(losses, logits.shape[:-1], FLOAT32),
        address(log_sums, logits.shape[:-1], FLOAT32),
        address(gradient, logits.shape, logits.dtype),
        scale=scale,
        **_sizes(logits),
    )


def _sizes(logits: Tensor) -> dict[str, Any]:
    return {"rows": rows_of(logits), "columns": logits.shape[-1]} | settings(logits)


def mean(losses: Tensor) -> Tensor:
    """Their mean, summed in float64."""
    return losses.mean(dtype=torch.float64).to(FLOAT32)


def _save_logits(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*inputs, output[1])


def _logit_gradient(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Tensor, None]:
    return _cross_entropy_backward(gradient, *ctx.saved_tensors), None


def _save_gradients(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    ctx.save_for_backward(*output[1:])


def _times_gradients(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Tensor | None, ...]:
    if torch.is_grad_enabled():  # create_graph: what reaches the gradients, which are outputs, would be lost
        raise RuntimeError("linear_cross_entropy has no second derivative, model.ops.linear_cross_entropy has")
    hidden_gradient, weight_gradient = ctx.saved_tensors
    wanted = ctx.needs_input_grad
    by_hidden = hidden_gradient * gradient if wanted[0] else None
    by_weight = weight_gradient * gradient if wanted[1] else None
    return by_hidden, by_weight, None, None, None, None


_cross_entropy.register_autograd(_logit_gradient, setup_context=_save_logits)
_linear_cross_entropy.register_autograd(_times_gradients, setup_context=_save_gradients)
