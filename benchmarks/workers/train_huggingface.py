"""Hugging Face's training step: LlamaForCausalLM with sdpa attention and torch's fused AdamW.

Precisions: float32, as it comes; float32 oneDNN (with the process-wide setting that our training makes);
bf16 (weights, gradients and optimizer state in bf16, the fastest way but the least exact); bf16 autocast
(float32 weights, as ours).
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
    if precision == "float32 oneDNN":
        send_products_to_onednn()
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


def send_products_to_onednn() -> None:
    """Make float32 products go through oneDNN. Raises RuntimeError where it would round them to bf16."""
    torch.backends.mkldnn.matmul.fp32_precision = "bf16"  # of the setting's values the one that chooses oneDNN
    a, b = torch.rand(64, 512), torch.rand(512, 256)
    exact = a.double() @ b.double()
    error = float(((a @ b).double() - exact).norm() / exact.norm())
    if error > 1e-6:
        raise RuntimeError(f"oneDNN rounds float32 products on this machine, relative error {error:.0e}")


def make_optimizer(model: LlamaForCausalLM) -> tuple[AdamW, str]:
    """AdamW in one fused kernel, or the ordinary one where this torch has no such kernel."""
    options = {"lr": LR, "betas": BETAS, "eps": EPS, "weight_decay": WEIGHT_DECAY}
    try:
        return AdamW(model.parameters(), fused=True, **options), "torch AdamW, fused"
    except RuntimeError:
        return AdamW(model.parameters(), **options), "torch AdamW, not fused"


if __name__ == "__main__":
    serve_training(build, {"transformers": transformers.__version__})
