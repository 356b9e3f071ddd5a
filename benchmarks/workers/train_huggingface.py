"""Hugging Face's training step: LlamaForCausalLM with sdpa attention and torch's fused AdamW.

Precisions: float32; bf16 (weights, gradients and optimizer state in bf16, the fastest way but the least
exact); bf16 autocast (float32 weights, as ours).
"""

import contextlib

import torch
import transformers
from torch import Tensor
from torch.nn import functional as F
from torch.optim import AdamW
from training_step import BETAS, EPS, LR, WEIGHT_DECAY, Built, Shape, serve_training
from transformers import LlamaConfig, LlamaForCausalLM


def build(shape: Shape, precision: str) -> Built:
    """The same shape as ours, with Hugging Face's own initial weights."""
    config = LlamaConfig(
        vocab_size=shape.vocab_size,
        max_position_embeddings=shape.context_length,
        hidden_size=shape.d_model,
        intermediate_size=shape.d_ff,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_heads,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=False,
        attention_bias=False,
        mlp_bias=False,
        use_cache=False,
        attn_implementation="sdpa",
    )
    model = LlamaForCausalLM(config).train()
    if precision == "bf16":
        model = model.to(torch.bfloat16)
    autocast = precision == "bf16 autocast"

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16) if autocast else contextlib.nullcontext():
            logits = model(input_ids=inputs).logits
        # Its own loss would shift the targets by one more; otherwise it is this.
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    return Built(model, loss_of, *make_optimizer(model))


def make_optimizer(model: LlamaForCausalLM) -> tuple[AdamW, str]:
    """AdamW in one fused kernel, or the ordinary one where this torch has no such kernel."""
    options = {"lr": LR, "betas": BETAS, "eps": EPS, "weight_decay": WEIGHT_DECAY}
    try:
        return AdamW(model.parameters(), fused=True, **options), "torch AdamW, fused"
    except RuntimeError:
        return AdamW(model.parameters(), **options), "torch AdamW, not fused"


if __name__ == "__main__":
    serve_training(build, {"transformers": transformers.__version__})
