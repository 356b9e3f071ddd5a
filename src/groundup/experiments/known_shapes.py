"""Shapes that everyone knows by name: the specification's base model and those of GPT-2."""

import dataclasses

from groundup.config import ModelConfig

_GPT2 = {"vocab_size": 50_257, "context_length": 1024}
# GPT-2's have d_ff = 4 d_model; all else is as in our model (SwiGLU, no biases, an untied head).
PRESETS: dict[str, dict[str, int]] = {
    "base": {"vocab_size": 10_000},
    "gpt2": _GPT2 | {"num_layers": 12, "d_model": 768, "num_heads": 12, "d_ff": 3072},
    "gpt2-medium": _GPT2 | {"num_layers": 24, "d_model": 1024, "num_heads": 16, "d_ff": 4096},
    "gpt2-large": _GPT2 | {"num_layers": 36, "d_model": 1280, "num_heads": 20, "d_ff": 5120},
    "gpt2-xl": _GPT2 | {"num_layers": 48, "d_model": 1600, "num_heads": 25, "d_ff": 6400},
}


def preset_model(name: str, **changes: int) -> ModelConfig:
    """The shape `name` of `PRESETS`, with changes.

    >>> preset_model("gpt2-xl", context_length=16_384).num_layers
    48
    """
    return dataclasses.replace(ModelConfig(), **(PRESETS[name] | changes))
