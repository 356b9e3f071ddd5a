"""Reading a Hugging Face folder of Llama's shape: config.json, safetensors in one file or in several, tokenizer.json.

What our model would compute otherwise (scaled rotations, biases, other activations, quantized weights) is
refused by name. The way there is huggingface.py.
"""

import json
from pathlib import Path
from typing import Any

from torch import Tensor

from groundup.config import ModelConfig
from groundup.errors import CheckpointError
from groundup.files import StrPath
from groundup.interop.huggingface import WEIGHTS
from groundup.interop.llama import rotated_projections, take_weights, to_pairs
from groundup.interop.names import HUGGING_FACE
from groundup.interop.runs import CARD, Imported, make_config
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.formats import TOKENIZER_FILE

INDEX = "model.safetensors.index.json"
# What a field must be for the model to be ours; absent or null is always that.
_NEUTRAL = {
    "hidden_act": "silu",
    "attention_bias": False,
    "mlp_bias": False,
    "partial_rotary_factor": 1.0,
    "quantization_config": None,
    "sliding_window": None,
}


def read_huggingface_model(
    folder: StrPath, *, tokenizer: StrPath | None = None, context_length: int | None = None
) -> Imported:
    """The model in a Hugging Face folder, and its tokenizer.

    Args:
        tokenizer: A tokenizer.json, or a folder with one, to be taken instead of the folder's own.
        context_length: Fewer positions than the model has, where its own take too much memory.

    Raises CheckpointError for files that are missing, damaged or of another architecture, TokenizerError for a
    tokenizer that is not byte-level BPE.
    """
    folder = Path(folder)
    config = _read_config(folder / "config.json", context_length)
    weights = take_weights(_read_weights(folder), HUGGING_FACE, config, folder)
    for name, num_heads in rotated_projections(weights, config):
        weights[name] = to_pairs(weights[name], num_heads)
    if tokenizer is None and not (folder / TOKENIZER_FILE).is_file():
        raise CheckpointError(f"{str(folder)!r} has no {TOKENIZER_FILE}; give one with --tokenizer")
    card = folder / CARD
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else None
    return Imported(config, weights, Tokenizer.load(tokenizer or folder), text)


def _read_config(path: Path, context_length: int | None) -> ModelConfig:
    fields = read_json(path)
    if fields.get("model_type") != "llama":
        raise CheckpointError(f"{str(path)!r} is of the type {fields.get('model_type')!r}; only 'llama' is read")
    for name, wanted in _NEUTRAL.items():
        value = fields.get(name)
        if value is not None and value != wanted:
            raise CheckpointError(f"{name} in {str(path)!r} is {json.dumps(value)[:80]}; our model has {wanted!r}")
    width, heads = _number(fields, "hidden_size", path), _number(fields, "num_attention_heads", path)
    head_dim = fields.get("head_dim")
    if head_dim is not None and head_dim * heads != width:
        raise CheckpointError(
            f"head_dim in {str(path)!r} is {head_dim}; our heads divide the width, {width} among {heads}"
        )
    positions = _number(fields, "max_position_embeddings", path)
    if context_length is not None and context_length > positions:
        raise CheckpointError(f"the context of {str(path.parent)!r} is {positions}; {context_length} is more than that")
    return make_config(
        path,
        vocab_size=_number(fields, "vocab_size", path),
        context_length=context_length or positions,
        d_model=width,
        num_layers=_number(fields, "num_hidden_layers", path),
        num_heads=heads,
        num_kv_heads=_number(fields, "num_key_value_heads", path, heads),
        d_ff=_number(fields, "intermediate_size", path),
        rope_theta=_rope_theta(fields, path),
        norm_eps=_decimal(fields, "rms_norm_eps", path, 1e-6),
        tie_embeddings=bool(fields.get("tie_word_embeddings")),
    )


def _rope_theta(fields: dict[str, Any], path: Path) -> float:
    """The base of the wavelengths, which transformers 4 and 5 keep in different places.

    Raises CheckpointError for wavelengths that are stretched (linear, dynamic, YaRN, Llama 3's): ours are not.
    """
    theta = _decimal(fields, "rope_theta", path, 10_000.0)
    for name in ("rope_scaling", "rope_parameters"):
        rotation = fields.get(name)
        if rotation is None:
            continue
        if not isinstance(rotation, dict) or not _is_plain(rotation):
            raise CheckpointError(
                f"{name} in {str(path)!r} is {json.dumps(rotation)[:120]}; rotations that are scaled or partial are "
                "not read, as our model has none"
            )
        theta = _decimal(rotation, "rope_theta", path, theta)
    return theta


def _is_plain(rotation: dict[str, Any]) -> bool:
    kind = rotation.get("rope_type", rotation.get("type", "default"))
    return kind == "default" and rotation.get("partial_rotary_factor", 1.0) == 1.0


def _read_weights(folder: Path) -> dict[str, Tensor]:
    """All tensors of a folder, from the one file or from those that the index names."""
    index = folder / INDEX
    if (folder / WEIGHTS).is_file() or not index.is_file():
        return _read_tensors(folder / WEIGHTS)
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not all(isinstance(file, str) for file in places.values()):
        raise CheckpointError(f"{str(index)!r} has no weight_map, which says where each tensor is")
    tensors: dict[str, Tensor] = {}
    for file in sorted(set(places.values())):
        if Path(file).name != file:
            raise CheckpointError(f"{str(index)!r} names {file!r}, which is not a file beside it")
        tensors |= _read_tensors(folder / file)
    if lost := sorted(places.keys() - tensors.keys()):
        raise CheckpointError(f"{str(index)!r} promises the tensor {lost[0]!r}, but {places[lost[0]]!r} lacks it")
    return tensors


def _read_tensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        pickled = sorted(path.parent.glob("pytorch_model*.bin"))
        advice = f"; {pickled[0].name}, a pickle, is not read: convert it to safetensors" if pickled else ""
        raise CheckpointError(f"{str(path.parent)!r} has no {path.name}{advice}")
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{str(path)!r} is damaged: {error}") from error


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file. Raises CheckpointError, naming the file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise CheckpointError(f"{str(path)!r} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise CheckpointError(f"{str(path)!r} holds no JSON object")
    return content


def _number(fields: dict[str, Any], name: str, path: Path, default: int | None = None) -> int:
    value = fields.get(name)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise CheckpointError(f"{name} in {str(path)!r} is {json.dumps(value)[:80]}; it must be a whole number above 0")
    return value


def _decimal(fields: dict[str, Any], name: str, path: Path, default: float) -> float:
    value = fields.get(name)
    value = default if value is None else value
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise CheckpointError(f"{name} in {str(path)!r} is {json.dumps(value)[:80]}; it must be a number")
    return float(value)
