"""State dicts that were saved with torch.save: of the course, of llama2.c's training, of nanoGPT.

All are read with weights_only=True, which runs nothing that a file holds. A state dict alone does not say how
many heads there are nor how long the context is: the caller does, or the `model_args` beside it in the file.
"""

import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from groundup.checkpoint import strip_prefixes
from groundup.config import ModelConfig
from groundup.errors import CheckpointError, ConfigError
from groundup.files import StrPath
from groundup.interop.llama import take_weights
from groundup.interop.names import META
from groundup.interop.runs import Imported, make_config
from groundup.tokenizer.bpe import Tokenizer

_INSIDE = ("model", "model_state_dict", "state_dict")  # where programs keep the state dict among other things


def read_state_dict(path: StrPath) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors in a file of torch.save, without the prefixes of wrappers, and what `model_args` says of them.

    Raises CheckpointError for a file that is damaged, holds no tensors, or more than weights_only=True reads.
    """
    path = Path(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{str(path)!r} is not read: it is damaged, or holds more than tensors and plain values, which could run "
            "code of its own"
        ) from error
    except (RuntimeError, EOFError, ValueError, KeyError) as error:
        raise CheckpointError(f"{str(path)!r} is not a whole file of torch.save: {error}") from error
    weights, arguments = content, {}
    if isinstance(content, dict):
        weights = next((content[name] for name in _INSIDE if isinstance(content.get(name), dict)), content)
        arguments = content.get("model_args", {})
    if not isinstance(weights, dict) or not weights or not all(isinstance(value, Tensor) for value in weights.values()):
        raise CheckpointError(f"{str(path)!r} holds no state dict: a dict of names and tensors is needed")
    return {strip_prefixes(name): tensor for name, tensor in weights.items()}, arguments


def read_state_dict_model(
    path: StrPath,
    *,
    tokenizer: StrPath | None,
    num_heads: int | None = None,
    context_length: int | None = None,
    rope_theta: float | int = 10_000.0,
) -> Imported:
    """The model in a state dict under our names, which are the course's, or under Meta's, as llama2.c trains.

    Args:
        tokenizer: A tokenizer.json, or a folder with one: no state dict has a tokenizer inside.
        num_heads, context_length, rope_theta: What the file does not say.

    Raises ConfigError for what is not said, CheckpointError for a model that ours cannot be.
    """
    weights, arguments = read_state_dict(path)
    if tokenizer is None:
        raise ConfigError(f"{str(path)!r} has no tokenizer inside; give a tokenizer.json with --tokenizer")
    if any(name.startswith("transformer.") for name in weights):
        raise CheckpointError(
            f"{str(path)!r} is a GPT-2 of nanoGPT: its LayerNorm, learned positions and GELU are parts that our model "
            "does not have"
        )
    if "tok_embeddings.weight" in weights:
        config = _config_of_meta(weights, arguments, path)
        ours = take_weights(weights, META, config, path)
    elif "token_embeddings.weight" in weights:
        if num_heads is None or context_length is None:
            missing = "--num_heads" if num_heads is None else "--context_length"
            raise ConfigError(f"{str(path)!r} does not say it: give {missing}")
        config = _config_of_ours(weights, num_heads, context_length, float(rope_theta), path)
        ours = {name: tensor.to(torch.float32) for name, tensor in weights.items()}
        if config.tie_embeddings:
            ours.pop("lm_head.weight", None)
    else:
        raise CheckpointError(
            f"the names in {str(path)!r} are not known ({', '.join(sorted(weights)[:3])}, ...); those of groundup, the "
            "course and Llama are"
        )
    return Imported(config, ours, Tokenizer.load(tokenizer))


def _config_of_meta(weights: Mapping[str, Tensor], arguments: Mapping[str, Any], path: StrPath) -> ModelConfig:
    """The shape in llama2.c's model_args, whose width of the feed-forward part is only in the matrices."""
    names = ("dim", "n_layers", "n_heads", "vocab_size", "max_seq_len")
    if missing := [name for name in names if not isinstance(arguments.get(name), int)]:
        raise CheckpointError(
            f"{str(path)!r} has no model_args with {missing[0]}, which Llama's names need beside them"
        )
    first = weights.get("layers.0.feed_forward.w1.weight")
    head, embedding = weights.get("output.weight"), weights["tok_embeddings.weight"]
    return make_config(
        path,
        vocab_size=arguments["vocab_size"],
        context_length=arguments["max_seq_len"],
        d_model=arguments["dim"],
        num_layers=arguments["n_layers"],
        num_heads=arguments["n_heads"],
        num_kv_heads=arguments.get("n_kv_heads") or arguments["n_heads"],
        d_ff=None if first is None else first.shape[0],
        norm_eps=float(arguments.get("norm_eps", 1e-5)),
        tie_embeddings=head is None or torch.equal(head, embedding),
    )


def _config_of_ours(
    weights: Mapping[str, Tensor], num_heads: int, context_length: int, rope_theta: float, path: StrPath
) -> ModelConfig:
    """The shape and the variant, from which weights there are and how large they are."""
    embedding, head = weights["token_embeddings.weight"], weights.get("lm_head.weight")
    vocab_size, d_model = embedding.shape
    w1, keys = weights.get("layers.0.ffn.w1.weight"), weights.get("layers.0.attn.k_proj.weight")
    if w1 is None or keys is None or num_heads < 1 or d_model % num_heads or keys.shape[0] % (d_model // num_heads):
        raise CheckpointError(f"{str(path)!r} is no model of {num_heads} heads whose layers have our names")
    layers = {int(found[1]) for name in weights if (found := re.match(r"layers\.(\d+)\.", name))}
    norm = "none" if "layers.0.ln1.weight" not in weights else "pre" if "ln_final.weight" in weights else "post"
    return make_config(
        path,
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=d_model,
        num_layers=max(layers) + 1,
        num_heads=num_heads,
        num_kv_heads=keys.shape[0] // (d_model // num_heads),
        d_ff=w1.shape[0],
        rope_theta=rope_theta,
        norm=norm,
        ffn="swiglu" if "layers.0.ffn.w3.weight" in weights else "silu",
        qk_norm="layers.0.attn.q_norm.weight" in weights,
        tie_embeddings=head is None or torch.equal(head, embedding),
    )
