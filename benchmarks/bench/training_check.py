"""Whether a contestant of train.py solves the same task as the judge: what it must show before its times count."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FIRST_LOSS = 0.5  # how far from ln(vocab_size) the loss of an untrained model may lie, in nats


@dataclass(frozen=True)
class Tolerance:
    """How far a contestant may be from the judge: losses of each update in nats, each gradient as a part of itself.

    The judge computes in float32. AdamW's first updates have about the size of the learning rate whatever the
    gradient's: rounding errors of a gradient near 0 move a weight by whole updates, so that losses drift apart.
    """

    loss_nats: float
    gradient: float


TOLERANCES = {"float32": Tolerance(2e-3, 1e-3), "bf16": Tolerance(0.1, 0.1)}


def find_problem(
    entry: Mapping[str, Any], judge: Mapping[str, Any], vocab_size: int, tolerance: Tolerance
) -> str | None:
    """Why the times of a contestant would not count; None if they do.

    >>> judge = {"losses": [6.95, 6.1], "num_parameters": 7, "gradients_finite": True, "gradient_error": 0.0}
    >>> find_problem(judge, judge, 1000, Tolerance(1e-3, 1e-3)) is None
    True
    """
    if entry["num_parameters"] != judge["num_parameters"]:
        return f"the model has {entry['num_parameters']:,} parameters, not {judge['num_parameters']:,}"
    losses = entry["losses"]
    if not all(map(math.isfinite, losses)):
        return f"a loss is not finite: {losses}"
    if not entry["gradients_finite"]:
        return "a gradient is not finite"
    if abs(losses[0] - math.log(vocab_size)) > FIRST_LOSS:
        return f"the first loss is {losses[0]:.3f}, and an untrained model has about {math.log(vocab_size):.3f}"
    if losses[-1] >= losses[0]:
        return f"the loss on one batch does not fall: {losses[0]:.3f} -> {losses[-1]:.3f}"
    # On a slow machine the time may end the check after fewer updates than the judge's.
    pairs = zip(losses, judge["losses"], strict=False)
    update, (found, expected) = max(enumerate(pairs, 1), key=lambda item: abs(item[1][0] - item[1][1]))
    if not abs(found - expected) <= tolerance.loss_nats:
        return f"the loss of update {update} is {found:.4f}, and the judge's is {expected:.4f}"
    if not entry["gradient_error"] <= tolerance.gradient:
        return f"the gradient of {entry['gradient_part']} is off by {entry['gradient_error']:.1e} of its size"
    return None
