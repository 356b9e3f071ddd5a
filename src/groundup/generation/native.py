"""Ids from the native decoder, handed out step by step as engine.py's loop wants them.

A call writes many ids to every row; what a row wrote beyond its end, which only the caller knows, is dropped.
The weights are kernels/decoding.py's.
"""

import logging
from collections.abc import Sequence

import torch
from torch import Tensor

from groundup.errors import CheckpointError
from groundup.generation.rows import LanguageModel
from groundup.generation.sampling import TOP_P_TOLERANCE, SamplingConfig
from groundup.generation.window import window_start
from groundup.kernels.decoding import Choice, Decoder, Texts, WeightType, decoder_of, refusal

log = logging.getLogger(__name__)

NOT_FINITE = (
    "the model's logits are not finite: its training diverged or its weights are damaged; use an earlier checkpoint"
)

# Ids of the first call, and of a later one at most: the first come soon, a row that ends wastes less than it
# wrote, and a call's own cost, some ten microseconds, is spread.
FIRST_STEPS, MOST_STEPS = 4, 32


def native_decoder(model: LanguageModel, weights: WeightType) -> Decoder | None:
    """The native decoder of `model`; None, and one logged line, where it has none."""
    if (reason := refusal(model)) is not None:
        log.info("generation: reference (%s)", reason)
        return None
    return decoder_of(model, weights)  # pyright: ignore[reportArgumentType] refusal() knows the type


class NativeWriter:
    """As engine._Writer, many ids ahead of its caller."""

    def __init__(
        self,
        decoder: Decoder,
        prompts: Sequence[Sequence[int]],
        config: SamplingConfig,
        streams: Sequence[torch.Generator],
        *,
        end_id: int | None,
        forbidden: Sequence[int],
    ) -> None:
        self._greedy, self._streams = config.is_greedy, streams
        self._texts = Texts(
            decoder,
            prompts,
            starts=[window_start(len(prompt), decoder.config.context_length) for prompt in prompts],
            max_tokens=config.max_tokens,
            end_id=end_id,
            forbidden=forbidden,
            choice=Choice(
                greedy=config.is_greedy,
                temperature=float(config.temperature),
                top_k=config.top_k,
                top_p=float(config.top_p),
                top_p_tolerance=TOP_P_TOLERANCE,
                repetition_penalty=float(config.repetition_penalty),
            ),
        )
        self._names = list(range(len(prompts)))
        self._ahead: dict[int, tuple[list[int], list[float]]] = {}
        self._taken = self._steps = 0  # of the ids ahead
        self._left = config.max_tokens

    def step(self) -> tuple[list[int], list[float]]:
        """The next id of each row, and the log-probability that the model gives it."""
        if self._taken == self._steps:
            self._write()
        place, self._taken = self._taken, self._taken + 1
        ahead = [self._ahead[name] for name in self._names]
        return [ids[place] for ids, _ in ahead], [logprobs[place] for _, logprobs in ahead]

    def keep(self, places: Sequence[int]) -> None:
        """Go on with the rows at `places` only, counted anew from 0."""
        self._names = [self._names[place] for place in places]

    def _write(self) -> None:
        """Have the decoder write to each row, twice as much as the last time."""
        self._steps = min(max(FIRST_STEPS, 2 * self._steps), MOST_STEPS, self._left)
        self._left -= self._steps
        self._taken = 0
        try:
            self._ahead = self._texts.write(self._steps, {name: self._uniform(name) for name in self._names})
        except FloatingPointError:
            raise CheckpointError(NOT_FINITE) from None

    def _uniform(self, name: int) -> Tensor:
        """The numbers that sampling.draw would take from the row's stream, one a step."""
        if self._greedy:
            return torch.empty(0, dtype=torch.float64)
        stream = self._streams[name]
        return torch.cat([torch.rand(1, generator=stream, dtype=torch.float64) for _ in range(self._steps)])
