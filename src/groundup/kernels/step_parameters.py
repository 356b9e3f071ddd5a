"""The parameters of a model as its step over kept memory takes them, and where their gradients go.

Who uses these: standard_model.py. Activations: step_memory.py.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from groundup.kernels.standard import halves_of
from groundup.kernels.update import WeightCopy
from groundup.model.transformer import TransformerLM

FLOAT32 = torch.float32


@dataclass(frozen=True)
class LayerMatrices:
    """The matrices of a layer, each (d_out, d_in), as products take them."""

    qkv: Tensor
    output: Tensor
    gate_and_up: Tensor  # W1 on top of W3
    down: Tensor  # W2


class Matrices:
    """All matrices of a model but the embedding, in the type of the products: parameters themselves, or copies of them.

    `copies` has a WeightCopy for each parameter that is copied: in float32 of W1 and W3, which go on top of each other,
    in bf16 of all. An optimizer that writes new parameters there too (FastAdamW.copies) saves copying them.
    """

    def __init__(self, model: TransformerLM, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.copies: dict[Tensor, WeightCopy] = {}
        self.layers = [
            LayerMatrices(
                qkv=self._as_one(layer.attn.qkv_weight),
                output=self._as_one(layer.attn.output_proj.weight),
                gate_and_up=self._as_one(ffn.w1.weight, ffn.w3.weight),
                down=self._as_one(ffn.w2.weight),
            )
            for layer, ffn in halves_of(model)
        ]
        self.head = self._as_one(model.lm_head.weight)

    def refresh(self) -> None:
        """Copy again what may have changed."""
        for parameter, its_copy in self.copies.items():
            its_copy.refresh(parameter)

    def _as_one(self, *parameters: nn.Parameter) -> Tensor:
        """The matrices on top of each other, each place noted."""
        if len(parameters) == 1 and self.dtype == FLOAT32:
            return parameters[0]
        heights = [len(parameter) for parameter in parameters]
        matrix = torch.empty(sum(heights), parameters[0].shape[1], dtype=self.dtype)
        for parameter, part in zip(parameters, matrix.split(heights), strict=True):
            self.copies[parameter] = WeightCopy(part)
        return matrix


class Gradients:
    """Gradients of parameters, written to where torch's optimizers look for them, `parameter.grad`.

    Where that is None it becomes an array that belongs here and is used again in later steps; where there is one, of an
    earlier part of the batch, the gradient is added to it. That of the head comes with the loss, before it is known by
    how much the loss counts: `add_to_head` collects it and `hand_over_head` gives it.
    """

    def __init__(
        self,
        parameters: Sequence[nn.Parameter],
        head: nn.Parameter,
        dtype: torch.dtype,
        pairs: Sequence[tuple[nn.Parameter, nn.Parameter]] = (),
    ) -> None:
        self._own = {parameter: torch.empty_like(parameter, requires_grad=False) for parameter in parameters}
        self._joint: dict[tuple[nn.Parameter, nn.Parameter], Tensor] = {}
        for pair in pairs:  # one array for two, as their product is one
            joint = self._joint[pair] = torch.empty(2 * len(pair[0]), pair[0].shape[1])
            self._own.update(zip(pair, joint.chunk(2), strict=True))
        self._head, self._of_head = head, torch.empty_like(head, requires_grad=False)
        # In bf16 a product becomes float32 from here.
        products = [*parameters, *self._joint.values()]
        largest = max(product.numel() for product in products) if dtype != FLOAT32 else 0
        self._rounded = torch.empty(largest, dtype=dtype)

    def place(self, parameter: nn.Parameter) -> tuple[Tensor, bool]:
        """Where its gradient goes, and whether it is added to what is there."""
        if parameter.grad is not None:
            return parameter.grad, True
        parameter.grad = self._own[parameter]
        return parameter.grad, False

    def add_product(self, parameter: nn.Parameter, out_gradient: Tensor, inputs: Tensor) -> None:
        """The gradient of W in out = inputs W^T: out_gradient^T inputs."""
        self._write(*self.place(parameter), out_gradient, inputs)

    def add_pair(self, pair: tuple[nn.Parameter, nn.Parameter], out_gradients: Tensor, inputs: Tensor) -> None:
        """The same for the two matrices of a pair, with the gradients of both results side by side.

        As one product where both gradients are, or become, arrays that belong here.
        """
        fresh = all(parameter.grad is None for parameter in pair)
        if fresh or all(parameter.grad is self._own[parameter] for parameter in pair):
            for parameter in pair:
                self.place(parameter)
            self._write(self._joint[pair], not fresh, out_gradients, inputs)
            return
        for parameter, out_gradient in zip(pair, out_gradients.chunk(2, dim=-1), strict=True):
            self.add_product(parameter, out_gradient, inputs)

    def add_to_head(self, logit_gradient: Tensor, inputs: Tensor, *, is_first: bool) -> None:
        """The share of some rows in the gradient of the head."""
        self._write(self._of_head, not is_first, logit_gradient, inputs)

    def hand_over_head(self, factor: float) -> None:
        """Give what was collected, times `factor`, to the head's `grad`."""
        if self._head.grad is not None:
            self._head.grad.add_(self._of_head, alpha=factor)
            return
        if factor != 1:
            self._of_head.mul_(factor)
        self._head.grad = self._of_head
        self._own[self._head], self._of_head = self._of_head, self._own[self._head]

    def _write(self, place: Tensor, is_sum: bool, out_gradient: Tensor, inputs: Tensor) -> None:
        if inputs.dtype != FLOAT32:
            rounded = torch.mm(out_gradient.mT, inputs, out=self._rounded[: place.numel()].view(place.shape))
            place.add_(rounded) if is_sum else place.copy_(rounded)
        elif is_sum:
            place.addmm_(out_gradient.mT, inputs)
        else:
            torch.mm(out_gradient.mT, inputs, out=place)
