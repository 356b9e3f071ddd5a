"""The ways of our training step on the base model, and its matrix products alone: what step.py measures."""

from collections.abc import Callable

import torch
from torch import Tensor

from groundup.config import ModelConfig
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM
from groundup.optim import fast, gradients
from groundup.optim.adamw import AdamW
from groundup.training.loss import choose_loss

SHAPE = ModelConfig(vocab_size=10_000, context_length=256, d_model=512, num_layers=4, num_heads=16, d_ff=1344)
DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}
REFERENCE, MODULES, AS_ONE, PRODUCTS = "reference", "module by module", "as one function", "products alone"
CHECKPOINTED = ", activations computed again"
WAYS = (REFERENCE, MODULES, MODULES + CHECKPOINTED, AS_ONE, AS_ONE + CHECKPOINTED)


def step_of(way: str, dtype: torch.dtype, ids: Tensor) -> Callable[[], object]:
    """An update of a model of its own: forward, loss, backward, clipping, AdamW."""
    torch.manual_seed(1)
    kernels = "reference" if way == REFERENCE else "auto"
    model = TransformerLM(SHAPE, ops=choose("cpu", dtype, kernels), checkpoint_activations=way.endswith(CHECKPOINTED))
    groups = gradients.parameter_groups(model, 0.1)
    optimizer = (AdamW if way == REFERENCE else fast.FastAdamW)(groups, lr=1e-3)
    clip = gradients.clip_gradients if way == REFERENCE else fast.clip_gradients
    loss_of = choose_loss(model, optimizer, dtype, kernels="auto", as_one_function=way.startswith(AS_ONE))
    inputs, targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()

    def step() -> None:
        loss_of(inputs, targets).backward()
        clip(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def products_of(tokens: int, dtype: torch.dtype, shape: ModelConfig = SHAPE) -> Callable[[], None]:
    """The three products with each matrix of the model: of the result, of the inputs' gradient, of its own."""
    d_model, d_ff = shape.d_model, shape.ffn_width
    in_layers = [(3 * d_model, d_model), (d_model, d_model), (2 * d_ff, d_model), (d_model, d_ff)]
    cases = []
    for d_out, d_in in [*in_layers, (shape.vocab_size, d_model)]:
        tensors = [torch.randn(shape).to(dtype) for shape in ((d_out, d_in), (tokens, d_in), (tokens, d_out))]
        results = [torch.empty_like(tensor) for tensor in tensors]
        cases.append((shape.num_layers if d_out != shape.vocab_size else 1, tensors, results))

    def run() -> None:
        for times, (weight, x, y), (weight_gradient, x_gradient, result) in cases:
            for _ in range(times):
                torch.mm(x, weight.mT, out=result)
                torch.mm(y, weight, out=x_gradient)
                torch.mm(y.mT, x, out=weight_gradient)

    return run
