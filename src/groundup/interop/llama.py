"""The architecture that all these formats know, Llama, as a case of our model; and the one thing it does otherwise.

Llama is our standard model: RMSNorm before each part, rotary positions, SwiGLU, no biases, query heads that may
share keys and values, a head that may be the embedding. Hugging Face turns other pairs of rows, see `to_halves`.
"""

import re
from collections.abc import Iterator, Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from groundup.config import ModelConfig
from groundup.errors import CheckpointError, ConfigError
from groundup.interop.names import Naming, expand
from groundup.kernels.standard import SIZES, other_choices
from groundup.model.transformer import TransformerLM

# A Llama of any of these is a Llama; every other field must be as in our base model, which is one.
_FREE = SIZES | {"dropout"}
_ROTATED = re.compile(r"layers\.\d+\.attn\.([qk])_proj\.weight")
# Tables that follow from the configuration; old files hold them beside the weights.
_DERIVED = re.compile(r".*\.(rotary_emb\.inv_freq|masked_bias|attn\.bias)|freqs_cos|freqs_sin")


def require_llama(config: ModelConfig, what: str) -> None:
    """Raise ConfigError, in the name of the format `what`, unless the model is a Llama."""
    others = other_choices(config, _FREE)
    if others:
        name, (wanted, value) = next(iter(others.items()))
        raise ConfigError(
            f"this model cannot become {what}: its {name} is {value!r}, and the Llama architecture, the only one "
            f"of ours that others know, has {wanted!r}"
        )


def llama_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """The shape of every weight under our names; a tied head is left out."""
    d_model, d_ff = config.d_model, config.ffn_width
    kv_rows = config.kv_heads * config.d_head
    layer = {
        "ln1": (d_model,),
        "attn.q_proj": (d_model, d_model),
        "attn.k_proj": (kv_rows, d_model),
        "attn.v_proj": (kv_rows, d_model),
        "attn.output_proj": (d_model, d_model),
        "ln2": (d_model,),
        "ffn.w1": (d_ff, d_model),
        "ffn.w2": (d_model, d_ff),
        "ffn.w3": (d_ff, d_model),
    }
    shapes: dict[str, tuple[int, ...]] = {"token_embeddings.weight": (config.vocab_size, d_model)}
    shapes |= {f"layers.{i}.{name}.weight": shape for i in range(config.num_layers) for name, shape in layer.items()}
    shapes["ln_final.weight"] = (d_model,)
    if not config.tie_embeddings:
        shapes["lm_head.weight"] = (config.vocab_size, d_model)
    return shapes


def weights_of(model: TransformerLM) -> dict[str, Tensor]:
    """The weights under our names, on the CPU; those of a tied head are left out."""
    weights = {name: tensor.detach().cpu() for name, tensor in model.state_dict().items()}
    if model.config.tie_embeddings:
        del weights["lm_head.weight"]
    return weights


def take_weights(
    tensors: Mapping[str, Tensor], naming: Naming, config: ModelConfig, source: object
) -> dict[str, Tensor]:
    """The weights under our names, in float32, from tensors under other names; all of them and no more.

    A head that is stored although it is the embedding is left out. Raises CheckpointError that names the first
    tensor which is missing, of another shape or type, or not expected.
    """
    if config.num_layers > len(tensors):  # a damaged number could ask for tables without end
        raise CheckpointError(
            f"{str(source)!r} has {len(tensors)} tensors; that is too few for the {config.num_layers} layers of its "
            "configuration"
        )
    names, weights = expand(naming, config.num_layers), {}
    for ours, shape in llama_shapes(config).items():
        tensor = tensors.get(names[ours])
        if tensor is None:
            raise CheckpointError(f"{str(source)!r} lacks the tensor {names[ours]!r}, which its configuration asks for")
        if tuple(tensor.shape) != shape:
            raise CheckpointError(
                f"the tensor {names[ours]!r} in {str(source)!r} is {tuple(tensor.shape)}; its configuration asks "
                f"for {shape}"
            )
        if tensor.dtype not in (torch.float32, torch.bfloat16, torch.float16, torch.float64):
            raise CheckpointError(
                f"the tensor {names[ours]!r} in {str(source)!r} is {tensor.dtype}; only float32, bfloat16, float16 "
                "and float64 are read"
            )
        weights[ours] = tensor.to(torch.float32)
    head = tensors.get(names["lm_head.weight"])
    embedding = tensors[names["token_embeddings.weight"]]
    if config.tie_embeddings and head is not None and not torch.equal(head, embedding):
        raise CheckpointError(
            f"{str(source)!r} says that the head is the embedding, but holds a {names['lm_head.weight']!r} that differs"
        )
    _refuse_others([name for name in tensors if name not in names.values()], source)
    return weights


def _refuse_others(names: list[str], source: object) -> None:
    others = [name for name in names if not _DERIVED.fullmatch(name)]
    biases = [name for name in others if name.endswith("bias")]
    if biases:
        raise CheckpointError(f"{str(source)!r} has biases ({biases[0]!r}); our layers have none")
    if others:
        raise CheckpointError(f"{str(source)!r} has a tensor that our model has no place for, {others[0]!r}")


def to_halves(weight: Float[Tensor, "rows d_in"], num_heads: int) -> Float[Tensor, "rows d_in"]:
    """A query or key projection for a program that turns the pair (x[k], x[k + d_head / 2]), from one that turns
    (x[2k], x[2k + 1]), as ours.

    Within each head the even rows come first, then the odd ones. Both sides of a dot product are put in the same
    order, so that the scores stay what they were.

    >>> to_halves(torch.arange(8.0)[:, None], num_heads=2).flatten().tolist()
    [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]
    """
    return weight.unflatten(0, (num_heads, -1, 2)).transpose(1, 2).flatten(0, 2)


def to_pairs(weight: Float[Tensor, "rows d_in"], num_heads: int) -> Float[Tensor, "rows d_in"]:
    """What `to_halves` was given."""
    return weight.unflatten(0, (num_heads, 2, -1)).transpose(1, 2).flatten(0, 2)


def rotated_projections(weights: Mapping[str, Tensor], config: ModelConfig) -> Iterator[tuple[str, int]]:
    """The names of the projections of queries and keys, with the number of their heads."""
    for name in weights:
        if found := _ROTATED.fullmatch(name):
            yield name, config.num_heads if found[1] == "q" else config.kv_heads
