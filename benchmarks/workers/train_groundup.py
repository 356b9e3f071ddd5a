"""Our training step: TransformerLM and AdamW as `groundup train` uses them. Precisions: float32, bf16."""

import torch
from torch import Tensor
from training_step import BETAS, EPS, LR, WEIGHT_DECAY, Built, Shape, serve_training

import groundup
from groundup.config import ModelConfig
from groundup.model.ops import REFERENCE, mixed
from groundup.model.transformer import TransformerLM
from groundup.optim.adamw import AdamW
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
    model = TransformerLM(config, ops={"float32": REFERENCE, "bf16": mixed(torch.bfloat16)}[precision])
    optimizer = AdamW(parameter_groups(model, WEIGHT_DECAY), lr=LR, betas=BETAS, eps=EPS)

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        return model.ops.cross_entropy(model(inputs), targets)

    products = getattr(torch.backends.mkldnn, "matmul", None)
    setting = getattr(products, "fp32_precision", "none")
    return Built(model, loss_of, optimizer, f"groundup AdamW; setting of float32 products: {setting}")


if __name__ == "__main__":
    with fast_products("cpu", wanted=True):  # as in training: through oneDNN where that is exact
        serve_training(build, {"groundup": groundup.__version__})
