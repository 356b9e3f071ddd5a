"""GGUF, the one-file format of llama.cpp: shape, weights and tokenizer in one file, written and read.

The container is the `gguf` package's. llama.cpp's Llama turns neighbours, as we do, so that no rows move; its
tokenizer is gguf_tokenizer.py's.
"""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from groundup.checkpoint import Run
from groundup.config import ModelConfig
from groundup.errors import CheckpointError, ConfigError
from groundup.files import StrPath, file_aside
from groundup.interop.gguf_tokenizer import MODEL, GgufTokenizer, from_gguf, to_gguf
from groundup.interop.llama import require_llama, take_weights, weights_of
from groundup.interop.names import GGUF, expand
from groundup.interop.runs import Imported, make_config, require_free
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.json_fields import naming
from groundup.tokenizer.vocabulary import Vocabulary

if TYPE_CHECKING:
    import gguf

log = logging.getLogger(__name__)

# The type of the matrices, in the words of `gguf`: of a tensor, and of a whole file.
_TYPES = {
    "float32": ("F32", "ALL_F32"),
    "float16": ("F16", "MOSTLY_F16"),
    "bf16": ("BF16", "MOSTLY_BF16"),
    "q8_0": ("Q8_0", "MOSTLY_Q8_0"),
}


def export_gguf(run: Run, out: StrPath, *, dtype: str = "float32") -> Path:
    """Write the run as the GGUF file `out`, whole or not at all; returns its path.

    Args:
        dtype: Of the matrices; norms stay float32. q8_0 stores 32 values of a row as 8-bit whole numbers with one
            16-bit scale; matrices whose rows do not divide by 32 become float16 then, as in llama.cpp's converter.

    Raises ConfigError for a model that is no Llama and for an `out` that exists, TokenizerError for a tokenizer
    that llama.cpp does not have.
    """
    if dtype not in _TYPES:
        raise ConfigError(f"dtype is {dtype!r}; a GGUF file can have {', '.join(_TYPES)}")
    gguf, out, config = _package(), require_free(out), run.model.config
    require_llama(config, "a GGUF file")
    tokenizer = to_gguf(_parts(run.tokenizer), config.vocab_size)
    kind, file_kind = _TYPES[dtype]
    with file_aside(out) as path:
        writer = gguf.GGUFWriter(path, "llama")
        try:
            writer.add_name(out.stem)
            writer.add_file_type(int(gguf.LlamaFileType[file_kind]))
            if dtype == "q8_0":
                writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
            _write_shape(writer, config)
            _write_tokenizer(writer, tokenizer, run.tokenizer.end_of_text_id)
            names = expand(GGUF, config.num_layers)
            for name, tensor in weights_of(run.model).items():
                data, stored = _stored(tensor, gguf.GGMLQuantizationType[kind], names[name])
                writer.add_tensor(names[name], data, raw_dtype=stored)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
        finally:
            writer.close()
    return out


def read_gguf_model(path: StrPath, *, tokenizer: StrPath | None = None) -> Imported:
    """The model in a GGUF file of the llama architecture, its weights in float32, and its tokenizer.

    Args:
        tokenizer: A tokenizer.json, or a folder with one, to be taken instead of the file's own.

    Raises CheckpointError for a file that is damaged, of another architecture or of other types than F32, F16,
    BF16 and Q8_0; TokenizerError for a tokenizer that is not byte-level BPE.
    """
    gguf, path = _package(), Path(path)
    try:
        reader = gguf.GGUFReader(path)
        fields = {name: field.contents() for name, field in reader.fields.items()}
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror}") from error
    except (ValueError, IndexError, KeyError, TypeError, OverflowError) as error:  # what a damaged file leads to
        raise CheckpointError(f"{str(path)!r} is not a whole GGUF file: {error}") from error
    config = _read_shape(fields, path, is_tied=all(tensor.name != "output.weight" for tensor in reader.tensors))
    tensors = {tensor.name: _read_tensor(tensor, path) for tensor in reader.tensors}
    if "rope_freqs.weight" in tensors:
        raise CheckpointError(f"{str(path)!r} has rotations that are scaled (rope_freqs); our model has none")
    weights = take_weights(tensors, GGUF, config, path)
    if tokenizer is not None:
        return Imported(config, weights, Tokenizer.load(tokenizer))
    with naming(path):
        return Imported(config, weights, Tokenizer.from_vocabulary(from_gguf(_read_tokenizer(fields, path))))


def _package() -> Any:
    try:
        import gguf
    except ImportError:
        raise ConfigError("GGUF files need the package gguf; install it with pip install 'groundup[gguf]'") from None
    return gguf


def _write_shape(writer: "gguf.GGUFWriter", config: ModelConfig) -> None:
    writer.add_vocab_size(config.vocab_size)
    writer.add_context_length(config.context_length)
    writer.add_embedding_length(config.d_model)
    writer.add_block_count(config.num_layers)
    writer.add_feed_forward_length(config.ffn_width)
    writer.add_head_count(config.num_heads)
    writer.add_head_count_kv(config.kv_heads)
    writer.add_rope_dimension_count(config.d_head)
    writer.add_rope_freq_base(config.rope_theta)
    writer.add_layer_norm_rms_eps(config.norm_eps)


def _write_tokenizer(writer: "gguf.GGUFWriter", tokenizer: GgufTokenizer, end_id: int | None) -> None:
    writer.add_tokenizer_model(MODEL)
    writer.add_tokenizer_pre(tokenizer.cut)
    writer.add_token_list(tokenizer.tokens)
    writer.add_token_types(tokenizer.types)
    if tokenizer.merges:  # an empty list has no type
        writer.add_token_merges(tokenizer.merges)
    if end_id is not None:
        writer.add_bos_token_id(end_id)
        writer.add_eos_token_id(end_id)
    writer.add_add_bos_token(False)  # our ids are those of the text alone


def _stored(tensor: Float[Tensor, "..."], kind: Any, name: str) -> tuple[np.ndarray, Any]:
    """The values as they are stored, and as which type."""
    from gguf import GGMLQuantizationType
    from gguf.quants import QuantError, quantize

    values = tensor.to(torch.float32).numpy()
    if values.ndim == 1:
        kind = GGMLQuantizationType.F32
    try:
        return quantize(values, kind), kind
    except QuantError:
        log.info(
            "%s has rows of %d values, which %s cannot hold; it is stored as F16", name, values.shape[-1], kind.name
        )
        return quantize(values, GGMLQuantizationType.F16), GGMLQuantizationType.F16


def _read_tensor(tensor: Any, path: Path) -> Tensor:
    from gguf.quants import dequantize

    kind = tensor.tensor_type
    if kind.name not in {name for name, _ in _TYPES.values()}:
        raise CheckpointError(
            f"the tensor {tensor.name!r} in {str(path)!r} is stored as {kind.name}; F32, F16, BF16 and Q8_0 are read"
        )
    shape = tuple(int(length) for length in reversed(tensor.shape))
    return torch.from_numpy(np.array(dequantize(tensor.data, kind), dtype=np.float32).reshape(shape))


def _read_shape(fields: Mapping[str, Any], path: Path, *, is_tied: bool) -> ModelConfig:
    architecture = fields.get("general.architecture")
    if architecture != "llama":
        raise CheckpointError(f"{str(path)!r} is of the architecture {architecture!r}; only 'llama' is read")
    scaling = fields.get("llama.rope.scaling.type", "none")
    if scaling != "none":
        raise CheckpointError(f"{str(path)!r} has rotations that are scaled ({scaling}); our model has none")
    if fields.get("llama.expert_count", 0):
        raise CheckpointError(f"{str(path)!r} is a mixture of {fields['llama.expert_count']} experts; our model is one")
    heads = _number(fields, "llama.attention.head_count", path)
    config = make_config(
        path,
        vocab_size=len(fields.get("tokenizer.ggml.tokens") or ()) or _number(fields, "llama.vocab_size", path),
        context_length=_number(fields, "llama.context_length", path),
        d_model=_number(fields, "llama.embedding_length", path),
        num_layers=_number(fields, "llama.block_count", path),
        num_heads=heads,
        num_kv_heads=_number(fields, "llama.attention.head_count_kv", path, heads),
        d_ff=_number(fields, "llama.feed_forward_length", path),
        rope_theta=_decimal(fields.get("llama.rope.freq_base", 10_000.0)),
        norm_eps=_decimal(fields.get("llama.attention.layer_norm_rms_epsilon", 1e-5)),
        tie_embeddings=is_tied,
    )
    turned = fields.get("llama.rope.dimension_count", config.d_head)
    if turned != config.d_head:
        raise CheckpointError(f"{str(path)!r} turns {turned} of {config.d_head} values of a head; our model turns all")
    return config


def _read_tokenizer(fields: Mapping[str, Any], path: Path) -> GgufTokenizer:
    model = fields.get("tokenizer.ggml.model")
    if model != MODEL:
        raise CheckpointError(
            f"{str(path)!r} has a tokenizer of the kind {model!r}; only byte-level BPE ({MODEL!r}) is read: give a "
            "tokenizer.json with --tokenizer"
        )
    return GgufTokenizer(
        cut=str(fields.get("tokenizer.ggml.pre", "default")),
        tokens=list(fields.get("tokenizer.ggml.tokens") or ()),
        types=list(fields.get("tokenizer.ggml.token_type") or ()),
        merges=list(fields.get("tokenizer.ggml.merges") or ()),
    )


def _parts(tokenizer: Tokenizer) -> Vocabulary:
    return Vocabulary(
        tokenizer.vocab,
        tokenizer.merges,
        tokenizer.special_tokens,
        tokenizer.pattern,
        tokenizer.ignore_merges,
        tokenizer.normalization,
    )


def _number(fields: Mapping[str, Any], name: str, path: Path, default: int | None = None) -> int:
    value = fields.get(name, default)
    if not isinstance(value, int) or value < 1:
        raise CheckpointError(f"{name} in {str(path)!r} is {value!r}; it must be a positive whole number")
    return value


def _decimal(value: float) -> float:
    """A number that was stored in 32 bits as it was written: 1e-05, not 9.999999747378752e-06."""
    return float(str(np.float32(value)))
