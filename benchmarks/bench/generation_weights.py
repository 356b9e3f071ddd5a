"""The one model that everyone in generate.py writes with, and the file in which its weights are handed round."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch

from groundup.config import ModelConfig
from groundup.model.transformer import TransformerLM


def make_model(shape: Mapping[str, int]) -> TransformerLM:
    """An untrained model, always the same; the gains of its norms are not all 1, as those of a trained one."""
    torch.manual_seed(0)
    model = TransformerLM(ModelConfig(**shape)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim == 1 and "ln" in name:
                parameter.uniform_(0.5, 1.5)
    return model


def write_weights(model: TransformerLM, path: Path) -> Path:
    """The state dict as an .npz file of float32 arrays, which every environment can read; returns `path`."""
    np.savez(path, **{name: tensor.numpy() for name, tensor in model.state_dict().items()})
    return path
