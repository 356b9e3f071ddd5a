"""What the sides made with torch alone have in common: AdamW, where float32 products go, bf16."""

import torch
from torch import nn
from torch.optim import AdamW
from training_step import BETAS, EPS, LR, WEIGHT_DECAY


def make_optimizer(model: nn.Module) -> tuple[AdamW, str]:
    """AdamW in one fused kernel, or the ordinary one where this torch has no such kernel; and which, in words.

    Matrices decay and vectors (the gains of norms) do not, as in our training.
    """
    groups = [
        {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": WEIGHT_DECAY},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    try:
        return AdamW(groups, lr=LR, betas=BETAS, eps=EPS, fused=True), "torch AdamW, fused"
    except RuntimeError:
        return AdamW(groups, lr=LR, betas=BETAS, eps=EPS), "torch AdamW, not fused"


def prepare(model: nn.Module, precision: str) -> bool:
    """Make the model and the process compute in `precision`; returns whether the forward pass needs autocast to bf16.

    float32: as it comes. float32 oneDNN: with the process-wide setting that our training makes. bf16: weights,
    gradients and optimizer state in bf16, the fastest way but the least exact. bf16 autocast: float32 weights.
    """
    if precision == "float32 oneDNN":
        send_products_to_onednn()
    if precision == "bf16":
        model.to(torch.bfloat16)
    return precision == "bf16 autocast"


def send_products_to_onednn() -> None:
    """Make float32 products go through oneDNN. Raises RuntimeError where it would round them to bf16."""
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"  # of the setting's values the one that chooses oneDNN
    a, b = torch.rand(64, 512), torch.rand(512, 256)
    exact = a.double() @ b.double()
    error = float(((a @ b).double() - exact).norm() / exact.norm())
    if error > 1e-6:
        raise RuntimeError(f"oneDNN rounds float32 products on this machine, relative error {error:.0e}")
