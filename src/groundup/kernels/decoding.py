"""Writing text with a model of the standard shape through native/kernels/decode.cpp: many ids in one call.

The weights are packed once, in float32, in bf16 or in int8 with a scale for each output; all else is float32.
Oracle: generation/engine.py, whose greedy text float32 weights give again, to rounding. Here are weights and memory;
generation/native.py says how a text is written with them.
"""

import dataclasses
import math
import weakref
from collections.abc import Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor

from groundup import _native
from groundup.errors import ConfigError
from groundup.kernels.arrays import address
from groundup.kernels.standard import SIZES, halves_of, has_forward_hooks, why_not_its_own
from groundup.model import ops
from groundup.model.transformer import TransformerLM

WeightType = Literal["float32", "bf16", "int8"]
WEIGHT_TYPES: tuple[WeightType, ...] = get_args(WeightType)

# Outputs that lie side by side in a packed matrix: native/kernels/decode.hpp.
PANEL = 32

_DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16, "int8": torch.int8}

# Weights that one native call reads, about: some hundredths of a second. Between calls Python looks for Ctrl-C, and
# text is shown.
_CALL_BYTES, _MOST_PASSES = 2**28, 32

# What makes no difference to the decoder; dropout does nothing in writing.
_FREE = SIZES | {"dropout"}


def refusal(model: object) -> str | None:
    """Why the native decoder does not take `model`, or None."""
    if why_not := why_not_its_own(model, _FREE):
        return why_not
    assert isinstance(model, TransformerLM)
    if has_forward_hooks(model):
        return "the model has hooks, which native code would not call"
    if any(tensor.is_inference() for tensor in _tensors_of(model)):
        return "its weights were made in inference mode, where changes are not counted"
    return None if model.ops.linear is ops.linear else "its products are not float32"


def _tensors_of(model: TransformerLM) -> list[Tensor]:
    """What the decoder reads."""
    return [*model.parameters(), *model.buffers()]


def check_weights(weights: str) -> None:
    """Raises ConfigError for what is no WeightType."""
    if weights not in WEIGHT_TYPES:
        raise ConfigError(f"weights is {weights!r}; use {', '.join(WEIGHT_TYPES[:-1])} or {WEIGHT_TYPES[-1]}")


@dataclasses.dataclass(frozen=True)
class Choice:
    """How an id is chosen; the fields are those of generation.sampling.SamplingConfig, each with its `off`."""

    greedy: bool
    temperature: float
    top_k: int
    top_p: float
    top_p_tolerance: float
    repetition_penalty: float


class Decoder:
    """The weights of a model as the native decoder reads them; embedding and norms stay the model's own.

    Attributes:
        passes: Over the weights, that one native call should make at most.

    Raises ConfigError for a model that `refusal` speaks of, and for weights that do not exist.
    """

    def __init__(self, model: TransformerLM, weights: WeightType = "float32") -> None:
        check_weights(weights)
        if (reason := refusal(model)) is not None:
            raise ConfigError(f"the native decoder, which reads {weights} weights, does not take this model: {reason}")
        config = model.config
        self.weights: WeightType = weights
        self.config = config
        self._kept: list[Tensor] = []
        layers = []
        for block, ffn in halves_of(model):
            layers.append(
                (
                    self._place(block.ln1.weight),
                    self._pack(block.attn.qkv_weight),
                    self._pack(block.attn.output_proj.weight),
                    self._place(block.ln2.weight),
                    self._pack(ffn.w1.weight, ffn.w3.weight),
                    self._pack(ffn.w2.weight),
                )
            )
        assert model.ln_final is not None and model.rope is not None
        self.native = _native.Decoder(
            layers,
            self._place(model.token_embeddings.weight),
            self._place(model.ln_final.weight),
            self._pack(model.lm_head.weight),
            self._place(model.rope.cos),
            self._place(model.rope.sin),
            weights=weights,
            d_model=config.d_model,
            heads=config.num_heads,
            kv_heads=config.kv_heads,
            d_ff=config.ffn_width,
            vocab_size=config.vocab_size,
            context_length=config.context_length,
            norm_eps=config.norm_eps,
        )
        num_bytes = sum(kept.numel() * kept.element_size() for kept in self._kept)
        self.passes = min(max(_CALL_BYTES // num_bytes, 1), _MOST_PASSES)

    def logits(self, ids: Int[Tensor, "... seq"]) -> Float[Tensor, "... seq vocab"]:
        """As model(ids), with the decoder's weights: what rounding them costs can be measured.

        Ids as the model takes them: within the vocabulary, and no more than the context holds.
        """
        length, rows = ids.shape[-1], ids.reshape(-1, ids.shape[-1]).contiguous()
        logits = torch.empty(*rows.shape, self.config.vocab_size)
        cache = self.new_cache(1, length)
        for row, out in zip(rows, logits, strict=True):
            self.native.logits(
                address(row, (length,), torch.int64),
                address(cache, cache.shape, torch.float32),
                address(out, out.shape, torch.float32),
                length=length,
                num_threads=torch.get_num_threads(),
            )
        return logits.view(*ids.shape, -1)

    def new_cache(self, num_rows: int, max_length: int) -> Float[Tensor, " values"]:
        """Room for the keys and values of rows of up to `max_length` positions."""
        config = self.config
        size = _native.decoder_cache_size(
            num_layers=config.num_layers, kv_heads=config.kv_heads, d_head=config.d_head, max_length=max_length
        )
        # Zeros: panels are multiplied as a whole, and what nobody wrote may be slow (subnormal) or odd (NaN).
        return torch.zeros(num_rows * size)

    def _pack(self, *matrices: Tensor) -> tuple[int, int]:
        """Addresses of the packed values and of their scales, 0 if they have none; several: panels in turn."""
        values, scales = zip(*(pack(matrix.detach(), self.weights) for matrix in matrices), strict=True)
        together = torch.stack(values, dim=1)  # (panels, matrices, inputs, PANEL)
        # Of int8 only; (panels, matrices, PANEL).
        scale_address = 0 if scales[0] is None else self._place(torch.stack(scales, dim=1))
        return self._place(together), scale_address

    def _place(self, tensor: Tensor) -> int:
        """Where the values lie, which are kept as long as this decoder is."""
        tensor = tensor.detach().contiguous()
        self._kept.append(tensor)
        return address(tensor, tensor.shape, *_DTYPES.values())


def pack(
    matrix: Float[Tensor, "outputs inputs"], weights: WeightType
) -> tuple[Tensor, Float[Tensor, "panels panel"] | None]:
    """(panels, inputs, PANEL) of the transpose, its end filled up with zeros; int8: (panels, pairs, PANEL, 2), scales.

    An int8 weight is the value over its output's scale, the largest of its size over 127: off by half a
    scale at most.
    """
    outputs, inputs = matrix.shape
    num_panels = math.ceil(outputs / PANEL)
    together = 2 if weights == "int8" else 1
    padded = matrix.new_zeros(num_panels * PANEL, math.ceil(inputs / together) * together)
    padded[:outputs, :inputs] = matrix
    scales = None
    if weights == "int8":
        largest = padded.abs().amax(dim=1)
        scales = torch.where(largest == 0, 1.0, largest / 127)  # NaN where a weight is: the logits will tell
        padded = (padded / scales[:, None]).round()
        scales = scales.view(num_panels, PANEL)
    panels = padded.to(_DTYPES[weights]).view(num_panels, PANEL, -1, together).transpose(1, 2)
    return (panels if weights == "int8" else panels.squeeze(-1)).contiguous(), scales


@dataclasses.dataclass
class _Row:
    """One text: the ids known so far are ids[:num_ids]; the other counts are those of decode.hpp, DecodedRow."""

    ids: Tensor
    num_ids: int
    start: int
    cached: int = 0
    steps: int = 0


class Texts:
    """Texts that are written side by side, with their keys and values.

    Args:
        decoder: The weights.
        prompts: At least one id each.
        starts: Where each prompt's window begins.
        max_tokens: Ids that will be added to each at most.
        end_id: After it nothing more is written to a text.
        forbidden: Ids never written.
        choice: How ids are chosen.
    """

    def __init__(
        self,
        decoder: Decoder,
        prompts: Sequence[Sequence[int]],
        *,
        starts: Sequence[int],
        max_tokens: int,
        end_id: int | None,
        forbidden: Sequence[int],
        choice: Choice,
    ) -> None:
        self._decoder, self._choice = decoder, choice
        self._end_id = -1 if end_id is None else end_id
        self._forbidden = torch.tensor(list(forbidden), dtype=torch.int64)
        self._rows = [
            _Row(torch.tensor(prompt, dtype=torch.int64), len(prompt), start)
            for prompt, start in zip(prompts, starts, strict=True)
        ]
        self._max_length = min(max(map(len, prompts)) + max_tokens, decoder.config.context_length)
        self._cache = decoder.new_cache(len(self._rows), self._max_length)

    def write(
        self, steps: int, uniform: dict[int, Float[Tensor, " steps"]]
    ) -> dict[int, tuple[list[int], list[float]]]:
        """Write up to `steps` ids to each text named in `uniform`; returns them and their log-probabilities.

        `uniform` are the random numbers that choose; where the choice is greedy they are not looked at.
        Raises FloatingPointError if logits are not finite.
        """
        begins = [row.num_ids for row in self._rows]
        logprobs = {name: torch.zeros(steps, dtype=torch.float64) for name in uniform}
        for name in uniform:
            row = self._rows[name]
            # Room for this call only: nobody knows where a text of up to `max_tokens` will end.
            row.ids = torch.cat([row.ids[: row.num_ids], row.ids.new_zeros(steps)])
            row.steps = steps
        while any(row.steps for row in self._rows):
            rows = []
            for name, (row, begin) in enumerate(zip(self._rows, begins, strict=True)):
                places = slice(row.num_ids - begin, row.num_ids - begin + row.steps)
                rows.append(
                    (
                        address(row.ids, row.ids.shape, torch.int64),
                        _address_of(uniform[name][places]) if row.steps and not self._choice.greedy else 0,
                        _address_of(logprobs[name][places]) if row.steps else 0,
                        row.num_ids,
                        row.start,
                        row.cached,
                        row.steps,
                    )
                )
            self._advance(rows)
        return {
            name: (row.ids[begin : row.num_ids].tolist(), logprobs[name][: row.num_ids - begin].tolist())
            for name, (row, begin) in enumerate(zip(self._rows, begins, strict=True))
            if name in uniform
        }

    def _advance(self, rows: list[tuple[int, int, int, int, int, int, int]]) -> None:
        """One native call."""
        after, finite = self._decoder.native.decode(
            rows,
            address(self._cache, self._cache.shape, torch.float32),
            max_length=self._max_length,
            max_passes=self._decoder.passes,
            end_id=self._end_id,
            forbidden=address(self._forbidden, self._forbidden.shape, torch.int64),
            num_forbidden=len(self._forbidden),
            **dataclasses.asdict(self._choice),
            num_threads=torch.get_num_threads(),
        )
        if not finite:
            raise FloatingPointError("the logits are not finite")
        for row, counts in zip(self._rows, after, strict=True):
            row.num_ids, row.start, row.cached, row.steps = counts


def _address_of(numbers: Float[Tensor, " count"]) -> int:
    return address(numbers, numbers.shape, torch.float64)


_decoders: weakref.WeakKeyDictionary[TransformerLM, tuple[object, Decoder]] = weakref.WeakKeyDictionary()


def decoder_of(model: TransformerLM, weights: WeightType = "float32") -> Decoder:
    """The decoder of `model`, the same as last time unless its weights have changed since, as far as torch counts.

    One is kept for each model that is alive: packing costs as much as some ten ids.
    """
    state = (weights, [(tensor.data_ptr(), tensor._version) for tensor in _tensors_of(model)])
    known = _decoders.get(model)
    if known is None or known[0] != state:
        known = _decoders[model] = (state, Decoder(model, weights))
    return known[1]
