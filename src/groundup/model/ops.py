"""The mathematics of the model: functions on tensors that own no parameters.

`Ops` gathers the ones a model is built with. `REFERENCE`, the default, is the readable versions below;
faster ones can be handed in instead and are tested against these. RoPE and the loss have files of
their own. Next: layers.py, which gives these functions their weights.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from groundup.model.loss import cross_entropy
from groundup.model.rope import rotate


def embedding(ids: Int[Tensor, "..."], weight: Float[Tensor, "vocab d_model"]) -> Float[Tensor, "... d_model"]:
    """The rows of `weight` that `ids` name."""
    return weight[ids]


def linear(x: Float[Tensor, "... d_in"], weight: Float[Tensor, "d_out d_in"]) -> Float[Tensor, "... d_out"]:
    """y = W x for every vector along the last dimension of x."""
    return x @ weight.mT


def rms_norm(
    x: Float[Tensor, "... d_model"], weight: Float[Tensor, " d_model"], eps: float
) -> Float[Tensor, "... d_model"]:
    """x_i / sqrt(mean(x^2) + eps) * weight_i, computed in at least float32, in the type of x.

    Zhang & Sennrich 2019, Root Mean Square Layer Normalization (arXiv:1910.07467), equation 4.
    """
    wide = at_least_float32(x)  # squares of a thousand overflow float16, and bf16 keeps 3 digits of a sum
    normed = wide * torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (normed * weight).to(x.dtype)


def silu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """x * sigmoid(x): like max(x, 0), but smooth, and slightly negative left of 0."""
    return x * torch.sigmoid(x)


def swiglu(gate: Float[Tensor, "... d_ff"], up: Float[Tensor, "... d_ff"]) -> Float[Tensor, "... d_ff"]:
    """SiLU(gate) * up, the part of SwiGLU between its matrix products. Shazeer 2020 (arXiv:2002.05202)."""
    return silu(gate) * up


def softmax(x: Float[Tensor, "..."], dim: int) -> Float[Tensor, "..."]:
    """exp(x) / sum(exp(x)) along `dim`, in at least float32, in the type of x.

    The maximum is subtracted first, which changes nothing but keeps exp within range. As it changes
    nothing it has no gradient either, hence `detach`.

    >>> softmax(torch.tensor([1000.0, 1000.0, -math.inf]), dim=0)
    tensor([0.5000, 0.5000, 0.0000])
    """
    wide = at_least_float32(x)
    exponentials = (wide - wide.detach().amax(dim, keepdim=True)).exp()
    return (exponentials / exponentials.sum(dim, keepdim=True)).to(x.dtype)


def scaled_dot_product_attention(
    q: Float[Tensor, "... queries d_k"],
    k: Float[Tensor, "... keys d_k"],
    v: Float[Tensor, "... keys d_v"],
    mask: Bool[Tensor, "... queries keys"] | None = None,
    *,
    causal: bool = False,
    dropout_p: float = 0.0,
) -> Float[Tensor, "... queries d_v"]:
    """softmax(Q K^T / sqrt(d_k)) V. Vaswani et al. 2017 (arXiv:1706.03762), equation 1.

    Args:
        q, k, v: With any leading dimensions. Where the third dimension from the end, the heads, is
            smaller in k and v than in q, each of their heads serves a group of query heads.
        mask: True where a query attends to a key. A query that attends to none gets zeros.
        causal: Each query attends to the keys up to its own place; takes the place of a mask.
        dropout_p: Probability of zeroing an attention weight.

    The softmax is written out, so that no more than two arrays of queries x keys, by far the largest
    here, need to exist: the exponentials overwrite the scores, and the division by their sum is left
    until after the product with V, where rows are shorter. 0.6 of the time of the plain formula, forward
    and backward (128 heads of 256 x 32, two cores).
    """
    if min(q.ndim, k.ndim) > 2 and q.shape[-3] > k.shape[-3]:
        k, v = (x.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3) for x in (k, v))
    if causal:  # made anew in each layer: one row in (batch * heads) of the work on the scores
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool, device=q.device).tril()

    scores = at_least_float32((q * q.shape[-1] ** -0.5) @ k.mT)  # (..., queries, keys)
    if mask is not None:
        scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
    # A row without keys has maximum -inf, and -inf - (-inf) is NaN: the floor makes it exp(-inf) = 0.
    floor = torch.finfo(scores.dtype).min
    weights = scores.sub_(scores.detach().amax(dim=-1, keepdim=True).clamp(min=floor)).exp_()
    # Any other row holds exp(0) = 1, so its total is at least 1 and the clamp changes only empty rows.
    total = weights.sum(dim=-1, keepdim=True).clamp(min=1.0)
    return ((dropout(weights, dropout_p).to(v.dtype) @ v) / total).to(v.dtype)


def causal_attention(
    qkv: Float[Tensor, "... seq all_heads d_head"],
    heads: tuple[int, int, int],
    rotation: tuple[Float[Tensor, "... seq half"], Float[Tensor, "... seq half"]] | None = None,
) -> Float[Tensor, "... seq heads d_head"]:
    """Each query's gathering from the keys up to its own place: from the projections to the heads' results.

    Attention as it is in training, in one function: a fast version then needs neither turned copies of
    queries and keys nor the scores, nor queries, keys and values apart from each other.

    Args:
        qkv: Queries, keys and values of all heads, one behind the other.
        heads: How many there are of each; those of keys and values are as many and divide those of queries.
        rotation: Cosines and sines for `rotate`, with a dimension that broadcasts over the heads before the
            last two, or none before them; None leaves positions out.
    """
    q, k, v = qkv.transpose(-3, -2).split(heads, dim=-3)  # each (..., heads, seq, d_head)
    if rotation is not None:
        q, k = rotate(q, *rotation), rotate(k, *rotation)
    return scaled_dot_product_attention(q, k, v, causal=True).transpose(-3, -2)


def dropout(x: Float[Tensor, "..."], p: float) -> Float[Tensor, "..."]:
    """x with each element zeroed with probability p and the others scaled by 1 / (1 - p); x itself at p = 0.

    Srivastava et al. 2014, Dropout: A Simple Way to Prevent Neural Networks from Overfitting; scaled in
    training, so that nothing is left to do when the model is used.
    """
    if p == 0:
        return x
    return x * (torch.empty_like(x).bernoulli_(1 - p) / (1 - p))


def at_least_float32(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """x in float32, or in its own type where that is wider."""
    return x.to(torch.promote_types(x.dtype, torch.float32))


def linear_cross_entropy(
    hidden: Float[Tensor, "... d_model"], weight: Float[Tensor, "vocab d_model"], targets: Int[Tensor, "..."]
) -> Float[Tensor, ""]:
    """The loss from the stream and the head: fast versions need not hold the logits of all places at once."""
    return cross_entropy(linear(hidden, weight), targets)


@dataclasses.dataclass(frozen=True)
class Ops:
    """The functions a model is built with; each field has the signature of its namesake above."""

    embedding: Callable[[Tensor, Tensor], Tensor]
    linear: Callable[[Tensor, Tensor], Tensor]
    rms_norm: Callable[[Tensor, Tensor, float], Tensor]
    silu: Callable[[Tensor], Tensor]
    swiglu: Callable[[Tensor, Tensor], Tensor]
    rotate: Callable[[Tensor, Tensor, Tensor], Tensor]
    attention: Callable[..., Tensor]
    causal_attention: Callable[..., Tensor]
    cross_entropy: Callable[[Tensor, Tensor], Tensor]
    linear_cross_entropy: Callable[[Tensor, Tensor, Tensor], Tensor]


REFERENCE = Ops(
    embedding=embedding,
    linear=linear,
    rms_norm=rms_norm,
    silu=silu,
    swiglu=swiglu,
    rotate=rotate,
    attention=scaled_dot_product_attention,
    causal_attention=causal_attention,
    cross_entropy=cross_entropy,
    linear_cross_entropy=linear_cross_entropy,
)


def mixed(dtype: torch.dtype) -> Ops:
    """The reference with its matrix products in `dtype`, bf16 say, for a model kept in float32.

    Weights stay float32 masters and get float32 gradients; so do residual stream, norms, softmax and
    loss. What a product gives stays in `dtype` until something of the above takes it up.
    Micikevicius et al. 2017, Mixed Precision Training (arXiv:1710.03740).
    """
    return dataclasses.replace(
        REFERENCE,
        linear=functools.partial(_linear_in, dtype),
        linear_cross_entropy=functools.partial(_linear_cross_entropy_in, dtype),
    )


def _linear_in(
    dtype: torch.dtype, x: Float[Tensor, "... d_in"], weight: Float[Tensor, "d_out d_in"]
) -> Float[Tensor, "... d_out"]:
    return linear(x.to(dtype), weight.to(dtype))


def _linear_cross_entropy_in(
    dtype: torch.dtype,
    hidden: Float[Tensor, "... d_model"],
    weight: Float[Tensor, "vocab d_model"],
    targets: Int[Tensor, "..."],
) -> Float[Tensor, ""]:
    return cross_entropy(_linear_in(dtype, hidden, weight), targets)
