"""An average of the weights over the last updates: the noise of single updates cancels, as if the rate were lower.

The model itself trains on as if there were none. Its average lies in the state of the optimizer, one array a
parameter, so that checkpoints hold both. While somebody looks (validation, a checkpoint, the finished model) the two
change places: what is then in the model is the average. An option of the leaderboard lab (docs/leaderboard.md).
"""

import contextlib
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.optim import Optimizer


class WeightAverage:
    """The mean of the weights after each update so far, and from `over` updates on an exponential one of that reach.

    With the weights w after the t-th update, average <- average + (w - average) / min(t, over). Polyak & Juditsky 1992,
    Acceleration of Stochastic Approximation by Averaging; Izmailov et al. 2018, Averaging Weights Leads to Wider Optima
    (arXiv:1803.05407); Sanyal et al. 2023, Early Weight Averaging meets High Learning Rates for LLM Pre-training
    (arXiv:2306.03241).

    Args:
        optimizer: Of the model; the average is kept in its state under "average" and "averaged".
        over: Updates that it reaches back over; 0 switches it off: nothing is kept and nothing changes places.
    """

    def __init__(self, optimizer: Optimizer, over: int) -> None:
        self._optimizer, self._over = optimizer, over

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are now; to be called after each step of the optimizer."""
        if self._over == 0:
            return
        for parameter, state in self._optimizer.state.items():
            state["averaged"] = count = state.get("averaged", 0) + 1
            if count == 1:
                state["average"] = parameter.detach().clone()
            else:
                state["average"].lerp_(parameter, 1 / min(count, self._over))

    @contextlib.contextmanager
    def in_place(self) -> Iterator[None]:
        """While this context is open the model has the average, and the state of the optimizer its weights."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    @torch.no_grad()
    def swap(self) -> None:
        """Let weights and average change places; without an average nothing happens."""
        for parameter, average in self._averages():
            kept = parameter.detach().clone()
            parameter.copy_(average)
            average.copy_(kept)

    def _averages(self) -> list[tuple[Tensor, Tensor]]:
        states = self._optimizer.state.items()
        return [(parameter, state["average"]) for parameter, state in states if "average" in state]
