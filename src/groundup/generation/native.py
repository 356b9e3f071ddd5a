"""Ids from the native decoder, handed out step by step as engine.py's loop wants them; and who gets one.

A call writes many ids to every row; what a row wrote beyond its end, which only the caller knows, is dropped.
Weights and memory are kernels/decoding.py's.
"""

import logging
from collections.abc import Sequence
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from groundup.errors import CheckpointError, ConfigError
from groundup.generation.rows import LanguageModel
from groundup.generation.sampling import TOP_P_TOLERANCE, SamplingConfig
from groundup.generation.window import window_start
from groundup.kernels.decoding import Choice, Decoder, Texts, WeightType, check_weights, decoder_of, refusal

log = logging.getLogger(__name__)

NOT_FINITE = (
    "the model's logits are not finite: its training diverged or its weights are damaged; use an earlier checkpoint"
)

# Hotter makes no difference to float32 logits, but would make 0 of 1 / temperature.
MOST_TEMPERATURE = 1e30

Kernels = Literal["auto", "reference"]

_told: set[str] = set()  # reasons that were logged


def choose_decoder(model: LanguageModel, kernels: Kernels, weights: WeightType, *, use_cache: bool) -> Decoder | None:
    """The decoder that writes for `model`; None, and one logged line for each reason, where the reference has to.

    Raises ConfigError for values that do not exist, and where weights other than float32 are asked for and no
    native decoder would read them.
    """
    if kernels not in get_args(Kernels):
        raise ConfigError(f"kernels is {kernels!r}; use auto or reference")
    check_weights(weights)
    reason = "kernels is reference" if kernels == "reference" else refusal(model) if use_cache else "there is no cache"
    if reason is None:
        return decoder_of(model, weights)  # pyright: ignore[reportArgumentType] refusal() knows the type
    if weights != "float32":
        raise ConfigError(f"weights is {weights}, which only native code reads, and {reason}; use float32")
    if use_cache and kernels == "auto" and reason not in _told:
        _told.add(reason)
        log.info("generation: reference (%s)", reason)
    return None


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
        self._greedy, self._streams, self._most_steps = config.is_greedy, streams, decoder.passes
        self._texts = Texts(
            decoder,
            prompts,
            starts=[window_start(len(prompt), decoder.config.context_length) for prompt in prompts],
            max_tokens=config.max_tokens,
            end_id=end_id,
            forbidden=forbidden,
            choice=Choice(
                greedy=config.is_greedy,
                temperature=min(float(config.temperature), MOST_TEMPERATURE),
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
        """Have the decoder write to each row, about as much as one call should."""
        self._steps = min(self._most_steps, self._left)
        self._left -= self._steps
        self._taken = 0
        try:
            self._ahead = self._texts.write(self._steps, {name: self._uniform(name) for name in self._names})
        except FloatingPointError:
            raise CheckpointError(NOT_FINITE) from None

    def _uniform(self, name: int) -> Float[Tensor, " steps"]:
        """The numbers that sampling.draw would take from the row's stream, one a step."""
        if self._greedy:
            return torch.zeros(self._steps, dtype=torch.float64)
        return torch.rand(self._steps, generator=self._streams[name], dtype=torch.float64)
