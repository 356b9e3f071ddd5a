"""How long an update takes, as a function of the shape of the model: a few measured shapes tell about all others.

    seconds = c0 operations + c1 products + c2 pairs + c3 stream + c4 logits + c5 parameters + c6 dropped

Each term counts one kind of work (`work`), each coefficient is what a unit of it costs on this machine; none is
negative. They come from the measured shapes by least squares of the relative errors (`fit`). FLOPs alone would
not do: at the width of small models much of the time goes to what is no matrix product (docs/planner.md).
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from groundup.config import ModelConfig
from groundup.model.accounting import flops, num_parameters

Measured = tuple[ModelConfig, int, float]  # model, batch size, seconds of an update
KINDS = ("operations", "products", "pairs", "stream", "logits", "parameters", "dropped")
_UNITS = np.array([10.0, 1e9, 1e8, 1e6, 1e6, 1e6, 1e7])
# Seconds for each of these units on two cores of an ordinary processor (AVX2): the ratios matter, not the scale.
TYPICAL = np.array([0.013, 0.017, 0.005, 0.004, 0.004, 0.004, 0.1])
TRUST = 0.1  # how much an error of TYPICAL counts against one of a measured time
FORWARD_SHARE = 0.4  # of the work on tokens in an update; a third of the products, more of the rest


@dataclass(frozen=True)
class StepCost:
    """Seconds for each unit of each kind of work, in the order of KINDS; `slowness` on the whole, 1 for TYPICAL."""

    seconds: tuple[float, ...]
    slowness: float = 1.0

    def update_s(self, model: ModelConfig, batch_size: int) -> float:
        """Seconds of an update: forward, backward, optimizer."""
        return float(np.dot(work(model, batch_size), self.seconds))

    def pass_s(self, model: ModelConfig, tokens: int) -> float:
        """Seconds of a validation pass over so many tokens."""
        rows = max(1, round(tokens / model.context_length))
        amounts = work(model, rows)
        amounts[KINDS.index("parameters")] = amounts[KINDS.index("dropped")] = 0
        return float(np.dot(amounts, self.seconds)) * FORWARD_SHARE


def work(model: ModelConfig, batch_size: int) -> npt.NDArray[np.float64]:
    """How much of each kind of work is in an update, in units that make the numbers small.

    operations: calls, a fixed number for each layer; products: FLOPs of the matrix products, forward and backward;
    pairs: FLOPs of attention over pairs of tokens; stream: values of the stream and of the feed-forward part;
    logits: values that the loss is made of; parameters: what the optimizer goes through; dropped: attention weights
    one by one, where dropout keeps them from being done in one operation.

    >>> work(ModelConfig(vocab_size=1024, d_model=128, num_heads=4), 8).round(2).tolist()
    [0.6, 10.87, 16.11, 3.67, 2.1, 1.02, 0.0]
    """
    tokens, layers = batch_size * model.context_length, model.num_layers
    forward = flops(model, batch_size=batch_size)
    squares = forward.scores + forward.weighted_sum
    amounts = (
        layers + 2,
        3 * (forward.total - squares),
        1.5 * squares,  # causal: half of the pairs
        tokens * layers * (model.d_model + model.ffn_width),
        tokens * model.vocab_size,
        num_parameters(model).total,
        tokens * layers * model.num_heads * model.context_length if model.dropout else 0,
    )
    return np.array(amounts, dtype=np.float64) / _UNITS


def fit(measured: Sequence[Measured]) -> StepCost:
    """The costs that come nearest to the measured times, by the squares of the relative errors; none negative.

    On a machine with other work the times are noisy, and few: so the costs are also held to those of an ordinary
    processor (TYPICAL), as much slower or faster as the measured times are on the whole. Of all choices of terms that
    may be other than zero the best is taken: with seven terms these are 127 small systems.
    """
    assert measured, "at least one shape must be measured"
    rows = np.array([work(model, batch_size) / seconds for model, batch_size, seconds in measured]) * TYPICAL
    slowness = 1 / float(np.median(rows.sum(axis=1)))
    system = np.vstack([rows * slowness, np.eye(len(KINDS)) * TRUST**0.5])
    wanted = np.concatenate([np.ones(len(rows)), np.full(len(KINDS), TRUST**0.5)])
    best, best_error = np.ones(len(KINDS)), np.inf
    for size in range(1, len(KINDS) + 1):
        for chosen in itertools.combinations(range(len(KINDS)), size):
            solution = np.zeros(len(KINDS))
            solution[list(chosen)] = np.linalg.lstsq(system[:, chosen], wanted, rcond=None)[0]
            error = float(((system @ solution - wanted) ** 2).sum())
            if error < best_error and (solution >= 0).all():
                best, best_error = solution, error
    return StepCost(tuple((best * slowness * TYPICAL).tolist()), slowness)
