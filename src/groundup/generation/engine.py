"""The loop that writes: prompts of ids in, one id after another out, until each row ends.

It knows ids only; text, and strings that end it, are text.py's. The model runs in rows.py, the choice of
an id is in sampling.py.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from groundup.errors import CheckpointError, DataError
from groundup.generation.native import NOT_FINITE, Kernels, NativeWriter, choose_decoder
from groundup.generation.rows import LanguageModel, Rows
from groundup.generation.sampling import SamplingConfig, choose, log_probabilities, row_generator
from groundup.kernels.decoding import WeightType

StopReason = Literal["end_of_text", "stop", "length"]


class Token(NamedTuple):
    """One id as it comes.

    `logprob` is what the model gives it, in nats, whatever the sampling options. `stop_reason` is set on
    the last id of a row: "end_of_text" (this id is the end token), "stop" (the caller ended it) or
    "length" (max_tokens).
    """

    row: int
    id: int
    logprob: float
    stop_reason: StopReason | None


@dataclass
class Generated:
    """What was written to one row. The end token is left out; `stop_reason` tells of it."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stop_reason: StopReason = "length"

    def add(self, token: Token) -> None:
        """Append one token of this row."""
        if token.stop_reason != "end_of_text":
            self.ids.append(token.id)
            self.logprobs.append(token.logprob)
        if token.stop_reason is not None:
            self.stop_reason = token.stop_reason


def generate_ids(
    model: LanguageModel,
    prompts: Sequence[Sequence[int]],
    config: SamplingConfig,
    *,
    end_id: int | None = None,
    samples: Sequence[int] | None = None,
    forbidden: Sequence[int] = (),
    ends: Callable[[int, int], bool] | None = None,
    use_cache: bool = True,
    kernels: Kernels = "auto",
    weights: WeightType = "float32",
) -> Iterator[Token]:
    """The ids written after each prompt, as they come: one for each row still going, then the next.

    A row gets what it would get alone: its window, its random stream and its end depend on nothing else.

    Args:
        model, prompts, config: An empty prompt starts from `end_id`. `config.stop` is not looked at.
        end_id: Ends a row when it is drawn; None means that no id does.
        samples: Number of each row's random stream under `config.seed`; None means 0 for all. Rows with
            the same prompt and number get the same text.
        forbidden: Ids never drawn.
        ends: Called with (row, id) for each new id but the end token; True ends the row.
        use_cache: Keep keys and values, or run the model over all ids at each step.
        kernels: "auto" lets native code write where it takes the model and there is a cache; "reference" never
            does. The text is the same unless rounding decides: between two logits a few steps of float32 apart, or
            where a random number falls within 1e-6 of a border.
        weights: As what native code reads the weights: in bf16 or int8 it is faster, and the text another.

    Raises DataError for a prompt that the model cannot read, ConfigError for weights that nobody would read.
    """
    decoder = choose_decoder(model, kernels, weights, use_cache=use_cache)
    vocab_size = model.config.vocab_size
    prompts = [_readable(prompt, end_id, vocab_size) for prompt in prompts]
    streams = [row_generator(config.seed, sample) for sample in samples or [0] * len(prompts)]
    if not prompts or config.max_tokens == 0:
        return iter(())
    if decoder is not None:
        writer = NativeWriter(decoder, prompts, config, streams, end_id=end_id, forbidden=forbidden)
    else:
        rows = Rows(model, prompts, max_tokens=config.max_tokens, use_cache=use_cache)
        banned = torch.zeros(vocab_size, dtype=torch.bool)
        banned[list(forbidden)] = True
        writer = _Writer(rows, config, streams, banned)
    return _decode(writer, len(prompts), config.max_tokens, end_id, ends or (lambda row, id: False))


def complete_ids(
    model: LanguageModel, prompts: Sequence[Sequence[int]], config: SamplingConfig, **options
) -> list[Generated]:
    """All that `generate_ids`, which takes the same arguments, writes to each row."""
    written = [Generated() for _ in prompts]
    for token in generate_ids(model, prompts, config, **options):
        written[token.row].add(token)
    return written


def _decode(
    writer: "_Writer | NativeWriter",
    num_rows: int,
    max_tokens: int,
    end_id: int | None,
    ends: Callable[[int, int], bool],
) -> Iterator[Token]:
    """The loop itself. `names` holds the caller's number of each row that still goes on."""
    names = list(range(num_rows))
    for count in range(1, max_tokens + 1):
        ids, logprobs = writer.step()
        going = []
        for place, (name, id, logprob) in enumerate(zip(names, ids, logprobs, strict=True)):
            reason: StopReason | None = None
            if id == end_id:
                reason = "end_of_text"
            elif ends(name, id):
                reason = "stop"
            elif count == max_tokens:
                reason = "length"
            else:
                going.append(place)
            yield Token(name, id, logprob, reason)
        if not going:
            return
        if len(going) < len(names):
            writer.keep(going)
            names = [names[place] for place in going]


class _Writer:
    """Rows, and what chooses their next ids."""

    def __init__(self, rows: Rows, config: SamplingConfig, streams: Sequence[torch.Generator], banned: Tensor) -> None:
        self._rows, self._config, self._streams, self._banned = rows, config, streams, banned
        self._newest: list[int] | None = None

    def step(self) -> tuple[list[int], list[float]]:
        """The next id of each row, and the log-probability that the model gives it."""
        logits = self._rows.start() if self._newest is None else self._rows.extend(self._newest)
        windows = [self._rows.window(row) for row in range(len(self._rows.ids))]
        self._newest, logprobs = _choose(logits, windows, self._config, self._streams, self._banned)
        return self._newest, logprobs

    def keep(self, places: Sequence[int]) -> None:
        """Go on with the rows at `places` only, counted anew from 0."""
        assert self._newest is not None
        self._rows.keep(places)
        self._streams = [self._streams[place] for place in places]
        self._newest = [self._newest[place] for place in places]


@torch.inference_mode()
def _choose(
    logits: Float[Tensor, "rows vocab"],
    windows: Sequence[Sequence[int]],
    config: SamplingConfig,
    streams: Sequence[torch.Generator],
    banned: Tensor,
) -> tuple[list[int], list[float]]:
    """The next id of each row, and the log-probability that the model gives it."""
    # mps has no float64, which the sums over the vocabulary need.
    logits = logits.to("cpu" if logits.device.type == "mps" else logits.device, torch.float64)
    if not (logits < torch.inf).all():
        raise CheckpointError(NOT_FINITE)
    allowed = logits.masked_fill(banned.to(logits.device), -torch.inf)
    ids = choose(allowed, config, streams, windows)
    return ids.tolist(), log_probabilities(logits, ids).tolist()


def _readable(prompt: Sequence[int], end_id: int | None, vocab_size: int) -> list[int]:
    """The prompt as the model gets it."""
    ids = list(prompt)
    if not ids:
        if end_id is None:
            raise DataError("the prompt is empty and the tokenizer has no <|endoftext|> to start from; give a prompt")
        ids = [end_id]
    unknown = [id for id in ids if not 0 <= id < vocab_size]
    if unknown:
        raise DataError(
            f"the prompt holds id {unknown[0]} and the model knows ids from 0 to {vocab_size - 1}; "
            "use the tokenizer that the model was trained with"
        )
    return ids
