"""Our training step: the model on native kernels and AdamW, as `groundup train` has them. Precisions: float32, bf16."""

import torch
from torch import Tensor
from training_step import BETAS, EPS, LR, WEIGHT_DECAY, Built, Shape, serve_training

import groundup
from groundup.config import ModelConfig
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM
from groundup.optim.fast import FastAdamW
from groundup.optim.gradients import parameter_groups
from groundup.training.products import fast_products


def build(shape: Shape, precision: str) -> Built:
    """bf16: products in bf16, with weights, gradients and optimizer state in float32."""
    config = ModelConfig(
        vocab_size=shape.vocab_size,
        context_length=shape.context_length,
        d_model=shape.d_model,
        d_ff=shape.d_ff,
        num_layers=shape.num_layers,
        num_heads=shape.num_heads,
    )
    model = TransformerLM(config, ops=choose("cpu", {"float32": torch.float32, "bf16": torch.bfloat16}[precision]))
    optimizer = FastAdamW(parameter_groups(model, WEIGHT_DECAY), lr=LR, betas=BETAS, eps=EPS)

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        return model.ops.linear_cross_entropy(model.hidden(inputs), model.lm_head.weight, targets)

    products = getattr(torch.backends.mkldnn, "matmul", None)
    setting = getattr(products, "fp32_precision", "none")
    return Built(model, loss_of, optimizer, f"groundup FastAdamW; setting of float32 products: {setting}")


if __name__ == "__main__":
    with fast_products("cpu", wanted=True):  # as in training: through oneDNN where that is exact
        serve_training(build, {"groundup": groundup.__version__})
