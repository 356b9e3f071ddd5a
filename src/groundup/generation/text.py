"""Prompts in, text out: `generate` for whole completions, `stream_text` for text as it is written.

Both give the same text for the same options. The ids come from engine.py; here they become text, half
characters wait for their other half, and stop strings (stops.py) end it.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from groundup.errors import ConfigError
from groundup.generation.engine import Generated, StopReason, generate_ids
from groundup.generation.native import Kernels
from groundup.generation.rows import LanguageModel
from groundup.generation.sampling import SamplingConfig
from groundup.generation.stops import StopScanner
from groundup.kernels.decoding import WeightType
from groundup.tokenizer.bpe import Tokenizer

Special = Literal["token", "text", "error"]


@runtime_checkable
class Run(Protocol):
    """A model with its tokenizer: what `load_run` returns, or anything with these two."""

    @property
    def model(self) -> LanguageModel: ...
    @property
    def tokenizer(self) -> Tokenizer: ...


@dataclass(frozen=True)
class Completion:
    """What was written after a prompt.

    Attributes:
        prompt: As given.
        text: What follows it, up to the end token or a stop string, neither of them in it.
        ids: The ids drawn, without the end token. Those that spell a stop string are among them, so
            that then the text of `ids` is longer than `text`.
        logprobs: Log-probability of each id under the model itself, in nats.
        stop_reason: "end_of_text", "stop" (a stop string) or "length" (max_tokens).
    """

    prompt: str
    text: str
    ids: list[int]
    logprobs: list[float]
    stop_reason: StopReason


def generate(
    run: Run,
    prompts: str | Sequence[str],
    *,
    config: SamplingConfig | None = None,
    num_samples: int = 1,
    batch_size: int = 32,
    special: Special = "text",
    use_cache: bool = True,
    kernels: Kernels = "auto",
    weights: WeightType = "float32",
    **fields: Any,
) -> list[Completion]:
    """`num_samples` completions of each prompt, those of the first prompt first.

    >>> generate(run, ["Once upon a time", ""], max_tokens=64, temperature=0.8)  # doctest: +SKIP

    Args:
        run, prompts: An empty prompt starts a text from nothing.
        config: The sampling options; `fields` (max_tokens, temperature, ... of SamplingConfig) replace
            some of them. `stop` may also be one string or a list.
        num_samples: Each sample of a prompt has a random stream of its own, the same in every call with
            the same seed, whatever other prompts there are.
        batch_size: Rows written side by side; changes speed and memory only.
        special: The spelling of a special token in a prompt is that token ("token"), an error
            ("error"), or plain text: the default, since a prompt can come from anyone.
        use_cache: False computes everything anew for each id: slow, for comparison.
        kernels, weights: Who computes, and how it reads the weights: see engine.generate_ids.

    Raises ConfigError for options that cannot work, DataError for a prompt the model cannot read.
    """
    config = _with_fields(config, fields)
    for name, value in (("num_samples", num_samples), ("batch_size", batch_size)):
        if value < 1:
            raise ConfigError(f"{name} is {value}; it must be at least 1")
    prompts = [prompts] if isinstance(prompts, str) else list(prompts)
    rows = [(prompt, sample) for prompt in prompts for sample in range(num_samples)]
    options = {"use_cache": use_cache, "kernels": kernels, "weights": weights}
    completions = []
    for start in range(0, len(rows), batch_size):
        completions += _complete(run, rows[start : start + batch_size], config, special, options)
    return completions


def stream_text(
    run: Run,
    prompt: str,
    *,
    config: SamplingConfig | None = None,
    sample: int = 0,
    special: Special = "text",
    use_cache: bool = True,
    kernels: Kernels = "auto",
    weights: WeightType = "float32",
    **fields: Any,
) -> Iterator[str]:
    """The text of `generate(...)[sample]`, in pieces as it is written; arguments as there.

    No piece ends inside a character, and what could begin a stop string waits until it is clear.
    """
    config = _with_fields(config, fields)
    ids = run.tokenizer.encode(prompt, special=special)
    text = _Text(run.tokenizer, config.stop)
    tokens = generate_ids(
        run.model,
        [ids],
        config,
        end_id=run.tokenizer.end_of_text_id,
        samples=[sample],
        forbidden=_unreadable(run),
        ends=lambda row, id: text.push(id),
        use_cache=use_cache,
        kernels=kernels,
        weights=weights,
    )
    return _pieces(tokens, text)


def _pieces(tokens: Iterator[Any], text: "_Text") -> Iterator[str]:
    for _ in tokens:
        if piece := text.take():
            yield piece
    text.finish()
    if piece := text.take():
        yield piece


def _complete(
    run: Run, rows: Sequence[tuple[str, int]], config: SamplingConfig, special: Special, options: dict[str, Any]
) -> list[Completion]:
    """One completion for each (prompt, number of the sample), written side by side."""
    texts = [_Text(run.tokenizer, config.stop) for _ in rows]
    written = [Generated() for _ in rows]
    tokens = generate_ids(
        run.model,
        [run.tokenizer.encode(prompt, special=special) for prompt, _ in rows],
        config,
        end_id=run.tokenizer.end_of_text_id,
        samples=[sample for _, sample in rows],
        forbidden=_unreadable(run),
        ends=lambda row, id: texts[row].push(id),
        **options,
    )
    for token in tokens:
        written[token.row].add(token)
    for text in texts:
        text.finish()
    return [
        Completion(prompt, text.take(), one.ids, one.logprobs, "stop" if text.stopped else one.stop_reason)
        for (prompt, _), text, one in zip(rows, texts, written, strict=True)
    ]


class _Text:
    """The text of one row: ids go in, what may be shown comes out."""

    def __init__(self, tokenizer: Tokenizer, stops: Sequence[str]) -> None:
        self._decoder = tokenizer.decoder()
        self._scanner = StopScanner(stops)
        self._ready = ""

    @property
    def stopped(self) -> bool:
        """Whether a stop string is complete."""
        return self._scanner.found

    def push(self, id: int) -> bool:
        """Add an id; returns whether it completed a stop string."""
        self._ready += self._scanner.push(self._decoder.push(id))
        return self.stopped

    def finish(self) -> None:
        """No more ids come: half a character becomes U+FFFD, and what was held back is shown."""
        self._ready += self._scanner.push(self._decoder.finish()) + self._scanner.finish()

    def take(self) -> str:
        """The text that became ready since the last call."""
        ready, self._ready = self._ready, ""
        return ready


def _unreadable(run: Run) -> list[int]:
    """Ids that the model can say and the tokenizer cannot spell: holes, and rows beyond its end."""
    known = run.tokenizer.vocab.keys() | set(run.tokenizer.special_tokens.values())
    return [id for id in range(run.model.config.vocab_size) if id not in known]


def _with_fields(config: SamplingConfig | None, fields: dict[str, Any]) -> SamplingConfig:
    """`config`, or the default one, with some fields replaced."""
    if "stop" in fields:
        stop = fields["stop"]
        fields = fields | {"stop": (stop,) if isinstance(stop, str) else tuple(stop)}
    return dataclasses.replace(config or SamplingConfig(), **fields)
