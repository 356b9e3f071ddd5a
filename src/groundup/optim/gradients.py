"""What happens to gradients between backward pass and update: their size, clipping, and who decays."""

from collections.abc import Iterable
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn


@torch.no_grad()
def clip_gradients(parameters: Iterable[Tensor], max_norm: float | int, eps: float = 1e-6) -> Float[Tensor, ""]:
    """Shrinks all gradients in place so that their common l2 norm is at most `max_norm`; returns the norm before.

    One factor max_norm / (norm + eps) for all of them, so the direction of the step stays as it is.
    Pascanu et al. 2013, On the difficulty of training recurrent neural networks (arXiv:1211.5063),
    algorithm 1. Parameters without gradient are skipped. Check that the norm is finite before the
    update: an infinite gradient makes the others 0 and itself NaN.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    norm = global_norm(gradients)
    factor = (max_norm / (norm + eps)).clamp(max=1.0)  # a tensor: a GPU need not stop to be asked
    for gradient in gradients:
        gradient.mul_(factor)
    return norm


@torch.no_grad()
def global_norm(tensors: Iterable[Tensor]) -> Float[Tensor, ""]:
    """The l2 norm of all `tensors` as if they were one vector, in at least float32; 0 of none.

    >>> global_norm([torch.tensor([3.0]), torch.tensor([[4.0]])])
    tensor(5.)
    """
    norms = [
        torch.linalg.vector_norm(tensor, dtype=torch.promote_types(tensor.dtype, torch.float32)) for tensor in tensors
    ]
    return torch.linalg.vector_norm(torch.stack(norms)) if norms else torch.zeros(())


def parameter_groups(model: nn.Module, weight_decay: float | int) -> list[dict[str, Any]]:
    """The parameters of `model` for AdamW: matrices with `weight_decay`, vectors (gains of norms) without.

    Decay pulls towards 0. For a matrix that is a preference for small weights; a gain that starts at 1
    it would only push away from where it belongs. Empty groups are left out.
    """
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {"params": [parameter for parameter in trained if parameter.ndim >= 2], "weight_decay": weight_decay},
        {"params": [parameter for parameter in trained if parameter.ndim < 2], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]
