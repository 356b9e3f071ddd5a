"""RMSNorm, alone and after a residual sum, through native/kernels/rms_norm.cpp. Oracle: model.ops.rms_norm."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from groundup import _native
from groundup.kernels.arrays import VALUES, address, is_taken, rows_of, settings
from groundup.model import ops

FLOAT32, BF16 = torch.float32, torch.bfloat16


def rms_norm(
    x: Float[Tensor, "... d_model"], weight: Float[Tensor, " d_model"], eps: float
) -> Float[Tensor, "... d_model"]:
    """As model.ops.rms_norm, which also does what is not float32."""
    if not is_taken(x, weight) or x.dtype != FLOAT32:
        return ops.rms_norm(x, weight, eps)
    return _rms_norm(x, weight, eps)[0]


def add_rms_norm(
    x: Float[Tensor, "... d_model"],
    change: Float[Tensor, "... d_model"],
    weight: Float[Tensor, " d_model"],
    eps: float,
) -> tuple[Float[Tensor, "... d_model"], Float[Tensor, "... d_model"]]:
    """(x + change, its norm in the type of `change`) in one pass; x and weight float32, change float32 or bf16."""
    total, normed, _ = _add_rms_norm(x, change, weight, eps)
    return total, normed


@torch.library.custom_op("groundup::rms_norm", mutates_args=())
def _rms_norm(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """(normed, 1 / rms of each row)"""
    x = x.contiguous()
    normed, inverse_rms = torch.empty_like(x), x.new_empty(x.shape[:-1])
    forward_into(x, None, weight, None, normed, inverse_rms, eps)
    return normed, inverse_rms


@_rms_norm.register_fake
def _(x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape), x.new_empty(x.shape[:-1])


@torch.library.custom_op("groundup::add_rms_norm", mutates_args=())
def _add_rms_norm(x: Tensor, change: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """(sum, normed, 1 / rms of each row)"""
    x, change = x.contiguous(), change.contiguous()
    total, normed, inverse_rms = torch.empty_like(x), torch.empty_like(change), x.new_empty(x.shape[:-1])
    forward_into(x, change, weight, total, normed, inverse_rms, eps)
    return total, normed, inverse_rms


@_add_rms_norm.register_fake
def _(x: Tensor, change: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    return x.new_empty(x.shape), change.new_empty(x.shape), x.new_empty(x.shape[:-1])


@torch.library.custom_op("groundup::rms_norm_backward", mutates_args=())
def _rms_norm_backward(
    gradient: Tensor, x: Tensor, inverse_rms: Tensor, weight: Tensor, residual: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """(x_gradient, the same in the type of `gradient`: empty if that is float32, weight_gradient)

    `residual` is the gradient that reaches the sum on other ways.
    """
    gradient, weight = gradient.contiguous(), weight.contiguous()
    residual = None if residual is None else residual.contiguous()
    x_gradient, weight_gradient = torch.empty_like(x), torch.empty_like(weight)
    bf16 = gradient.dtype == BF16
    copy = gradient.new_empty(gradient.shape if bf16 else 0)
    backward_into(gradient, x, inverse_rms, weight, residual, x_gradient, copy if bf16 else None, weight_gradient)
    return x_gradient, copy, weight_gradient


@_rms_norm_backward.register_fake
def _(
    gradient: Tensor, x: Tensor, inverse_rms: Tensor, weight: Tensor, residual: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    copy = gradient.new_empty(gradient.shape if gradient.dtype == BF16 else 0)
    return x.new_empty(x.shape), copy, weight.new_empty(weight.shape)


def forward_into(
    x: Tensor,
    change: Tensor | None,
    weight: Tensor,
    total: Tensor | None,
    normed: Tensor,
    inverse_rms: Tensor,
    eps: float,
) -> None:
    """Write x + change (there is none without a change), its norm in the type of `normed`, and 1 / rms of each row."""
    weight = weight.contiguous()
    _native.add_rms_norm(
        address(x, x.shape, FLOAT32),
        address(change, x.shape, normed.dtype),
        address(weight, x.shape[-1:], FLOAT32),
        address(total, x.shape, FLOAT32),
        address(normed, x.shape, *VALUES),
        address(inverse_rms, x.shape[:-1], FLOAT32),
        rows=rows_of(x),
        columns=x.shape[-1],
        eps=eps,
        **settings(normed),
    )


def backward_into(
    gradient: Tensor,
    x: Tensor,
    inverse_rms: Tensor,
    weight: Tensor,
    residual: Tensor | None,
    x_gradient: Tensor,
    copy: Tensor | None,
    weight_gradient: Tensor,
) -> None:
    """Write the gradients of the sum `x`, in bf16 too if there is a `copy`, and of weight.

    `residual` is the gradient that reaches the sum on other ways. `x_gradient` may be the same array, or `x`.
    """
    _native.add_rms_norm_backward(
        address(gradient, x.shape, *VALUES),
        address(x, x.shape, FLOAT32),
        address(inverse_rms, x.shape[:-1], FLOAT32),
        address(weight, x.shape[-1:], FLOAT32),
        address(residual, x.shape, FLOAT32),
        address(x_gradient, x.shape, FLOAT32),
        address(copy, x.shape, BF16),
        address(weight_gradient, x.shape[-1:], FLOAT32),
        rows=rows_of(x),
        columns=x.shape[-1],
        **settings(gradient),
    )


def _save_for_norm(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    x, weight, _ = inputs
    ctx.save_for_backward(x.contiguous(), output[1], weight)


def _norm_backward(ctx: Any, gradient: Tensor, *_: Any) -> tuple[Tensor, Tensor, None]:
    x_gradient, _, weight_gradient = _rms_norm_backward(gradient, *ctx.saved_tensors, None)
    return x_gradient, weight_gradient, None


def _save_for_add_norm(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    total, _, inverse_rms = output
    ctx.save_for_backward(total, inverse_rms, inputs[2])


def _add_norm_backward(ctx: Any, residual: Tensor, gradient: Tensor, *_: Any) -> tuple[Tensor, Tensor, Tensor, None]:
    x_gradient, copy, weight_gradient = _rms_norm_backward(gradient, *ctx.saved_tensors, residual)
    return x_gradient, copy if gradient.dtype == BF16 else x_gradient, weight_gradient, None


_rms_norm.register_autograd(_norm_backward, setup_context=_save_for_norm)
_add_rms_norm.register_autograd(_add_norm_backward, setup_context=_save_for_add_norm)
