"""Writing text with a model of the standard shape through native/kernels/decode.cpp: many ids in one call.

The weights are packed once, in float32, in bf16 or in int8 with a scale for each output; all else is float32.
Oracle: generation/engine.py, whose greedy text float32 weights give again. Here are weights and memory;
generation/native.py says how a text is written with them.
"""

import dataclasses
import math
import weakref
from collections.abc import Sequence
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from groundup import _native
from groundup.kernels.arrays import address
from groundup.model import ops
from groundup.model.layers import SwiGLU
from groundup.model.transformer import Block, TransformerLM

WeightType = Literal["float32", "bf16", "int8"]

# Outputs that lie side by side in a packed matrix: native/kernels/decode.hpp.
PANEL = 32

_DTYPES = {"float32": torch.float32, "bf16": torch.bfloat16, "int8": torch.int8}


def refusal(model: object) -> str | None:
    """Why the native decoder does not take `model`, or None."""
    if type(model) is not TransformerLM:
        return f"the model is a {type(model).__name__}"
    config = model.config
    for name, value in (("norm", "pre"), ("positions", "rope"), ("ffn", "swiglu"), ("qk_norm", False)):
        if getattr(config, name) != value:
            return f"{name} is {getattr(config, name)}"
    if any(weight.device.type != "cpu" or weight.dtype != torch.float32 for weight in model.parameters()):
        return "its weights are not float32 on the CPU"
    return None if model.ops.linear is ops.linear else "its products are not float32"


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

    Raises ValueError for a model that `refusal` speaks of.
    """

    def __init__(self, model: TransformerLM, weights: WeightType = "float32") -> None:
        if (reason := refusal(model)) is not None:
            raise ValueError(f"the native decoder does not take this model: {reason}")
        config = model.config
        self.weights: WeightType = weights
        self.config = config
        self._kept: list[Tensor] = []
        layers = []
        for block in model.layers:
            assert isinstance(block, Block) and isinstance(block.ffn, SwiGLU)
            layers.append(
                (
                    self._place(block.ln1.weight),
                    self._pack(block.attn.qkv_weight),
                    self._pack(block.attn.output_proj.weight),
                    self._place(block.ln2.weight),
                    self._pack(block.ffn.w1.weight, block.ffn.w3.weight),
                    self._pack(block.ffn.w2.weight),
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
    """(panels, inputs, PANEL) of the transpose, its end filled up with zeros; and scales for int8.

    An int8 weight is the value over its output's scale, the largest of its size over 127: off by half a
    scale at most.
    """
    outputs, inputs = matrix.shape
    num_panels = math.ceil(outputs / PANEL)
    padded = torch.nn.functional.pad(matrix, (0, 0, 0, num_panels * PANEL - outputs))
    scales = None
    if weights == "int8":
        largest = padded.abs().amax(dim=1)
        scales = torch.where(largest > 0, largest / 127, 1.0)
        padded = (padded / scales[:, None]).round()
        scales = scales.view(num_panels, PANEL)
    panels = padded.to(_DTYPES[weights]).view(num_panels, PANEL, inputs)
    return panels.transpose(1, 2).contiguous(), scales


@dataclasses.dataclass
class _Row:
    """One text: the ids known so far are ids[:num_ids]; `start` and `cached` are the decoder's own counts."""

    ids: Tensor
    num_ids: int
    start: int
    cached: int = 0


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
        self._decoder, self._choice, config = decoder, choice, decoder.config
        self._end_id = -1 if end_id is None else end_id
        self._forbidden = torch.tensor(list(forbidden), dtype=torch.int64)
        self._rows = []
        for prompt, start in zip(prompts, starts, strict=True):
            ids = torch.zeros(len(prompt) + max_tokens, dtype=torch.int64)
            ids[: len(prompt)] = torch.tensor(prompt)
            self._rows.append(_Row(ids, len(prompt), start))
        self._max_length = min(max(len(row.ids) for row in self._rows), config.context_length)
        size = _native.decoder_cache_size(
            num_layers=config.num_layers,
            kv_heads=config.kv_heads,
            d_head=config.d_head,
            max_length=self._max_length,
        )
        # Zeros: what lies beyond a text is multiplied too, by 0 where it counts, and 0 times NaN is NaN.
        self._cache = torch.zeros(len(prompts) * size)

    def write(
        self, steps: int, uniform: dict[int, Float[Tensor, " steps"]]
    ) -> dict[int, tuple[list[int], list[float]]]:
        """Write up to `steps` ids to each text named in `uniform`; returns them and their log-probabilities.

        `uniform` are the random numbers that choose; where the choice is greedy they are not looked at.
        Raises FloatingPointError if logits are not finite.
        """
        logprobs = {name: torch.zeros(steps, dtype=torch.float64) for name in uniform}
        rows = []
        for name, row in enumerate(self._rows):
            writes = name in uniform
            rows.append(
                (
                    address(row.ids, row.ids.shape, torch.int64),
                    address(uniform[name], (steps,), torch.float64) if writes and not self._choice.greedy else 0,
                    address(logprobs[name], (steps,), torch.float64) if writes else 0,
                    row.num_ids,
                    row.start,
                    row.cached,
                    min(steps, len(row.ids) - row.num_ids) if writes else 0,
                )
            )
        after, finite = self._decoder.native.decode(
            rows,
            address(self._cache, self._cache.shape, torch.float32),
            max_length=self._max_length,
            end_id=self._end_id,
            forbidden=address(self._forbidden, self._forbidden.shape, torch.int64),
            num_forbidden=len(self._forbidden),
            **dataclasses.asdict(self._choice),
            num_threads=torch.get_num_threads(),
        )
        if not finite:
            raise FloatingPointError("the logits are not finite")
        written = {}
        for name, (row, (num_ids, start, cached)) in enumerate(zip(self._rows, after, strict=True)):
            if name in uniform:
                ids = row.ids[row.num_ids : num_ids].tolist()
                written[name] = (ids, logprobs[name][: len(ids)].tolist())
            row.num_ids, row.start, row.cached = num_ids, start, cached
        return written


_decoders: weakref.WeakKeyDictionary[TransformerLM, tuple[object, Decoder]] = weakref.WeakKeyDictionary()


def decoder_of(model: TransformerLM, weights: WeightType = "float32") -> Decoder:
    """The decoder of `model`, the same as last time unless its weights have changed since.

    One is kept for each model that is alive: packing costs as much as some ten ids.
    """
    state = (weights, [(weight.data_ptr(), weight._version) for weight in model.parameters()])
    known = _decoders.get(model)
    if known is None or known[0] != state:
        known = _decoders[model] = (state, Decoder(model, weights))
    return known[1]
