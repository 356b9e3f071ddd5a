"""Rows of ids that are written side by side by one model: what it says next to each, cached or not.

`prefill` reads whole windows at once, `decode_one` one new id a row; `Rows` knows which of the two a row
needs. What is chosen from the logits is sampling.py's, when a row ends is engine.py's, which comes next.
"""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from groundup.config import ModelConfig
from groundup.generation.window import window_start
from groundup.model.kv_cache import KVCache


@runtime_checkable
class LanguageModel(Protocol):
    """What generation needs of a model; TransformerLM has it, and so has a test's fake."""

    training: bool

    @property
    def config(self) -> ModelConfig: ...
    @property
    def lm_head(self) -> Callable[[Tensor], Tensor]: ...
    def hidden(self, ids: Tensor, *, cache: KVCache | None = None) -> Tensor: ...
    def parameters(self) -> Iterator[Any]: ...
    def train(self, mode: bool = True) -> Any: ...


class Rows:
    """The ids of each row so far, and the cache that belongs to them.

    Args:
        model: Gives the logits; its parameters say on which device.
        prompts: Ids that each row starts with, at least one; they may differ in length.
        max_tokens: How many ids will be added at most, which bounds the cache.
        use_cache: Without, every step runs the model over the whole windows: slow, and the oracle.
    """

    def __init__(
        self, model: LanguageModel, prompts: Sequence[Sequence[int]], *, max_tokens: int, use_cache: bool = True
    ) -> None:
        self._model = model
        self._context_length = model.config.context_length
        self.ids = [list(prompt) for prompt in prompts]
        self._cache = None
        if use_cache:
            weight = next(model.parameters())
            longest = max(len(ids) for ids in self.ids) + max_tokens
            self._cache = KVCache(
                model.config,
                len(self.ids),
                device=weight.device,
                dtype=weight.dtype,
                max_length=min(longest, self._context_length),
            )

    def window(self, row: int) -> list[int]:
        """The ids of a row that the model sees."""
        ids = self.ids[row]
        return ids[window_start(len(ids), self._context_length) :]

    def start(self) -> Float[Tensor, "rows vocab"]:
        """Logits of the first new id of each row."""
        return prefill(self._model, [self.window(row) for row in range(len(self.ids))], self._cache)

    def extend(self, ids: Sequence[int]) -> Float[Tensor, "rows vocab"]:
        """Append one id to each row; returns the logits of the next."""
        moved = []
        for row, (seen, new) in enumerate(zip(self.ids, ids, strict=True)):
            before = window_start(len(seen), self._context_length)
            seen.append(new)
            if window_start(len(seen), self._context_length) != before:
                moved.append(row)
        if self._cache is None:
            return self.start()
        return self._extend_cached(self._cache, moved)

    def keep(self, rows: Sequence[int]) -> None:
        """Forget all other rows; those kept are counted anew from 0. Copies the cache."""
        self.ids = [self.ids[row] for row in rows]
        if self._cache is not None:
            self._cache.keys = self._cache.keys[:, rows]
            self._cache.values = self._cache.values[:, rows]
            self._cache.lengths = self._cache.lengths[rows]

    def _extend_cached(self, cache: KVCache, moved: Sequence[int]) -> Float[Tensor, "rows vocab"]:
        """The step of `extend`: one new id for most rows, a fresh prefill for each whose window moved."""
        newest = torch.tensor([ids[-1] for ids in self.ids], device=cache.lengths.device)
        if not moved:
            return decode_one(self._model, newest, cache)
        logits = {}
        if len(moved) < len(self.ids):
            # A row that moved takes part, so that the others need no copy of their cache. What it
            # writes at its position 0 is overwritten below, what it says is not looked at.
            counts = torch.ones_like(cache.lengths)
            counts[moved] = 0
            cache.lengths = cache.lengths * counts
            logits = dict(enumerate(decode_one(self._model, newest, cache, counts)))
        for row in moved:
            part = _row_of(cache, row)
            logits[row] = prefill(self._model, [self.window(row)], part)[0]
            cache.lengths[row] = part.lengths[0]
        return torch.stack([logits[row] for row in range(len(self.ids))])


def prefill(
    model: LanguageModel, windows: Sequence[Sequence[int]], cache: KVCache | None = None
) -> Float[Tensor, "rows vocab"]:
    """Logits of the id after each window; fills `cache`, which must be empty.

    Windows of different lengths are padded on the right, where no id of theirs looks.
    """
    device = next(model.parameters()).device
    longest = max(len(window) for window in windows)
    ids = torch.tensor([[*window, *[0] * (longest - len(window))] for window in windows], device=device)
    counts = torch.tensor([len(window) for window in windows], device=device)
    logits = _logits_at(model, ids, counts - 1, cache)
    if cache is not None:
        cache.advance(counts)
    return logits


def decode_one(
    model: LanguageModel, ids: Int[Tensor, " rows"], cache: KVCache, counts: Int[Tensor, " rows"] | int = 1
) -> Float[Tensor, "rows vocab"]:
    """Logits of the id after one new id a row; the cache grows by `counts`, 0 for a row that sits out."""
    logits = _logits_at(model, ids[:, None], torch.zeros_like(ids), cache)
    cache.advance(counts)
    return logits


@torch.inference_mode()
def _logits_at(
    model: LanguageModel, ids: Int[Tensor, "rows seq"], places: Int[Tensor, " rows"], cache: KVCache | None
) -> Float[Tensor, "rows vocab"]:
    """Logits at one place of each row: the head, a product with the whole vocabulary, runs only there.

    Dropout is off, and the model is left in the mode it was in.
    """
    was_training = model.training
    if was_training:
        model.train(False)
    try:
        hidden = model.hidden(ids, cache=cache)  # (rows, seq, d_model)
        return model.lm_head(hidden[torch.arange(len(ids), device=ids.device), places])
    finally:
        if was_training:
            model.train()


def _row_of(cache: KVCache, row: int) -> KVCache:
    """An empty cache of one row in the memory of row `row` of `cache`."""
    part = copy.copy(cache)
    part.keys, part.values = cache.keys[:, row : row + 1], cache.values[:, row : row + 1]
    part.lengths = torch.zeros_like(cache.lengths[:1])
    return part
