"""SwiGLU and SiLU through native/kernels/swiglu.cpp. Oracles: model.ops.swiglu and silu.

The gate and what it gates may be two tensors or, as one product with W1 and W3 on top of each other gives
them, the two halves of the last dimension of one.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from groundup import _native
from groundup.kernels.arrays import VALUES, address, is_taken, rows_of, settings
from groundup.model import ops


def silu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """As model.ops.silu."""
    return _silu(x) if is_taken(x) else ops.silu(x)


def swiglu(gate: Float[Tensor, "... d_ff"], up: Float[Tensor, "... d_ff"]) -> Float[Tensor, "... d_ff"]:
    """As model.ops.swiglu."""
    if not is_taken(gate, up) or gate.shape != up.shape:
        return ops.swiglu(gate, up)
    return _swiglu(gate, up)


def swiglu_of_halves(gate_and_up: Float[Tensor, "... two_d_ff"]) -> Float[Tensor, "... d_ff"]:
    """SwiGLU of the first and the second half of the last dimension; float32 or bf16, on the CPU."""
    return _swiglu_of_halves(gate_and_up)


@torch.library.custom_op("groundup::silu", mutates_args=())
def _silu(x: Tensor) -> Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    where = address(x, x.shape, *VALUES)
    _native.swiglu(where, 0, address(out, x.shape, x.dtype), **_rows(x))
    return out


@torch.library.custom_op("groundup::silu_backward", mutates_args=())
def _silu_backward(gradient: Tensor, x: Tensor) -> Tensor:
    gradient, x = gradient.contiguous(), x.contiguous()
    x_gradient = torch.empty_like(x)
    places = (address(x, x.shape, *VALUES), 0, address(gradient, x.shape, x.dtype))
    _native.swiglu_backward(*places, address(x_gradient, x.shape, x.dtype), 0, **_both_rows(x))
    return x_gradient


@torch.library.custom_op("groundup::swiglu", mutates_args=())
def _swiglu(gate: Tensor, up: Tensor) -> Tensor:
    gate, up = gate.contiguous(), up.contiguous()
    out = torch.empty_like(gate)
    _native.swiglu(*(address(x, gate.shape, *VALUES) for x in (gate, up, out)), **_rows(gate))
    return out


@torch.library.custom_op("groundup::swiglu_backward", mutates_args=())
def _swiglu_backward(gradient: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    gate, up, gradient = gate.contiguous(), up.contiguous(), gradient.contiguous()
    tensors = (gate, up, gradient, torch.empty_like(gate), torch.empty_like(up))
    places = (address(x, gate.shape, gate.dtype) for x in tensors)
    _native.swiglu_backward(*places, **_both_rows(gate))
    return tensors[3], tensors[4]


@torch.library.custom_op("groundup::swiglu_of_halves", mutates_args=())
def _swiglu_of_halves(gate_and_up: Tensor) -> Tensor:
    gate_and_up = gate_and_up.contiguous()
    out = gate_and_up.new_empty(_half(gate_and_up))
    forward_of_halves_into(gate_and_up, out)
    return out


@torch.library.custom_op("groundup::swiglu_of_halves_backward", mutates_args=())
def _swiglu_of_halves_backward(gradient: Tensor, gate_and_up: Tensor) -> Tensor:
    gradient, gate_and_up = gradient.contiguous(), gate_and_up.contiguous()
    both_gradients = torch.empty_like(gate_and_up)
    backward_of_halves_into(gradient, gate_and_up, both_gradients)
    return both_gradients


def forward_of_halves_into(gate_and_up: Tensor, out: Tensor) -> None:
    """Write SwiGLU of the halves."""
    _native.swiglu(*_halves(gate_and_up), address(out, _half(gate_and_up), gate_and_up.dtype), **_half_rows(out))


def backward_of_halves_into(gradient: Tensor, gate_and_up: Tensor, both_gradients: Tensor) -> None:
    """Write the gradients of the halves, side by side as they are, or in their place."""
    _native.swiglu_backward(
        *_halves(gate_and_up),
        address(gradient, _half(gate_and_up), gate_and_up.dtype),
        *_halves(both_gradients),
        gradient_stride=gate_and_up.shape[-1],
        **_half_rows(gradient),
    )


def _rows(x: Tensor) -> dict[str, Any]:
    """The sizes of the dense rows of `x`."""
    columns = x.shape[-1] if x.ndim else 1
    return {"rows": rows_of(x), "columns": columns, "stride": columns} | settings(x)


def _both_rows(x: Tensor) -> dict[str, Any]:
    """The same, for values and their gradients."""
    sizes = _rows(x)
    return sizes | {"gradient_stride": sizes["stride"]}


def _half_rows(half: Tensor) -> dict[str, Any]:
    """The sizes where two such halves make up the rows."""
    return _rows(half) | {"stride": 2 * half.shape[-1]}


def _halves(both: Tensor) -> tuple[int, int]:
    first = address(both, both.shape, *VALUES)
    return first, first + both.shape[-1] // 2 * both.element_size()


def _half(both: Tensor) -> tuple[Any, ...]:
    """The shape of the result; of symbols while a graph is traced."""
    assert both.shape[-1] % 2 == 0, both.shape
    return (*both.shape[:-1], both.shape[-1] // 2)


@_silu.register_fake
def _(x: Tensor) -> Tensor:
    return x.new_empty(x.shape)


@_silu_backward.register_fake
def _(gradient: Tensor, x: Tensor) -> Tensor:
    return x.new_empty(x.shape)


@_swiglu.register_fake
def _(gate: Tensor, up: Tensor) -> Tensor:
    return gate.new_empty(gate.shape)


@_swiglu_backward.register_fake
def _(gradient: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    return gate.new_empty(gate.shape), up.new_empty(up.shape)


@_swiglu_of_halves.register_fake
def _(gate_and_up: Tensor) -> Tensor:
    return gate_and_up.new_empty(_half(gate_and_up))


@_swiglu_of_halves_backward.register_fake
def _(gradient: Tensor, gate_and_up: Tensor) -> Tensor:
    return gate_and_up.new_empty(gate_and_up.shape)


def _save_inputs(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


for operation, backward in (
    (_silu, _silu_backward),
    (_swiglu, _swiglu_backward),
    (_swiglu_of_halves, _swiglu_of_halves_backward),
):
    operation.register_autograd(
        lambda ctx, gradient, backward=backward: backward(gradient, *ctx.saved_tensors), setup_context=_save_inputs
    )
