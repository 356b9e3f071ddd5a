"""llama2.c's model file: a header of seven numbers and all weights in float32, one after the other.

Its `run` reads version 0, the only one that is written here; version 1 is read too. Neighbours are turned, as in
ours. The head is negative in version 0's header where it is a matrix of its own. Source: Karpathy, llama2.c
(2023), run.c and export.py. The tokenizer beside it is llama2c_tokenizer.py's.
"""

import math
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from groundup.checkpoint import Run
from groundup.config import ModelConfig
from groundup.errors import CheckpointError, ConfigError
from groundup.files import StrPath, folder_aside
from groundup.interop.llama import llama_shapes, require_llama, weights_of
from groundup.interop.llama2c_tokenizer import layout, read_tokenizer_bin, write_tokenizer_bin
from groundup.interop.runs import Imported, make_config, require_free
from groundup.tokenizer.bpe import Tokenizer

MODEL_FILE, TOKENIZER_FILE = "model.bin", "tokenizer.bin"
_THETA, _EPS = 10_000.0, 1e-5  # built into run.c
_MAGIC = b"24ka"  # 0x616b3432, little-endian
_HEADER_BYTES = 256  # of version 1
_TABLES = "tables"  # cosines and sines, which version 0 holds and run.c skips
_LAYER = ("ln1", "attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.output_proj", "ln2", "ffn.w1", "ffn.w2", "ffn.w3")
_NORMS = ("ln1", "ln2")
_ORDER = {
    0: ("token_embeddings", *_LAYER, "ln_final", _TABLES, "lm_head"),
    1: (*_NORMS, "ln_final", "token_embeddings", *(part for part in _LAYER if part not in _NORMS), "lm_head"),
}


def export_llama2c(run: Run, out: StrPath) -> Path:
    """Write a folder with model.bin and tokenizer.bin, whole or not at all; returns it.

    `run model.bin -z tokenizer.bin` (llama2.c) reads both. Where its program has ids built in (1 begins a text,
    3 to 258 are the bytes) the ids move, and the rows of the embedding and the head with them.

    Raises ConfigError for a model that llama2.c cannot run and for an `out` that exists, TokenizerError for a
    tokenizer without 256 bytes and <|endoftext|>.
    """
    out, config = require_free(out), run.model.config
    require_llama(config, "a llama2.c file")
    for name, wanted in (("rope_theta", _THETA), ("norm_eps", _EPS)):
        if getattr(config, name) != wanted:
            raise ConfigError(
                f"this model cannot become a llama2.c file: its {name} is {getattr(config, name):g}, and llama2.c has "
                f"{wanted:g} built in"
            )
    order = layout(run.tokenizer, config.vocab_size)
    weights = weights_of(run.model)
    for name in ("token_embeddings.weight", "lm_head.weight"):
        if name in weights:
            weights[name] = weights[name][torch.tensor(order)]
    with folder_aside(out) as folder:
        _write_model(folder / MODEL_FILE, weights, config)
        write_tokenizer_bin(folder / TOKENIZER_FILE, run.tokenizer, order)
    return out


def read_llama2c_model(path: StrPath, *, tokenizer: StrPath | None = None) -> Imported:
    """The model in a llama2.c file, or in a folder as `export_llama2c` writes it, and its tokenizer.

    Args:
        tokenizer: llama2.c's tokenizer file, or a tokenizer.json; None means the tokenizer.bin beside the model.

    Raises CheckpointError for a file that is damaged or of the quantized version 2, TokenizerError for the
    tokenizer's.
    """
    path = Path(path)
    path = path / MODEL_FILE if path.is_dir() else path
    config, weights = _read_model(path)
    beside = path.parent / TOKENIZER_FILE
    if tokenizer is None and not beside.is_file():
        raise CheckpointError(f"there is no {TOKENIZER_FILE} beside {str(path)!r}; give one with --tokenizer")
    source = Path(tokenizer or beside)
    if source.suffix == ".bin":
        return Imported(config, weights, read_tokenizer_bin(source, config.vocab_size))
    return Imported(config, weights, Tokenizer.load(source))


def _write_model(path: Path, weights: dict[str, Tensor], config: ModelConfig) -> None:
    header = (
        config.d_model,
        config.ffn_width,
        config.num_layers,
        config.num_heads,
        config.kv_heads,
        config.vocab_size if config.tie_embeddings else -config.vocab_size,
        config.context_length,
    )
    with path.open("wb") as file:
        file.write(struct.pack("<7i", *header))
        for name in _names(0, config):
            values = rotation_tables(config) if name == _TABLES else weights[name]
            file.write(values.to(torch.float32).contiguous().numpy().astype("<f4", copy=False).tobytes())


def _read_model(path: Path) -> tuple[ModelConfig, dict[str, Tensor]]:
    try:
        content = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise CheckpointError(f"{str(path)!r} cannot be read: {error.strerror or error}") from error
    version, config, start = _read_header(content[:_HEADER_BYTES].tobytes(), path)
    if 4 * config.num_layers * config.d_model > len(content):  # a damaged number could ask for tables without end
        raise CheckpointError(
            f"{str(path)!r} has {len(content):,} bytes; the {config.num_layers:,} layers of its header have more"
        )
    names, shapes = _names(version, config), llama_shapes(config)
    shapes[_TABLES] = (2, config.context_length, config.d_head // 2)
    needed = start + 4 * sum(math.prod(shapes[name]) for name in names)
    if len(content) != needed:
        raise CheckpointError(f"{str(path)!r} has {len(content):,} bytes; the model of its header has {needed:,}")
    weights: dict[str, Tensor] = {}
    for name in names:
        end = start + 4 * math.prod(shapes[name])
        values = content[start:end].view("<f4").astype(np.float32)
        weights[name] = torch.from_numpy(values).reshape(shapes[name])
        start = end
    weights.pop(_TABLES, None)
    return config, weights


def _read_header(header: bytes, path: Path) -> tuple[int, ModelConfig, int]:
    """The version, the shape, and where the weights begin."""
    if len(header) < _HEADER_BYTES:
        raise CheckpointError(f"{str(path)!r} is not a model of llama2.c: it has {len(header)} bytes")
    if header[:4] != _MAGIC:
        numbers = struct.unpack_from("<7i", header)
        return 0, _shape([*numbers[:5], abs(numbers[5]), numbers[6]], is_tied=numbers[5] > 0, path=path), 28
    version, *numbers, is_tied = struct.unpack_from("<8i?", header, 4)
    if version != 1:
        raise CheckpointError(f"{str(path)!r} is a llama2.c file of version {version}; versions 0 and 1 are read")
    return 1, _shape(numbers, is_tied=is_tied, path=path), _HEADER_BYTES


def _shape(numbers: Sequence[int], *, is_tied: bool, path: Path) -> ModelConfig:
    d_model, d_ff, num_layers, num_heads, num_kv_heads, vocab_size, context_length = numbers
    if min(numbers) < 1 or max(numbers) > 1 << 24:
        raise CheckpointError(f"{str(path)!r} is not a model of llama2.c: its header says {list(numbers)}")
    return make_config(
        path,
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=d_model,
        num_layers=num_layers,
        num_heads=num_heads,
        num_kv_heads=num_kv_heads,
        d_ff=d_ff,
        rope_theta=_THETA,
        norm_eps=_EPS,
        tie_embeddings=is_tied,
    )


def _names(version: int, config: ModelConfig) -> list[str]:
    """The names of what a file holds, in its order: each matrix of all layers, then the next."""
    names: list[str] = []
    for part in _ORDER[version]:
        if part in _LAYER:
            names += [f"layers.{i}.{part}.weight" for i in range(config.num_layers)]
        elif part == _TABLES:
            names.append(_TABLES)
        elif part != "lm_head" or not config.tie_embeddings:
            names.append(f"{part}.weight")
    return names


def rotation_tables(config: ModelConfig) -> Float[Tensor, "2 context half"]:
    """Cosines and sines of all positions, in float32 throughout, as llama2.c's own training computed them."""
    half = config.d_head // 2
    wavenumbers = 1.0 / (_THETA ** (torch.arange(0, config.d_head, 2)[:half].float() / config.d_head))
    angles = torch.outer(torch.arange(config.context_length), wavenumbers).float()  # (context, half)
    return torch.stack((angles.cos(), angles.sin()))
