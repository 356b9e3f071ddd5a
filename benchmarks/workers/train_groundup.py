"""Our training step, as `groundup train` has it. Precisions: float32 and bf16, and each with " reference" behind it.

The reference is the readable model and optimizer (`kernels: reference`); bf16 means products in bf16, with weights,
gradients and optimizer state in float32.
"""

import contextlib
import functools
from typing import Literal

import torch
from model_shape import Shape
from torch import Tensor
from training_parts import EMBEDDING, HEAD, NORM, View, layer_parts, paired_by_neighbours
from training_step import BETAS, EPS, LR, WEIGHT_DECAY, Built, serve_training

import groundup
from groundup.config import ModelConfig
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM
from groundup.optim import fast, gradients
from groundup.optim.adamw import AdamW
from groundup.optim.fast import FastAdamW
from groundup.optim.gradients import parameter_groups
from groundup.training.products import fast_products

DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}


def build(settings: contextlib.ExitStack, shape: Shape, precision: str) -> Built:
    """Model and optimizer. The process-wide settings of a training run are made in `settings`, which undoes them."""
    number, _, word = precision.partition(" ")
    kernels: Literal["auto", "reference"] = "reference" if word == "reference" else "auto"
    settings.enter_context(fast_products("cpu", wanted=kernels == "auto"))
    model = TransformerLM(ModelConfig(**vars(shape)), ops=choose("cpu", DTYPES[number], kernels))
    kind = FastAdamW if kernels == "auto" else AdamW
    optimizer = kind(parameter_groups(model, WEIGHT_DECAY), lr=LR, betas=BETAS, eps=EPS)
    clip = fast.clip_gradients if kernels == "auto" else gradients.clip_gradients

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        return model.ops.linear_cross_entropy(model.hidden(inputs), model.lm_head.weight, targets)

    products = getattr(torch.backends.mkldnn, "matmul", None)
    setting = getattr(products, "fp32_precision", "none")
    notes = f"groundup {kind.__name__}; setting of float32 products: {setting}"
    return Built(model, loss_of, optimizer, notes, functools.partial(parts_of, model, shape.num_heads), clip)


def parts_of(model: TransformerLM, num_heads: int, of: View) -> dict[str, Tensor]:
    """The common parts in our parameters."""
    assert model.ln_final is not None
    found = {
        EMBEDDING: of(model.token_embeddings.weight),
        HEAD: of(model.lm_head.weight),
        NORM: of(model.ln_final.weight),
    }
    for number, layer in enumerate(model.layers):
        q, k, v = of(layer.attn.qkv_weight).chunk(3)
        found |= layer_parts(
            number,
            norm1=of(layer.ln1.weight),
            q=paired_by_neighbours(q, num_heads),
            k=paired_by_neighbours(k, num_heads),
            v=v,
            o=of(layer.attn.output_proj.weight),
            norm2=of(layer.ln2.weight),
            w1=of(layer.ffn.w1.weight),
            w2=of(layer.ffn.w2.weight),
            w3=of(layer.ffn.w3.weight),
        )
    return found


if __name__ == "__main__":
    with contextlib.ExitStack() as settings:
        serve_training(functools.partial(build, settings), {"groundup": groundup.__version__})
