"""Updates of a model on one batch, and its matrix products alone: what step.py and step_ladder.py measure."""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from bench.training_sizes import BASE
from groundup.config import ModelConfig
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM
from groundup.optim import fast, gradients
from groundup.optim.adamw import AdamW
from groundup.training.loss import choose_loss

SHAPE = ModelConfig(**BASE.shape)
PHASES = ("forward", "backward", "update")
DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}
REFERENCE, MODULES, AS_ONE, PRODUCTS = "reference", "module by module", "as one function", "products alone"
CHECKPOINTED = ", activations computed again"
WAYS = (REFERENCE, MODULES, MODULES + CHECKPOINTED, AS_ONE, AS_ONE + CHECKPOINTED)


class Step:
    """Updates of a model on one batch, with the seconds of each phase; the loss of each update is kept."""

    def __init__(
        self,
        model: TransformerLM,
        ids: Tensor,
        dtype: torch.dtype = torch.float32,
        *,
        fast_update: bool,
        as_one_function: bool,
    ) -> None:
        self._parameters = list(model.parameters())
        groups = gradients.parameter_groups(model, 0.1)
        self._optimizer = (fast.FastAdamW if fast_update else AdamW)(groups, lr=1e-3)
        self._clip = fast.clip_gradients if fast_update else gradients.clip_gradients
        self._loss_of = choose_loss(model, self._optimizer, dtype, kernels="auto", as_one_function=as_one_function)
        self._inputs, self._targets = ids[:, :-1].contiguous(), ids[:, 1:].contiguous()
        self.losses: list[float] = []

    def seconds(self) -> dict[str, float]:
        """Of one update, by PHASES."""
        moments = [time.perf_counter()]
        loss = self._loss_of(self._inputs, self._targets)
        moments.append(time.perf_counter())
        loss.backward()
        moments.append(time.perf_counter())
        self._clip(self._parameters, 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        moments.append(time.perf_counter())
        self.losses.append(float(loss.detach()))
        return {phase: end - start for phase, start, end in zip(PHASES, moments, moments[1:], strict=False)}


def step_of(way: str, dtype: torch.dtype, ids: Tensor) -> Step:
    """Updates of a model of its own; all ways begin with the same weights."""
    torch.manual_seed(1)
    kernels = "reference" if way == REFERENCE else "auto"
    model = TransformerLM(SHAPE, ops=choose("cpu", dtype, kernels), checkpoint_activations=way.endswith(CHECKPOINTED))
    return Step(model, ids, dtype, fast_update=way != REFERENCE, as_one_function=way.startswith(AS_ONE))


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
