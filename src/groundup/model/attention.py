"""Causal multi-head self-attention: the one place where tokens of a sequence see each other.

The formula itself is `scaled_dot_product_attention` in ops.py; here are its projections, the heads, and
what turns, normalises and remembers them. Next: transformer.py.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from groundup.model.kv_cache import LayerCache
from groundup.model.layers import Linear, RMSNorm, linear_std, truncated_normal
from groundup.model.ops import REFERENCE, Ops


class CausalSelfAttention(nn.Module):
    """Every token gathers from itself and the tokens before it, by several heads at once.

    Vaswani et al. 2017, Attention Is All You Need (arXiv:1706.03762), section 3.2.2, causal. With fewer
    key/value heads than query heads each serves a group of them, which shrinks the cache: Ainslie et al.
    2023, GQA (arXiv:2305.13245). `qk_norm` gives queries and keys a fixed size, so that no score can grow
    without bound: Henry et al. 2020 (arXiv:2010.04245), here with RMSNorm, before the rotation.

    Args:
        d_model, num_heads: Width of the stream; number of query heads, each d_model / num_heads wide.
        num_kv_heads: Number of key/value heads; None means num_heads.
        qk_norm, norm_eps: RMSNorm on each head's queries and keys, and its eps.
        dropout: Probability of zeroing an attention weight in training.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        num_kv_heads: int | None = None,
        *,
        qk_norm: bool = False,
        norm_eps: float = 1e-5,
        dropout: float = 0.0,
        ops: Ops = REFERENCE,
    ) -> None:
        super().__init__()
        self.ops, self.dropout, self.d_head = ops, dropout, d_model // num_heads
        kv_heads = num_kv_heads or num_heads
        self.heads = (num_heads, kv_heads, kv_heads)  # of queries, keys, values
        # The three projections in one matrix: one product of 3 d_model rows is faster than three.
        # Each starts with the deviation that it would have alone.
        widths = [heads * self.d_head for heads in self.heads]
        projections = [truncated_normal(width, d_model, std=linear_std(d_model, width)) for width in widths]
        self.qkv_weight = nn.Parameter(torch.cat(projections))
        self.output_proj = Linear(d_model, d_model, ops=ops)
        self.q_norm = RMSNorm(self.d_head, norm_eps, ops=ops) if qk_norm else None
        self.k_norm = RMSNorm(self.d_head, norm_eps, ops=ops) if qk_norm else None

    def forward(
        self,
        x: Float[Tensor, "... seq d_model"],
        rotation: tuple[Tensor, Tensor] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "... seq d_model"]:
        """What each token gathers.

        `rotation` holds cosines and sines (..., seq, d_head / 2) that broadcast over the heads; None
        leaves positions out. With a `cache`, x goes on where the cache ends.
        """
        return self.attend(self.project(x), rotation, cache)

    def project(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq all_heads d_head"]:
        """Queries, keys and values of all heads, one behind the other."""
        return self.ops.linear(x, self.qkv_weight).unflatten(-1, (-1, self.d_head))

    def attend(
        self,
        qkv: Float[Tensor, "... seq all_heads d_head"],
        rotation: tuple[Tensor, Tensor] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "... seq d_model"]:
        """What each token gathers, from `project` on; arguments as in `forward`."""
        dropout_p = self.dropout if self.training else 0.0
        if cache is None and self.q_norm is None and dropout_p == 0:  # nothing between: all in one operation
            gathered = self.ops.causal_attention(qkv, self.heads, rotation)
        else:
            gathered = self._gather(qkv, rotation, cache, dropout_p)
        return self.output_proj(gathered.flatten(-2))  # (..., seq, d_model)

    def _gather(
        self,
        qkv: Float[Tensor, "... seq all_heads d_head"],
        rotation: tuple[Tensor, Tensor] | None,
        cache: LayerCache | None,
        dropout_p: float,
    ) -> Float[Tensor, "... seq heads d_head"]:
        """Step by step: with norms on queries and keys, keys and values remembered, weights dropped."""
        q, k, v = qkv.transpose(-3, -2).split(self.heads, dim=-3)  # each (..., heads, seq, d_head)
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        if rotation is not None:
            q, k = self.ops.rotate(q, *rotation), self.ops.rotate(k, *rotation)
        mask = None
        if cache is not None:
            k, v, mask = cache.extend(k, v)
        gathered = self.ops.attention(q, k, v, mask, causal=mask is None, dropout_p=dropout_p)
        return gathered.transpose(-3, -2)

    # A checkpoint shows three projections, as everyone knows them; that they are one matrix is ours.

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        """Save the fused weight under the names of its three parts."""
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination.update(self._parts(destination.pop(prefix + "qkv_weight"), prefix))

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Tensor],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Fuse the three parts, each reported under its own name where it is missing or misshapen."""
        parts = self._parts(self.qkv_weight.detach(), prefix)
        for name, present in parts.items():
            if name not in state_dict:
                missing_keys.append(name)
                continue
            given = state_dict.pop(name)
            if given.shape == present.shape:
                parts[name] = given
            else:
                error_msgs.append(f"size mismatch for {name}: {tuple(given.shape)}, not {tuple(present.shape)}")
        state_dict[prefix + "qkv_weight"] = torch.cat(list(parts.values()))
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )

    def _parts(self, fused: Float[Tensor, "rows d_model"], prefix: str) -> dict[str, Tensor]:
        names = (f"{prefix}{letter}_proj.weight" for letter in "qkv")
        return dict(zip(names, fused.split([heads * self.d_head for heads in self.heads]), strict=True))
