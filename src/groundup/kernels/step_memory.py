"""What a training step writes to between the ids and the gradients, made once and used by every step.

Fresh memory costs a visit to the kernel for every page of 4 KB when it is first written, and a step under autograd asks
for its arrays anew each time. Who fills these: standard_model.py. Weights and gradients: step_parameters.py.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from groundup.config import ModelConfig
from groundup.model.accounting import num_parameters

FLOAT32 = torch.float32
HEAD_ROWS = 2048  # so many rows of logits exist at a time: a product of them loses nothing against one of all rows


@dataclass(frozen=True)
class Arrays:
    """`count` arrays of `width` values in `dtype` for each token of a batch."""

    count: int
    width: int
    dtype: torch.dtype

    @property
    def bytes_per_token(self) -> int:
        return self.count * self.width * self.dtype.itemsize


def arrays_of(config: ModelConfig, dtype: torch.dtype, *, checkpointed: bool) -> dict[str, Arrays]:
    """What is held for each token, by name as in Activations, with products in `dtype`.

    What backward needs of each layer is what a product or attention gave, and the stream between them. Norms and
    SwiGLU are computed again there: 2 d_model + d_ff values less for each layer, and about 1 % of the time. With
    `checkpointed` only the streams between layers are held, and all else of one layer at a time.
    """
    d_model, d_ff, layers = config.d_model, config.ffn_width, config.num_layers
    qkv_width = (config.num_heads + 2 * config.kv_heads) * config.d_head
    held = 1 if checkpointed else layers
    scratch = max(d_ff + max(d_ff, d_model), d_model + qkv_width)
    return {
        "stream": Arrays(layers + 1 + held, d_model, FLOAT32),
        "inverse_rms": Arrays(1, 1, FLOAT32),
        "qkv": Arrays(held, qkv_width, dtype),
        "gathered": Arrays(held, d_model, dtype),
        "log2_sum": Arrays(held, config.num_heads, FLOAT32),
        "gate_and_up": Arrays(held, 2 * d_ff, dtype),
        "normed": Arrays(1, d_model, dtype),
        "scratch": Arrays(1, scratch, dtype),
        "losses": Arrays(2, 1, FLOAT32),
        "change_gradient": Arrays(0 if dtype == FLOAT32 else 1, d_model, dtype),
    }


def step_bytes(config: ModelConfig, *, rows: int, dtype: torch.dtype, checkpointed: bool) -> int:
    """Bytes that a step over `rows` tokens holds besides parameters, gradients and the optimizer's state.

    Activations, logits, the second gradient of the head, and copies of weights: in float32 of W1 and W3, in bf16 of all
    matrices but the embedding, with one rounded gradient.
    """
    parts = arrays_of(config, dtype, checkpointed=checkpointed).values()
    activations = rows * sum(part.bytes_per_token for part in parts)
    head = config.vocab_size * config.d_model
    logits = min(rows, HEAD_ROWS) * config.vocab_size * dtype.itemsize
    if dtype == FLOAT32:
        copies = 4 * config.num_layers * 2 * config.d_model * config.ffn_width
    else:
        parameters = num_parameters(config)
        largest = max(config.vocab_size, 2 * config.ffn_width, (config.num_heads + 2 * config.kv_heads) * config.d_head)
        copies = 2 * (parameters.attention + parameters.feed_forward + head + largest * config.d_model)
    return activations + logits + 4 * head + copies


@dataclass(frozen=True)
class Activations:
    """Rows are the tokens of a batch, one sequence behind the other.

    `stream` has two entries for each layer and one for the end of the model, the next four lists one for each layer.
    What is not said to be float32 is in the type of the products. Those marked * lie in the same memory, for they
    are never needed at the same time, but `gated` beside `change` or its gradient, and those of qkv and gathered.
    """

    stream: list[Tensor]  # (rows, d_model), float32: what the norms take
    qkv: list[Tensor]  # (rows, (heads + 2 kv_heads) d_head)
    gathered: list[Tensor]  # (rows, d_model)
    log2_sum: list[Tensor]  # (rows, heads), float32
    gate_and_up: list[Tensor]  # (rows, 2 d_ff), and in backward their gradient
    inverse_rms: Tensor  # (rows,), float32: of the norm last computed, whose result is
    normed: Tensor  # (rows, d_model)
    change: Tensor  # * (rows, d_model): what a half of a layer adds to the stream
    gated: Tensor  # * (rows, d_ff)
    logits: Tensor  # (at most HEAD_ROWS, vocab), and then their gradient
    losses: Tensor  # (rows,), float32
    log_sums: Tensor  # (rows,), float32
    # Gradients, of one layer after the other.
    stream_gradient: Tensor  # (rows, d_model), float32, in the place of the end of the stream
    change_gradient: Tensor  # the same in the type of the products: stream_gradient itself if that is float32
    normed_gradient: Tensor  # * (rows, d_model)
    gathered_gradient: Tensor  # * (rows, d_model)
    qkv_gradient: Tensor  # * as qkv
    gated_gradient: Tensor  # * (rows, d_ff)


class StepMemory:
    """Room for the activations of the largest batch so far, with products in `dtype`."""

    def __init__(self, config: ModelConfig, dtype: torch.dtype, *, checkpointed: bool) -> None:
        self.config, self.dtype, self.checkpointed = config, dtype, checkpointed
        self._arrays: dict[str, list[Tensor]] = {}
        self._logits = torch.empty(0, dtype=dtype)
        self._rows = 0
        self._latest: Activations | None = None

    def of(self, rows: int) -> Activations:
        """The arrays for `rows` tokens. What they hold is not set, or is of the call before with as many."""
        if rows > self._rows:
            self._latest = None
            self._arrays.clear()  # given back before there are two
            self._logits = torch.empty(0, dtype=self.dtype)
            parts = arrays_of(self.config, self.dtype, checkpointed=self.checkpointed)
            for name, part in parts.items():
                self._arrays[name] = [torch.empty(rows * part.width, dtype=part.dtype) for _ in range(part.count)]
            self._logits = torch.empty(min(rows, HEAD_ROWS), self.config.vocab_size, dtype=self.dtype)
            self._rows = rows
        if self._latest is None or len(self._latest.losses) != rows:
            self._latest = self._activations(rows)
        return self._latest

    def _activations(self, rows: int) -> Activations:
        layers, d_model, d_ff = self.config.num_layers, self.config.d_model, self.config.ffn_width

        def all_of(name: str) -> list[Tensor]:
            return [array[: rows * (len(array) // self._rows)].view(rows, -1) for array in self._arrays[name]]

        def of_layers(name: str) -> list[Tensor]:
            found = all_of(name)
            return found * layers if self.checkpointed else found

        (scratch,) = self._arrays["scratch"]

        def cut(first: int, width: int) -> Tensor:
            return scratch[rows * first : rows * (first + width)].view(rows, width)

        streams = all_of("stream")
        between, inside = streams[: layers + 1], streams[layers + 1 :] * (layers if self.checkpointed else 1)
        (inverse_rms,), (normed,), (losses, log_sums) = all_of("inverse_rms"), all_of("normed"), all_of("losses")
        qkv = of_layers("qkv")
        return Activations(
            stream=[stream for pair in zip(between, inside, strict=False) for stream in pair] + between[-1:],
            qkv=qkv,
            gathered=of_layers("gathered"),
            log2_sum=of_layers("log2_sum"),
            gate_and_up=of_layers("gate_and_up"),
            inverse_rms=inverse_rms.view(-1),
            normed=normed,
            gated=cut(0, d_ff),
            change=cut(d_ff, d_model),
            logits=self._logits,
            losses=losses.view(-1),
            log_sums=log_sums.view(-1),
            stream_gradient=between[-1],
            change_gradient=next(iter(all_of("change_gradient")), between[-1]),
            normed_gradient=cut(0, d_model),
            gathered_gradient=cut(0, d_model),
            qkv_gradient=cut(d_model, qkv[0].shape[1]),
            gated_gradient=cut(d_ff, d_ff),
        )
