"""Which models are the standard one, that kernels/standard_model.py computes as one function."""

import torch
from torch import nn

from groundup.config import ModelConfig
from groundup.model.attention import CausalSelfAttention
from groundup.model.layers import Embedding, Linear, RMSNorm, SwiGLU
from groundup.model.rope import RotaryEmbedding
from groundup.model.transformer import Block, TransformerLM

PARTS = (Embedding, RotaryEmbedding, nn.ModuleList, Block, RMSNorm, CausalSelfAttention, SwiGLU, Linear)


def why_not_standard(model: nn.Module) -> str:
    """What keeps `model` from being the standard one as it is now, for the log; "" if nothing does.

    Standard is a TransformerLM with norms before each half of a layer and SwiGLU, without dropout and norms on queries
    and keys; with positions or without, with grouped heads and tied embeddings or without. A part that was wrapped,
    parametrized or exchanged is not standard: what it does instead of its module's work would not be done.
    """
    if type(model) is not TransformerLM:
        return f"the model is a {type(model).__name__}"
    config = model.config
    if why_not := why_not_standard_shape(config):
        return why_not
    for name, part in model.named_modules():
        if name and (type(part) not in PARTS or "forward" in vars(part)):
            return f"{name} is not the model's own"
    shape = (config.vocab_size, config.d_model)
    if (
        len(model.layers) != config.num_layers
        or not model.lm_head.weight.shape == model.token_embeddings.weight.shape == shape
    ):
        return "its shape is not that of its configuration"
    for name, parameter in model.named_parameters():
        if parameter.device.type != "cpu" or parameter.dtype != torch.float32 or not parameter.is_contiguous():
            return f"{name} is not dense float32 on the CPU"
        if not parameter.requires_grad:
            return f"{name} is frozen"
    return ""


def why_not_standard_shape(config: ModelConfig) -> str:
    """The same of a configuration: which of its choices is another, "" if none is."""
    for name, wanted in (("norm", "pre"), ("ffn", "swiglu"), ("dropout", 0.0), ("qk_norm", False)):
        if getattr(config, name) != wanted:
            return f"{name} is {getattr(config, name)}"
    return ""


def has_hooks(model: nn.Module) -> bool:
    """Whether somebody watches a module or the gradient of a parameter: the one function would not call them.

    Those that torch has for all modules of a process are not seen.
    """
    of_modules = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    of_parameters = ("_backward_hooks", "_post_accumulate_grad_hooks")
    return any(getattr(module, name) for module in model.modules() for name in of_modules) or any(
        getattr(parameter, name) for parameter in model.parameters() for name in of_parameters
    )
