"""A side of the race: it trains on the windows and at the rates that it is told, evaluates, and keeps its state.

Where the windows of a step start and what its learning rate is, the other end decides (bench/race_course.py), for all
sides in the same way. Ids are read from the raw file of a shard. Torch and the standard library only.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from protocol import Operation
from torch import Tensor
from training_parts import fill

if TYPE_CHECKING:
    from training_step import Built

EVALUATION_ROWS = 16  # windows at once


class Racer:
    """The state of one side: built model, position, and what the other end wants remembered with it."""

    def __init__(self, build: "Callable[[dict[str, int], str], Built]", versions: dict[str, str]) -> None:
        self._build, self._versions = build, versions

    @property
    def operations(self) -> dict[str, Operation]:
        """What it answers to."""
        return {
            "race_set_up": self.set_up,
            "race_train": self.train,
            "race_evaluate": self.evaluate,
            "race_save": self.save,
        }

    def set_up(
        self,
        *,
        shape: dict[str, int],
        precision: str,
        compiled: bool,
        threads: int,
        seed: int,
        same_start: bool,
        max_norm: float,
        files: dict[str, str],
        state_file: str,
    ) -> dict[str, Any]:
        """A fresh model, or that of the state file where there is one; `memory` is what was saved with it.

        Args:
            same_start: Begin with the weights that are common to all sides, not with the side's own.
            files: Raw ids (uint16, little-endian) to train on and to validate on.
        """
        torch.set_num_threads(threads)
        torch.manual_seed(seed)
        self._built = self._build(shape, precision)
        if same_start:
            fill(self._built.parts)
        self._loss_of = torch.compile(self._built.loss_of) if compiled else self._built.loss_of
        self._context_length, self._max_norm = shape["context_length"], max_norm
        self._ids = {name: _read_ids(path) for name, path in files.items()}
        self._state_file = Path(state_file)
        memory = None
        if self._state_file.exists():
            state = torch.load(self._state_file)
            self._built.model.load_state_dict(state["model"])
            self._built.optimizer.load_state_dict(state["optimizer"])
            memory = state["memory"]
        return {
            "num_parameters": sum(parameter.numel() for parameter in self._built.model.parameters()),
            "notes": self._built.notes,
            "versions": self._versions,
            "memory": memory,
        }

    def train(self, *, starts: list[list[int]], rates: list[float]) -> dict[str, Any]:
        """An update for each row of window starts, at its rate; returns losses and seconds of each."""
        losses: list[float] = []
        seconds: list[float] = []
        parameters = list(self._built.model.parameters())
        for row, rate in zip(starts, rates, strict=True):
            begin = time.perf_counter()
            for group in self._built.optimizer.param_groups:
                group["lr"] = rate
            loss = self._loss_of(*self._batch("train", row))
            loss.backward()
            self._built.clip(parameters, self._max_norm)
            self._built.optimizer.step()
            self._built.optimizer.zero_grad(set_to_none=True)
            losses.append(float(loss.detach()))
            seconds.append(time.perf_counter() - begin)
        return {"losses": losses, "seconds": seconds}

    def evaluate(self, *, starts: list[int]) -> dict[str, Any]:
        """Mean loss over these windows of the validation ids, in nats per token."""
        total = 0.0
        with torch.no_grad():
            for first in range(0, len(starts), EVALUATION_ROWS):
                rows = starts[first : first + EVALUATION_ROWS]
                total += float(self._built.loss_of(*self._batch("valid", rows))) * len(rows)
        return {"loss": total / len(starts)}

    def save(self, *, memory: Any) -> dict[str, Any]:
        """Write the state and `memory` in place of those before: a kill loses what came after, no more."""
        aside = self._state_file.with_suffix(".writing")
        state = {"model": self._built.model.state_dict(), "optimizer": self._built.optimizer.state_dict()}
        torch.save(state | {"memory": memory}, aside)
        aside.replace(self._state_file)
        return {}

    def _batch(self, split: str, starts: list[int]) -> tuple[Tensor, Tensor]:
        """Inputs and targets (windows, context_length) of the windows that start there."""
        length = self._context_length + 1
        windows = torch.stack([self._ids[split][start : start + length] for start in starts]).long()
        return windows[:, :-1].contiguous(), windows[:, 1:].contiguous()


def _read_ids(path: str) -> Tensor:
    """All ids of a raw file; as int32, since torch computes little with uint16."""
    return torch.frombuffer(bytearray(Path(path).read_bytes()), dtype=torch.uint16).to(torch.int32)
