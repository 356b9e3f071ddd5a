"""The learning rate of each update, as a pure function of its number: nothing to save, nothing to resume."""

import math
from collections.abc import Sequence

from groundup.errors import ConfigError


def cosine_schedule(
    step: float | int, *, max_lr: float | int, min_lr: float | int, warmup_steps: int, decay_steps: int
) -> float:
    """Learning rate at `step`: a straight line up to `max_lr`, half a cosine down to `min_lr`, then flat.

        step < warmup_steps                   step / warmup_steps * max_lr
        warmup_steps <= step <= decay_steps   min_lr + (1 + cos(pi * progress)) / 2 * (max_lr - min_lr)
        decay_steps < step                    min_lr

    with progress from 0 at `warmup_steps` to 1 at `decay_steps`. The warm-up spares the first steps,
    whose gradients are large and whose running means in AdamW are not yet worth much. A training loop
    counts its updates from 1, so that none is spent at rate 0. Without a warm-up the rate starts at
    `max_lr`; with no room between the two steps it reaches `max_lr` at that step and then falls at once.
    Loshchilov & Hutter 2016, SGDR (arXiv:1608.03983), equation 5, without restarts.

    >>> rates = {"max_lr": 1.0, "min_lr": 0.1, "warmup_steps": 4, "decay_steps": 8}
    >>> [round(cosine_schedule(step, **rates), 2) for step in (0, 2, 4, 6, 8, 9)]
    [0.0, 0.5, 1.0, 0.55, 0.1, 0.1]

    Raises ConfigError for `decay_steps` before `warmup_steps`, or a negative step.
    """
    if step < 0 or warmup_steps < 0:
        raise ConfigError(f"step is {step} and warmup_steps is {warmup_steps}; neither may be negative")
    if decay_steps < warmup_steps:
        raise ConfigError(f"decay_steps is {decay_steps}; it must be at least warmup_steps {warmup_steps}")
    if step < warmup_steps:
        return step / warmup_steps * max_lr
    if step > decay_steps:
        return min_lr
    progress = (step - warmup_steps) / (decay_steps - warmup_steps) if decay_steps > warmup_steps else 0.0
    height = (1 + math.cos(math.pi * progress)) / 2
    return height * max_lr + (1 - height) * min_lr  # as above, but exact at both ends


def place_on_schedule(step: int, *, end: int, moves: Sequence[Sequence[int]] = ()) -> float | int:
    """The step of a schedule of `end` steps at which `step` stands, after its end was moved on the way.

    Each move (at, new_end) says that from step `at` on what was left of the schedule is stretched or squeezed so
    that it ends at `new_end`. So the rate has no jump and still comes down to its end, and stays a pure function
    of the step and of the recorded moves. Without moves the step itself. `at` grows from move to move.

    >>> [place_on_schedule(step, end=100, moves=[(40, 160)]) for step in (20, 40, 100, 160)]
    [20.0, 40.0, 70.0, 100.0]
    >>> place_on_schedule(20, end=100)
    20
    """
    if not moves:
        return step
    place, since, until = 0.0, 0, end
    for at, new_end in moves:
        if step <= at:
            break
        place += (end - place) * (at - since) / (until - since)
        since, until = at, new_end
    return min(float(end), place + (end - place) * (step - since) / (until - since))
