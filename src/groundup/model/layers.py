"""The layers with parameters, each one matrix or vector and the function in ops.py that uses it.

All weights start from a normal distribution cut off at three standard deviations: a rare large draw
would stay an outlier for the whole run. Next: attention.py.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from groundup.model.ops import REFERENCE, Ops


class Linear(nn.Module):
    """y = W x without bias; `weight` is (d_out, d_in).

    Starts from N(0, 2 / (d_in + d_out)), or the given `std`: the size of vectors is about kept both
    forward and backward. Glorot & Bengio 2010, equation 12.
    """

    def __init__(self, d_in: int, d_out: int, *, std: float | None = None, ops: Ops = REFERENCE) -> None:
        super().__init__()
        self.ops = ops
        self.weight = nn.Parameter(truncated_normal(d_out, d_in, std=std or linear_std(d_in, d_out)))

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        return self.ops.linear(x, self.weight)


class Embedding(nn.Module):
    """A vector of width `d_model` for each id; `weight` is (vocab_size, d_model), from N(0, std^2)."""

    def __init__(self, vocab_size: int, d_model: int, *, std: float = 1.0, ops: Ops = REFERENCE) -> None:
        super().__init__()
        self.ops = ops
        self.weight = nn.Parameter(truncated_normal(vocab_size, d_model, std=std))

    def forward(self, ids: Int[Tensor, "..."]) -> Float[Tensor, "... d_model"]:
        return self.ops.embedding(ids, self.weight)


class RMSNorm(nn.Module):
    """x / rms(x) * weight: the length of a vector is forgotten, its direction kept; `weight` starts at 1."""

    def __init__(self, d_model: int, eps: float = 1e-5, *, ops: Ops = REFERENCE) -> None:
        super().__init__()
        self.ops, self.eps = ops, eps
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.ops.rms_norm(x, self.weight, self.eps)


class SwiGLU(nn.Module):
    """W2 (SiLU(W1 x) * W3 x): what W3 reads passes as far as the gate W1 opens.

    Shazeer 2020, GLU Variants Improve Transformer (arXiv:2002.05202), equation 6.
    """

    def __init__(self, d_model: int, d_ff: int, *, ops: Ops = REFERENCE) -> None:
        super().__init__()
        self.ops = ops
        self.w1 = Linear(d_model, d_ff, ops=ops)
        self.w2 = Linear(d_ff, d_model, ops=ops)
        self.w3 = Linear(d_model, d_ff, ops=ops)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.w2(self.ops.swiglu(self.w1(x), self.w3(x)))


class SiLUFeedForward(nn.Module):
    """W2 SiLU(W1 x): the feed-forward part without a gate, wider for the same number of parameters."""

    def __init__(self, d_model: int, d_ff: int, *, ops: Ops = REFERENCE) -> None:
        super().__init__()
        self.ops = ops
        self.w1 = Linear(d_model, d_ff, ops=ops)
        self.w2 = Linear(d_ff, d_model, ops=ops)

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.w2(self.ops.silu(self.w1(x)))


def linear_std(d_in: int, d_out: int) -> float:
    """Standard deviation of a linear layer's weights at the start."""
    return (2 / (d_in + d_out)) ** 0.5


def truncated_normal(*shape: int, std: float) -> Float[Tensor, "..."]:
    """A new tensor of N(0, std^2), cut off at three standard deviations."""
    return nn.init.trunc_normal_(torch.empty(shape), std=std, a=-3 * std, b=3 * std)
