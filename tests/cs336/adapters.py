"""The functions that the public course tests import, each handed on to the part of groundup that does the work.

Glue only: arguments are put in the order that groundup wants, weights are loaded into the layer that uses
them. Names and keywords are the course's. How to run its tests against this file: README.md beside it.
"""

from collections.abc import Iterable, Mapping
from typing import IO, Any

import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from groundup.checkpoint import load_checkpoint, save_checkpoint
from groundup.config import ModelConfig
from groundup.data.batches import get_batch
from groundup.files import StrPath
from groundup.model.attention import CausalSelfAttention
from groundup.model.layers import Embedding, Linear, RMSNorm, SwiGLU
from groundup.model.loss import cross_entropy
from groundup.model.ops import scaled_dot_product_attention, silu, softmax
from groundup.model.rope import RotaryEmbedding
from groundup.model.transformer import Block, TransformerLM
from groundup.optim.adamw import AdamW
from groundup.optim.gradients import clip_gradients
from groundup.optim.schedule import cosine_schedule
from groundup.tokenizer.bpe import Tokenizer, train_bpe

Vocab = dict[int, bytes]
Merges = list[tuple[bytes, bytes]]


def run_linear(d_in: int, d_out: int, weights: Tensor, in_features: Tensor) -> Tensor:
    return _loaded(Linear(d_in, d_out), {"weight": weights})(in_features)


def run_embedding(vocab_size: int, d_model: int, weights: Tensor, token_ids: Tensor) -> Tensor:
    return _loaded(Embedding(vocab_size, d_model), {"weight": weights})(token_ids)


def run_swiglu(
    d_model: int, d_ff: int, w1_weight: Tensor, w2_weight: Tensor, w3_weight: Tensor, in_features: Tensor
) -> Tensor:
    weights = {"w1.weight": w1_weight, "w2.weight": w2_weight, "w3.weight": w3_weight}
    return _loaded(SwiGLU(d_model, d_ff), weights)(in_features)


def run_silu(in_features: Tensor) -> Tensor:
    return silu(in_features)


def run_rmsnorm(d_model: int, eps: float, weights: Tensor, in_features: Tensor) -> Tensor:
    return _loaded(RMSNorm(d_model, eps), {"weight": weights})(in_features)


def run_softmax(in_features: Tensor, dim: int) -> Tensor:
    return softmax(in_features, dim)


def run_rope(d_k: int, theta: float, max_seq_len: int, in_query_or_key: Tensor, token_positions: Tensor) -> Tensor:
    return RotaryEmbedding(d_k, max_seq_len, theta)(in_query_or_key, token_positions)


def run_scaled_dot_product_attention(Q: Tensor, K: Tensor, V: Tensor, mask: Tensor | None = None) -> Tensor:
    return scaled_dot_product_attention(Q, K, V, mask)


def run_multihead_self_attention(
    d_model: int,
    num_heads: int,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
) -> Tensor:
    weights = _attention_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    return _loaded(CausalSelfAttention(d_model, num_heads), weights)(in_features)


def run_multihead_self_attention_with_rope(
    d_model: int,
    num_heads: int,
    max_seq_len: int,
    theta: float,
    q_proj_weight: Tensor,
    k_proj_weight: Tensor,
    v_proj_weight: Tensor,
    o_proj_weight: Tensor,
    in_features: Tensor,
    token_positions: Tensor | None = None,
) -> Tensor:
    weights = _attention_weights(q_proj_weight, k_proj_weight, v_proj_weight, o_proj_weight)
    rotation = _rotation(d_model // num_heads, max_seq_len, theta, in_features, token_positions)
    return _loaded(CausalSelfAttention(d_model, num_heads), weights)(in_features, rotation)


def run_transformer_block(
    d_model: int,
    num_heads: int,
    d_ff: int,
    max_seq_len: int,
    theta: float,
    weights: Mapping[str, Tensor],
    in_features: Tensor,
) -> Tensor:
    config = ModelConfig(d_model=d_model, num_heads=num_heads, d_ff=d_ff)
    return _loaded(Block(config), weights)(in_features, _rotation(config.d_head, max_seq_len, theta, in_features))


def run_transformer_lm(
    vocab_size: int,
    context_length: int,
    d_model: int,
    num_layers: int,
    num_heads: int,
    d_ff: int,
    rope_theta: float,
    weights: Mapping[str, Tensor],
    in_indices: Tensor,
) -> Tensor:
    config = ModelConfig(
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=d_model,
        num_layers=num_layers,
        num_heads=num_heads,
        d_ff=d_ff,
        rope_theta=rope_theta,
    )
    return _loaded(TransformerLM(config), weights)(in_indices)


def run_cross_entropy(inputs: Tensor, targets: Tensor) -> Tensor:
    return cross_entropy(inputs, targets)


def run_gradient_clipping(parameters: Iterable[nn.Parameter], max_l2_norm: float) -> None:
    clip_gradients(parameters, max_l2_norm)


def run_get_lr_cosine_schedule(
    it: int, max_learning_rate: float, min_learning_rate: float, warmup_iters: int, cosine_cycle_iters: int
) -> float:
    return cosine_schedule(
        it,
        max_lr=max_learning_rate,
        min_lr=min_learning_rate,
        warmup_steps=warmup_iters,
        decay_steps=cosine_cycle_iters,
    )


def run_get_batch(
    dataset: npt.NDArray[Any], batch_size: int, context_length: int, device: str
) -> tuple[Tensor, Tensor]:
    return get_batch(dataset, batch_size, context_length, device)


def run_save_checkpoint(model: nn.Module, optimizer: Optimizer, iteration: int, out: StrPath | IO[bytes]) -> None:
    save_checkpoint(model, optimizer, iteration, out)


def run_load_checkpoint(src: StrPath | IO[bytes], model: nn.Module, optimizer: Optimizer) -> int:
    return load_checkpoint(src, model, optimizer)


def get_adamw_cls() -> type[Optimizer]:
    return AdamW


def get_tokenizer(vocab: Vocab, merges: Merges, special_tokens: list[str] | None = None) -> Tokenizer:
    return Tokenizer(vocab, merges, special_tokens)


def run_train_bpe(
    input_path: StrPath, vocab_size: int, special_tokens: list[str], **kwargs: Any
) -> tuple[Vocab, Merges]:
    return train_bpe(input_path, vocab_size, special_tokens, **kwargs)


def _loaded(module: nn.Module, weights: Mapping[str, Tensor]) -> nn.Module:
    module.load_state_dict(weights)
    return module


def _attention_weights(q: Tensor, k: Tensor, v: Tensor, output: Tensor) -> dict[str, Tensor]:
    return {"q_proj.weight": q, "k_proj.weight": k, "v_proj.weight": v, "output_proj.weight": output}


def _rotation(
    d_head: int, max_length: int, theta: float, x: Tensor, positions: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Cosines and sines for the heads of `x`, whose axis the positions lack."""
    positions = torch.arange(x.shape[-2]) if positions is None else positions
    return RotaryEmbedding(d_head, max_length, theta).at(positions.unsqueeze(-2))
