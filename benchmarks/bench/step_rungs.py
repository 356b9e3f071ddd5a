"""The rungs of step_ladder.py: a training step as it is often written, and what is done to it one after the other."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from bench.step_ways import Step
from groundup.config import ModelConfig
from groundup.kernels.registry import choose
from groundup.model import ops
from groundup.model.rope import rotate
from groundup.model.transformer import TransformerLM


@dataclasses.dataclass(frozen=True)
class Rung:
    """A step that differs from the rung before in what `adds` says; `fields` are those of Ops that it takes anew."""

    adds: str
    fields: Mapping[str, Callable[..., Any]] = dataclasses.field(default_factory=dict)
    fast_products: bool = True
    fast_update: bool = False
    as_one_function: bool = False


def attention_as_written(qkv: Tensor, heads: tuple[int, int, int], rotation: tuple[Tensor, Tensor] | None) -> Tensor:
    """Causal attention line by line as the formula has it: a new array of queries x keys for each operation."""
    q, k, v = qkv.transpose(-3, -2).split(heads, dim=-3)
    if rotation is not None:
        q, k = rotate(q, *rotation), rotate(k, *rotation)
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return (ops.softmax(scores.masked_fill(~mask, -math.inf), dim=-1) @ v).transpose(-3, -2)


def rungs() -> dict[str, Rung]:
    """By name, each with all that those before it have."""
    native = choose("cpu", torch.float32)
    taken: dict[str, Callable[..., Any]] = {}
    found = {
        "as often written": Rung(
            "attention by its formula", {"causal_attention": attention_as_written}, fast_products=False
        ),
        "reference": Rung("two arrays of scores instead of six", fast_products=False),
        "oneDNN": Rung("float32 products by another library"),
    }
    for name, adds, fields in (
        ("attention", "no scores in memory, rotation inside", ("causal_attention",)),
        ("norms", "one pass each way", ("rms_norm",)),
        ("SwiGLU", "one pass each way", ("silu", "swiglu")),
        ("loss", "logits of 512 rows at a time", ("cross_entropy", "linear_cross_entropy")),
        ("embedding", "sums by row", ("embedding",)),
    ):
        taken = taken | {field: getattr(native, field) for field in fields}
        found[name] = Rung(adds, taken)
    found["update"] = Rung("AdamW and the norm of all gradients in one pass", taken, fast_update=True)
    found["one function"] = Rung("memory that is kept from step to step", taken, fast_update=True, as_one_function=True)
    return found


def step_on(rung: Rung, shape: ModelConfig, ids: Tensor) -> Step:
    """Updates of a model of this shape as the rung has it; all rungs begin with the same weights."""
    torch.manual_seed(1)
    model = TransformerLM(shape, ops=dataclasses.replace(ops.REFERENCE, **rung.fields))
    return Step(model, ids, fast_update=rung.fast_update, as_one_function=rung.as_one_function)
