"""Rotation and causal attention through native/kernels/causal_attention*.cpp. Oracle: model.ops.causal_attention.

The matrix of scores never exists, so memory grows with the length of a sequence, not with its square.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from groundup import _native
from groundup.kernels.arrays import VALUES, address, is_taken, settings
from groundup.model import ops


def causal_attention(
    qkv: Float[Tensor, "... seq all_heads d_head"],
    heads: tuple[int, int, int],
    rotation: tuple[Float[Tensor, "... seq half"], Float[Tensor, "... seq half"]] | None = None,
) -> Float[Tensor, "... seq heads d_head"]:
    """As model.ops.causal_attention, which also does what is neither float32 nor bf16, and positions that differ
    between the sequences of a batch."""
    cos, sin = rotation or (None, None)
    shared = cos is None or cos.numel() == qkv.shape[-3] * cos.shape[-1]
    if not is_taken(qkv) or not shared or (cos is not None and cos.dtype != torch.float32):
        return ops.causal_attention(qkv, heads, rotation)
    out, _ = _causal_attention(qkv.flatten(0, -4) if qkv.ndim > 3 else qkv[None], heads[1], cos, sin)
    return out.view(*qkv.shape[:-2], heads[0], qkv.shape[-1])


@torch.library.custom_op("groundup::causal_attention", mutates_args=())
def _causal_attention(qkv: Tensor, kv_heads: int, cos: Tensor | None, sin: Tensor | None) -> tuple[Tensor, Tensor]:
    """(result, log2 of the sum of e^score of each query, (batch, heads, seq), which has no gradient)

    qkv is (batch, seq, heads + 2 kv_heads, d_head), in float32 or bf16; cos and sin hold seq x d_head / 2 values.
    """
    qkv = qkv.contiguous()
    cos, sin = _dense(cos), _dense(sin)
    out, log2_sum = _empty_results(qkv, kv_heads)
    forward_into(qkv, kv_heads, cos, sin, out, log2_sum)
    return out, log2_sum


@torch.library.custom_op("groundup::causal_attention_backward", mutates_args=())
def _causal_attention_backward(
    gradient: Tensor,
    qkv: Tensor,
    kv_heads: int,
    cos: Tensor | None,
    sin: Tensor | None,
    out: Tensor,
    log2_sum: Tensor,
) -> Tensor:
    """The gradient of qkv, from that of the result."""
    gradient, qkv, cos, sin = gradient.contiguous(), qkv.contiguous(), _dense(cos), _dense(sin)
    qkv_gradient = torch.empty_like(qkv)
    backward_into(gradient, qkv, kv_heads, cos, sin, out, log2_sum, qkv_gradient)
    return qkv_gradient


@_causal_attention.register_fake
def _(qkv: Tensor, kv_heads: int, cos: Tensor | None, sin: Tensor | None) -> tuple[Tensor, Tensor]:
    return _empty_results(qkv, kv_heads)


@_causal_attention_backward.register_fake
def _(gradient: Tensor, qkv: Tensor, *_others: Any) -> Tensor:
    return qkv.new_empty(qkv.shape)


def forward_into(
    qkv: Tensor, kv_heads: int, cos: Tensor | None, sin: Tensor | None, out: Tensor, log2_sum: Tensor
) -> None:
    """Write the result and the log2 of sums, shapes as of _causal_attention."""
    _native.causal_attention(
        address(qkv, qkv.shape, *VALUES),
        *_tables(qkv, cos, sin),
        address(out, out.shape, qkv.dtype),
        address(log2_sum, log2_sum.shape, torch.float32),
        **_sizes(qkv, kv_heads),
    )


def backward_into(
    gradient: Tensor,
    qkv: Tensor,
    kv_heads: int,
    cos: Tensor | None,
    sin: Tensor | None,
    out: Tensor,
    log2_sum: Tensor,
    qkv_gradient: Tensor,
) -> None:
    """Write the gradient of qkv."""
    _native.causal_attention_backward(
        address(qkv, qkv.shape, *VALUES),
        *_tables(qkv, cos, sin),
        address(out, gradient.shape, qkv.dtype),
        address(log2_sum, log2_sum.shape, torch.float32),
        address(gradient, out.shape, qkv.dtype),
        address(qkv_gradient, qkv.shape, qkv.dtype),
        **_sizes(qkv, kv_heads),
    )


def _empty_results(qkv: Tensor, kv_heads: int) -> tuple[Tensor, Tensor]:
    batch, seq, all_heads, d_head = qkv.shape
    heads = all_heads - 2 * kv_heads
    return qkv.new_empty(batch, seq, heads, d_head), qkv.new_empty(batch, heads, seq, dtype=torch.float32)


def _dense(table: Tensor | None) -> Tensor | None:
    """The table without gaps: itself, or a copy, which the caller keeps while the core reads it."""
    return None if table is None else table.contiguous()


def _tables(qkv: Tensor, cos: Tensor | None, sin: Tensor | None) -> tuple[int, int]:
    """Where cosines and sines lie, both without gaps."""
    shape = (qkv.shape[-3], qkv.shape[-1] // 2)
    where = [address(None if x is None else x.view(shape), shape, torch.float32) for x in (cos, sin)]
    return where[0], where[1]


def _sizes(qkv: Tensor, kv_heads: int) -> dict[str, Any]:
    batch, seq, all_heads, d_head = qkv.shape
    sizes = {"batch": batch, "seq": seq, "heads": all_heads - 2 * kv_heads, "kv_heads": kv_heads, "d_head": d_head}
    return sizes | settings(qkv)


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    qkv, ctx.kv_heads, cos, sin = inputs
    ctx.save_for_backward(qkv, cos, sin, *output)


def _backward(ctx: Any, gradient: Tensor, _: Any) -> tuple[Tensor, None, None, None]:
    qkv, cos, sin, out, log2_sum = ctx.saved_tensors
    return _causal_attention_backward(gradient, qkv, ctx.kv_heads, cos, sin, out, log2_sum), None, None, None


_causal_attention.register_autograd(_backward, setup_context=_save)
