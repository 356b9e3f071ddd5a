"""Which models native code computes as a whole: to train them, kernels/standard_model.py; to write, decoding.py."""

from collections.abc import Set

import torch
from torch import nn

from groundup.config import ModelConfig
from groundup.model.attention import CausalSelfAttention
from groundup.model.layers import Embedding, Linear, RMSNorm, SwiGLU
from groundup.model.rope import RotaryEmbedding
from groundup.model.transformer import Block, TransformerLM
from groundup.recipe import differences

PARTS = (Embedding, RotaryEmbedding, nn.ModuleList, Block, RMSNorm, CausalSelfAttention, SwiGLU, Linear)

# What native code takes as it comes; every other choice, also one that is added later, must be as in ModelConfig.
SIZES = {
    "vocab_size",
    "context_length",
    "d_model",
    "num_layers",
    "num_heads",
    "num_kv_heads",
    "d_ff",
    "rope_theta",
    "norm_eps",
    "tie_embeddings",
    "zero_outputs",  # initial weights only
}
STANDARD = SIZES | {"positions"}


def why_not_standard(model: nn.Module) -> str:
    """What keeps `model` from being the standard one as it is now, for the log; "" if nothing does.

    Standard is a TransformerLM with norms before each half of a layer and SwiGLU, without dropout and norms on queries
    and keys; with positions or without, with grouped heads and tied embeddings or without; and all of it is trained.
    """
    if why_not := why_not_its_own(model, STANDARD):
        return why_not
    frozen = [name for name, parameter in model.named_parameters() if not parameter.requires_grad]
    return f"{frozen[0]} is frozen" if frozen else ""


def why_not_standard_shape(config: ModelConfig) -> str:
    """The same of a configuration: which of its choices is another, "" if none is."""
    return _other_choice(config, STANDARD)


def why_not_its_own(model: object, free: Set[str]) -> str:
    """What keeps `model` from being a TransformerLM, all of it as it was made; "" if nothing does.

    Its configuration must be the base in all but the fields that are `free`: pre-norm and SwiGLU, without norms on
    queries and keys, and so on.

    A part that was wrapped, parametrized or exchanged is not the model's own: what it does instead of its module's work
    would not be done. One too many, or of another size, would lead out of the memory that is made for a configuration.
    """
    if isinstance(model, TransformerLM) and (why_not := _other_choice(model.config, free)):
        return why_not
    if type(model) is not TransformerLM:
        return f"the model is a {type(model).__name__}"
    config = model.config
    for name, part in model.named_modules():
        if name and (type(part) not in PARTS or "forward" in vars(part)):
            return f"{name} is not the model's own"
    tensors = [*model.named_parameters(remove_duplicate=False), *model.named_buffers()]
    if {name: tuple(tensor.shape) for name, tensor in tensors} != _shapes_of(config):
        return "its shape is not that of its configuration"
    for name, parameter in model.named_parameters():
        if parameter.device.type != "cpu" or parameter.dtype != torch.float32 or not parameter.is_contiguous():
            return f"{name} is not dense float32 on the CPU"
    return ""


def other_choices(config: ModelConfig, free: Set[str]) -> dict[str, tuple[object, object]]:
    """The fields, but for the `free` ones, that are not as in the base model: what it has, and what is."""
    return {name: pair for name, pair in differences(ModelConfig(), config).items() if name not in free}


def _other_choice(config: ModelConfig, free: Set[str]) -> str:
    """The first of them in words, "" if there is none."""
    return next((f"{name} is {value}" for name, (_, value) in other_choices(config, free).items()), "")


def _shapes_of(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Of all parameters, tied ones under both names, and buffers."""
    d_model, d_ff, vocab = config.d_model, config.ffn_width, (config.vocab_size, config.d_model)
    layer = {
        "ln1.weight": (d_model,),
        "attn.qkv_weight": ((config.num_heads + 2 * config.kv_heads) * config.d_head, d_model),
        "attn.output_proj.weight": (d_model, d_model),
        "ln2.weight": (d_model,),
        "ffn.w1.weight": (d_ff, d_model),
        "ffn.w2.weight": (d_model, d_ff),
        "ffn.w3.weight": (d_ff, d_model),
    }
    turns = (config.context_length, config.d_head // 2)
    return {
        **{f"layers.{i}.{name}": shape for i in range(config.num_layers) for name, shape in layer.items()},
        **({"rope.cos": turns, "rope.sin": turns} if config.positions == "rope" else {}),
        "token_embeddings.weight": vocab,
        "ln_final.weight": (d_model,),
        "lm_head.weight": vocab,
    }


def halves_of(model: TransformerLM) -> list[tuple[Block, SwiGLU]]:
    """Each layer, and its feed-forward half."""
    found = []
    for layer in model.layers:
        assert isinstance(layer, Block) and isinstance(layer.ffn, SwiGLU)
        found.append((layer, layer.ffn))
    return found


def has_hooks(model: nn.Module) -> bool:
    """Whether somebody watches a module or the gradient of a parameter: the one function would not call them.

    Those that torch has for all modules of a process are not seen.
    """
    of_modules = ("_backward_hooks", "_backward_pre_hooks")
    of_parameters = ("_backward_hooks", "_post_accumulate_grad_hooks")
    return (
        has_forward_hooks(model)
        or any(getattr(module, name) for module in model.modules() for name in of_modules)
        or any(getattr(parameter, name) for parameter in model.parameters() for name in of_parameters)
    )


def has_forward_hooks(model: nn.Module) -> bool:
    """Whether somebody watches what a module gets or gives."""
    return any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
