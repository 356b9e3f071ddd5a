"""The sizes at which training steps are measured: the base configuration, a toy, and what is varied in a sweep."""

from collections.abc import Mapping
from dataclasses import dataclass

from groundup.config import ModelConfig

D_HEAD = 32  # of the base configuration; the same at every width


@dataclass(frozen=True)
class Size:
    """A shape of the model, as the workers know it, and sequences in a batch."""

    shape: Mapping[str, int]
    batch_size: int


@dataclass(frozen=True)
class Sweep:
    """Sizes by the value of what is varied, in words, and the same of a toy model."""

    meaning: str
    sizes: Mapping[int, Size]
    quick: Mapping[int, Size]


def sized(
    base: Size, *, context_length: int | None = None, batch_size: int | None = None, d_model: int | None = None
) -> Size:
    """The base with some of it changed; the feed-forward part and the heads follow the width."""
    shape = dict(base.shape)
    if d_model is not None:
        num_heads = max(1, d_model // D_HEAD)
        d_ff = ModelConfig(vocab_size=shape["vocab_size"], d_model=d_model, num_heads=num_heads).ffn_width
        shape |= {"d_model": d_model, "num_heads": num_heads, "d_ff": d_ff}
    if context_length is not None:
        shape["context_length"] = context_length
    return Size(shape, batch_size or base.batch_size)


# The base configuration of the specification, 22.7 M parameters.
BASE = Size(
    {
        "vocab_size": 10_000,
        "context_length": 256,
        "d_model": 512,
        "d_ff": 1344,
        "num_layers": 4,
        "num_heads": 16,
    },
    batch_size=8,
)
QUICK = Size(
    {
        "vocab_size": 500,
        "context_length": 32,
        "d_model": 64,
        "d_ff": 192,
        "num_layers": 2,
        "num_heads": 4,
    },
    batch_size=2,
)
SWEEPS = {
    "context": Sweep(
        "length of a sequence, 4,096 tokens a step",
        {length: sized(BASE, context_length=length, batch_size=4_096 // length) for length in (256, 1_024, 4_096)},
        {length: sized(QUICK, context_length=length, batch_size=128 // length) for length in (32, 128)},
    ),
    "batch": Sweep(
        "sequences of 256 tokens a step",
        {batch_size: sized(BASE, batch_size=batch_size) for batch_size in (8, 32)},
        {batch_size: sized(QUICK, batch_size=batch_size) for batch_size in (2, 4)},
    ),
    "width": Sweep(
        "d_model, with heads of 32",
        {d_model: sized(BASE, d_model=d_model) for d_model in (256, 512, 768)},
        {d_model: sized(QUICK, d_model=d_model) for d_model in (32, 64)},
    ),
}
