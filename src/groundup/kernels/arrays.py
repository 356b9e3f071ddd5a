"""Tensors as the native kernels take them: addresses of dense rows on the CPU, checked in this one place."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

# The types of values that kernels take.
VALUES = (torch.float32, torch.bfloat16)


def address(tensor: Tensor | None, shape: Sequence[int], *dtypes: torch.dtype) -> int:
    """Where the values of `tensor` lie; 0 for None. Callers prepare tensors, so a wrong one is our own fault."""
    if tensor is None:
        return 0
    assert tensor.device.type == "cpu" and tensor.is_contiguous(), (tensor.device, tensor.stride())
    assert tensor.dtype in dtypes, (tensor.dtype, dtypes)
    assert tensor.shape == torch.Size(shape), (tensor.shape, shape)
    return tensor.data_ptr()


def rows_of(x: Tensor) -> int:
    """How many vectors along the last dimension `x` has; 1 if it is a number."""
    return x.shape[:-1].numel()


def settings(x: Tensor) -> dict[str, Any]:
    """What every kernel is told: the type of the values `x`, and torch's number of threads."""
    return {"bf16": x.dtype == torch.bfloat16, "num_threads": torch.get_num_threads()}


def is_taken(*tensors: Tensor) -> bool:
    """Whether the kernels take these: on the CPU, and all float32 or all bf16."""
    return tensors[0].dtype in VALUES and all(
        tensor.device.type == "cpu" and tensor.dtype == tensors[0].dtype for tensor in tensors
    )
