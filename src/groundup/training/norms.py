"""Sizes of weights, gradients and activations by layer: where a run that goes wrong shows it first."""

from collections import defaultdict

import torch
from torch import Tensor

from groundup.model.transformer import TransformerLM


def norms_by_layer(model: TransformerLM, inputs: Tensor) -> dict[str, dict[str, float]]:
    """The l2 norms of weights and gradients and the root mean square of activations, by layer.

    A layer is a block (`layers.0`) or one of the parts outside the blocks. Gradients are those that stand
    in the parameters now; activations are those of one forward pass over `inputs` without dropout.
    """
    weights: dict[str, float] = defaultdict(float)
    gradients: dict[str, float] = defaultdict(float)
    for name, parameter in model.named_parameters():
        layer = _layer(name)
        weights[layer] += float(parameter.detach().float().square().sum())
        if parameter.grad is not None:
            gradients[layer] += float(parameter.grad.float().square().sum())
    return {
        "weights": {layer: square**0.5 for layer, square in weights.items()},
        "gradients": {layer: square**0.5 for layer, square in gradients.items()},
        "activations": _activations(model, inputs),
    }


def _activations(model: TransformerLM, inputs: Tensor) -> dict[str, float]:
    found: dict[str, float] = {}
    watched = [(name, part) for name, part in model.named_modules() if name and name == _layer(name)]
    handles = [
        part.register_forward_hook(lambda _, __, output, name=name: found.update({name: _rms(output)}))
        for name, part in watched
    ]
    was_training = model.training
    try:
        model.eval()
        with torch.no_grad():
            model(inputs)
    finally:
        model.train(was_training)
        for handle in handles:
            handle.remove()
    return found


def _layer(name: str) -> str:
    """`layers.3.attn.q_proj.weight` -> `layers.3`; `lm_head.weight` -> `lm_head`."""
    parts = name.split(".")
    return ".".join(parts[:2]) if parts[0] == "layers" else parts[0]


def _rms(output: Tensor) -> float:
    return float(output.float().square().mean().sqrt())
