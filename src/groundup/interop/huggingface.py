"""A folder that `transformers` loads with `from_pretrained`, written from a run.

    config.json  model.safetensors  tokenizer.json  tokenizer_config.json  generation_config.json  README.md

The model becomes a `LlamaForCausalLM`. The way back is huggingface_import.py.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from groundup.checkpoint import Run
from groundup.config import ModelConfig
from groundup.errors import ConfigError
from groundup.files import StrPath, folder_aside, write_atomic, write_json
from groundup.interop.llama import require_llama, rotated_projections, to_halves, weights_of
from groundup.interop.model_card import write_card
from groundup.interop.names import HUGGING_FACE, expand
from groundup.interop.runs import CARD, require_free
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.formats import TOKENIZER_FILE

TORCH_DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16}
WEIGHTS = "model.safetensors"


def export_huggingface(run: Run, out: StrPath, *, dtype: str = "float32", license: str = "unknown") -> Path:
    """Write the run as a Hugging Face model folder `out`, whole or not at all; returns the folder.

    Args:
        dtype: Of the weights; bf16 halves the file and rounds to 8 bits of precision.
        license: What the model card says, by the name that the Hub has for it ("mit", "apache-2.0", ...).

    Raises ConfigError for a model that is no Llama and for an `out` that exists, TokenizerError for a tokenizer
    that others would understand in another way.
    """
    if dtype not in TORCH_DTYPES:
        raise ConfigError(f"dtype is {dtype!r}; a Hugging Face folder can have {' or '.join(TORCH_DTYPES)}")
    out, model = require_free(out), run.model
    require_llama(model.config, "a Hugging Face model")
    end_id = run.tokenizer.end_of_text_id
    with folder_aside(out) as folder:
        write_json(folder / "config.json", _config(model.config, dtype, end_id))
        _write_tensors(folder / WEIGHTS, _their_weights(weights_of(model), model.config, TORCH_DTYPES[dtype]))
        run.tokenizer.save(folder / TOKENIZER_FILE)
        write_json(folder / "tokenizer_config.json", _tokenizer_config(run.tokenizer, model.config.context_length))
        write_json(folder / "generation_config.json", _generation_config(end_id))
        write_atomic(folder / CARD, write_card(run, name=out.name, license=license))
    return out


def _config(config: ModelConfig, dtype: str, end_id: int | None) -> dict[str, Any]:
    """config.json, in the words of transformers 4 and 5, which name the rotation and the type differently."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "intermediate_size": config.ffn_width,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.d_head,
        "hidden_act": "silu",
        "max_position_embeddings": config.context_length,
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rope_theta,
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_theta},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
        "tie_word_embeddings": config.tie_embeddings,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "torch_dtype": str(TORCH_DTYPES[dtype]).removeprefix("torch."),
    }


def _tokenizer_config(tokenizer: Tokenizer, context_length: int) -> dict[str, Any]:
    """What `AutoTokenizer` needs to know besides tokenizer.json: which token is the end, and to add none by itself."""
    end = None if tokenizer.end_of_text_id is None else "<|endoftext|>"
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": context_length,
        "bos_token": end,
        "eos_token": end,
        "clean_up_tokenization_spaces": False,
    }


def _generation_config(end_id: int | None) -> dict[str, Any]:
    """How `generate` draws unless told otherwise: as `groundup generate` does."""
    return {
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "pad_token_id": end_id,
        "do_sample": True,
        "temperature": 0.8,
        "top_p": 0.95,
    }


def _their_weights(weights: dict[str, Tensor], config: ModelConfig, dtype: torch.dtype) -> dict[str, Tensor]:
    for name, num_heads in rotated_projections(weights, config):
        weights[name] = to_halves(weights[name], num_heads)
    names = expand(HUGGING_FACE, config.num_layers)
    return {names[name]: tensor.to(dtype).contiguous() for name, tensor in weights.items()}


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file(dict(tensors), path, metadata={"format": "pt"})  # older transformers insist on the format
    except SafetensorError as error:  # carries the system's message, not its number
        raise OSError(None, str(error)) from error
