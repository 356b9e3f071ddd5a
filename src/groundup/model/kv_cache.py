"""The key/value cache: what attention has computed for earlier tokens, so that a new one costs one step.

Without it, writing n tokens runs the model over 1 + 2 + ... + n of them. A row of the batch has its own
length, so prompts of different lengths go on side by side. Who drives it: generation/engine.py.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from groundup.config import ModelConfig
from groundup.errors import ConfigError, DataError


class KVCache:
    """Keys and values of every layer for up to `max_length` positions of `batch_size` rows; for inference.

    `model(ids, cache=cache)` places ids[b] at the positions lengths[b], lengths[b] + 1, ... of row b and
    writes their keys and values there. It does not move `lengths`: how many of the ids count is the
    caller's to say, with `advance`. So prompts of different lengths are padded on the right and prefilled
    at once; the padding beyond a row's length is seen by none of its tokens, and is overwritten next.

    Args:
        config: Shape of the model.
        batch_size: Number of rows.
        device, dtype: Where and as what keys and values are kept.
        max_length: Positions per row; None means the model's context_length.

    Attributes:
        lengths: Positions in use in each row; may be set.

    Raises ConfigError for a `max_length` beyond the context of the model.
    """

    lengths: Int[Tensor, " batch"]

    def __init__(
        self,
        config: ModelConfig,
        batch_size: int,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        max_length: int | None = None,
    ) -> None:
        self.max_length = config.context_length if max_length is None else max_length
        if not 1 <= self.max_length <= config.context_length:
            raise ConfigError(
                f"max_length of the cache is {max_length}; it must be at least 1 and at most "
                f"context_length {config.context_length}"
            )
        shape = (config.num_layers, batch_size, config.kv_heads, self.max_length, config.d_head)
        # Zeros, not empty: a weight of 0 times a NaN that happens to lie in memory would be NaN.
        self.keys = torch.zeros(shape, device=device, dtype=dtype)
        self.values = torch.zeros(shape, device=device, dtype=dtype)
        self.lengths = torch.zeros(batch_size, device=device, dtype=torch.int64)

    def advance(self, counts: Int[Tensor, " batch"] | int) -> None:
        """Lengthen each row by `counts`: so many of the ids last given were real."""
        self.lengths = self.lengths + counts

    def next_positions(self, seq: int) -> Int[Tensor, "batch seq"]:
        """The positions that the next `seq` ids of each row take."""
        return self.lengths[:, None] + torch.arange(seq, device=self.lengths.device)

    def layers(self, positions: Int[Tensor, "batch seq"]) -> "list[LayerCache]":
        """The part of each layer for tokens at `positions`. Raises DataError where these do not fit."""
        needed = int(positions.max()) + 1
        if needed > self.max_length:
            raise DataError(
                f"the cache holds {self.max_length} positions and {needed} are needed; keep fewer ids and prefill anew"
            )
        # No row looks beyond `needed`, so a short text does not pay for a long cache. A token sees the
        # slots up to its own place: one in the future, of padding or of an earlier text, stays unseen.
        slots = torch.arange(needed, device=positions.device)
        mask = (slots <= positions[..., None])[:, None]  # (batch, 1 for the heads, seq, needed)
        views = zip(self.keys[..., :needed, :], self.values[..., :needed, :], strict=True)
        return [LayerCache(keys, values, positions, mask) for keys, values in views]


@dataclass(frozen=True)
class LayerCache:
    """One layer's share of a cache, seen by tokens at `positions`; `keys` and `values` share its memory."""

    keys: Float[Tensor, "batch kv_heads needed d_head"]
    values: Float[Tensor, "batch kv_heads needed d_head"]
    positions: Int[Tensor, "batch seq"]
    mask: Bool[Tensor, "batch 1 seq needed"]

    def extend(
        self, k: Float[Tensor, "batch kv_heads seq d_head"], v: Float[Tensor, "batch kv_heads seq d_head"]
    ) -> tuple[
        Float[Tensor, "batch kv_heads needed d_head"],
        Float[Tensor, "batch kv_heads needed d_head"],
        Bool[Tensor, "batch 1 seq needed"],
    ]:
        """Write the keys and values of the new tokens; returns all of them, and who may see which."""
        rows = torch.arange(len(k), device=k.device)[:, None]  # with positions: (batch, seq)
        for memory, new in ((self.keys, k), (self.values, v)):
            memory[rows, :, self.positions] = new.detach().transpose(1, 2).to(memory.dtype)
        return self.keys.to(k.dtype), self.values.to(v.dtype), self.mask
