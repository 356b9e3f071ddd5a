"""A model whose logits are scripted, with no weights and no rounding: what it sees decides exactly.

It keeps the ids themselves in the key/value cache, as a real model keeps its keys, and hands everything
visible to the script. So a window, a padding or a cache that is wrong by one id gives other text.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from groundup.config import ModelConfig
from groundup.model.kv_cache import KVCache


class FakeModel:
    """`script(visible ids) -> logits`; `calls` records the (rows, seq) of every forward pass."""

    def __init__(self, script: Callable[[list[int]], Sequence[float]], *, vocab_size: int, context_length: int) -> None:
        self.config = ModelConfig(
            vocab_size=vocab_size,
            context_length=context_length,
            d_model=1,
            num_heads=1,
            num_layers=1,
            positions="none",
        )
        self.training = False
        self.calls: list[tuple[int, int]] = []
        self._script = script
        self._seen: list[list[int]] = []
        self._weight = torch.zeros(1)

    def parameters(self):
        return iter([self._weight])

    def train(self, mode: bool = True) -> None:
        self.training = mode

    def hidden(self, ids: Tensor, *, cache: KVCache | None = None) -> Tensor:
        assert not self.training
        assert ids.shape[1] <= self.config.context_length
        self.calls.append((len(ids), ids.shape[1]))
        if cache is None:
            visible = ids[:, None, :].expand(-1, ids.shape[1], -1)
            mask = torch.ones_like(visible, dtype=torch.bool).tril()
        else:
            layer = cache.layers(cache.next_positions(ids.shape[1]))[0]
            keys, _, mask = layer.extend(ids[:, None, :, None].float(), ids[:, None, :, None].float())
            visible, mask = keys[:, 0, None, :, 0].long().expand(-1, ids.shape[1], -1), mask[:, 0]
        self._seen = [
            place[seen].tolist()
            for places, seens in zip(visible, mask, strict=True)
            for place, seen in zip(places, seens, strict=True)
        ]
        return torch.arange(len(self._seen)).view(*ids.shape, 1)  # the number of each place stands for it

    def lm_head(self, hidden: Tensor) -> Tensor:
        return torch.tensor([self._script(self._seen[number]) for number in hidden.flatten().tolist()])


def says(vocab_size: int, id: int) -> list[float]:
    """Logits that leave no doubt about one id."""
    return [20.0 if other == id else 0.0 for other in range(vocab_size)]


def scripted(ids: Sequence[int], *, vocab_size: int, context_length: int = 1000, prompt: int = 1) -> FakeModel:
    """A model that says `ids` one after another after a prompt of `prompt` ids, within its context."""
    return FakeModel(
        lambda visible: says(vocab_size, ids[max(0, len(visible) - prompt)]),
        vocab_size=vocab_size,
        context_length=context_length,
    )


def chaotic(*, vocab_size: int = 97, context_length: int = 8) -> FakeModel:
    """A model whose every logit depends on each visible id and its place."""

    def script(visible: list[int]) -> list[float]:
        state = 1
        for id in visible:
            state = (state * 31 + id + 7) % 1_000_003
        return [((state * (other + 3)) % 1009) / 100 for other in range(vocab_size)]

    return FakeModel(script, vocab_size=vocab_size, context_length=context_length)
