"""Rotary position embedding: a query or key is turned by an angle that grows with its position.

A dot product of two turned vectors depends only on how far apart they stand, which is all that
attention needs to know of positions. Next: attention.py, where queries and keys are turned.
"""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from groundup.errors import ConfigError


class RotaryEmbedding(nn.Module):
    """Turns each pair of neighbours (x[2k], x[2k+1]) by position * theta^(-2k / d_head).

    The first pairs turn fast (a radian per position) and tell neighbours apart; the last turn slowly and
    tell far from near. Su et al. 2021, RoFormer (arXiv:2104.09864), section 3.2.2. Many programs pair
    x[k] with x[k + d_head / 2] instead: the same up to the order of the rows of the projections.

    Args:
        d_head: Width of a head; even.
        max_length: Number of positions, 0 .. max_length - 1.
        theta: Base of the wavelengths.

    Raises ConfigError for an odd `d_head`.
    """

    cos: Float[Tensor, "max_length half"]
    sin: Float[Tensor, "max_length half"]

    def __init__(self, d_head: int, max_length: int, theta: float | int = 10_000.0) -> None:
        super().__init__()
        if d_head % 2:
            raise ConfigError(f"d_head is {d_head}; rotary positions turn pairs and need an even number")
        self.d_head, self.max_length, self.theta = d_head, max_length, theta
        # Not persistent: they follow from the configuration, so a checkpoint need not hold them.
        for name, table in zip(("cos", "sin"), self._compute_tables(), strict=True):
            self.register_buffer(name, table.to(torch.get_default_device()), persistent=False)

    def forward(
        self, x: Float[Tensor, "... seq d_head"], positions: Int[Tensor, "... seq"]
    ) -> Float[Tensor, "... seq d_head"]:
        """`x` turned to `positions`, whose leading dimensions may be any that broadcast against those of x."""
        return rotate(x, *self.at(positions))

    def at(
        self, positions: Int[Tensor, "... seq"]
    ) -> tuple[Float[Tensor, "... seq half"], Float[Tensor, "... seq half"]]:
        """Cosines and sines at `positions`: looked up once for a batch, used by every layer."""
        return self.cos[positions], self.sin[positions]

    def _compute_tables(self) -> tuple[Float[Tensor, "max_length half"], Float[Tensor, "max_length half"]]:
        """Float32 tables from angles in float64, on the CPU: the same bits wherever the model runs."""
        wavenumbers = self.theta ** (-torch.arange(0, self.d_head, 2, dtype=torch.float64, device="cpu") / self.d_head)
        positions = torch.arange(self.max_length, dtype=torch.float64, device="cpu")
        angles = positions[:, None] * wavenumbers  # (max_length, d_head / 2)
        return angles.cos().float(), angles.sin().float()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "RotaryEmbedding":
        """Follow the model to its device, but not into bf16 (or out of an empty one): compute again."""
        super()._apply(fn, recurse)
        self.cos, self.sin = (table.to(self.cos.device) for table in self._compute_tables())
        return self


def rotate(
    x: Float[Tensor, "... seq d_head"],
    cos: Float[Tensor, "... seq half"],
    sin: Float[Tensor, "... seq half"],
) -> Float[Tensor, "... seq d_head"]:
    """Each pair of neighbours in `x` turned by the angle with that cosine and sine; the type of x is kept.

    >>> rotate(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0]]), torch.tensor([[1.0]]))  # a quarter turn
    tensor([[0., 1.]])
    """
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)  # (..., seq, half, 2)
    return turned.flatten(-2).to(x.dtype)
