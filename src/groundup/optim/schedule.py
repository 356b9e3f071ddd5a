"""The learning rate of each update and the size of its batch, as pure functions of its number: nothing to save."""

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
    _require_steps(step, warmup_steps, decay_steps)
    if step < warmup_steps:
        return step / warmup_steps * max_lr
    if step > decay_steps:
        return min_lr
    progress = (step - warmup_steps) / (decay_steps - warmup_steps) if decay_steps > warmup_steps else 0.0
    height = (1 + math.cos(math.pi * progress)) / 2
    return height * max_lr + (1 - height) * min_lr  # as above, but exact at both ends


def trapezoid_schedule(
    step: float | int,
    *,
    max_lr: float | int,
    min_lr: float | int,
    warmup_steps: int,
    decay_steps: int,
    cooldown: float | int,
) -> float:
    """Learning rate at `step`: a straight line up to `max_lr`, flat, and a straight line down to `min_lr` at the end.

    The line down takes the share `cooldown` of the `decay_steps`, at most what the warm-up leaves of them; after them
    the rate is `min_lr`. Progress is made while the rate is high, and its noise dies out when it falls: so it is kept
    high for long, and falls late. Zhai et al. 2021, Scaling Vision Transformers (arXiv:2106.04560); Hu et al. 2024,
    MiniCPM (arXiv:2404.06395); Hägele et al. 2024, Scaling Laws and Compute-Optimal Training Beyond Fixed Training
    Durations (arXiv:2405.18392), which compares shapes and lengths of the end.

    >>> rates = {"max_lr": 1.0, "min_lr": 0.0, "warmup_steps": 2, "decay_steps": 10, "cooldown": 0.4}
    >>> [trapezoid_schedule(step, **rates) for step in (0, 1, 2, 6, 8, 10, 11)]
    [0.0, 0.5, 1.0, 1.0, 0.5, 0.0, 0.0]

    Raises ConfigError as `cosine_schedule`, and for a share that is none.
    """
    _require_steps(step, warmup_steps, decay_steps)
    if not 0 <= cooldown <= 1:
        raise ConfigError(f"cooldown is {cooldown}; it must lie between 0 and 1")
    if step < warmup_steps:
        return step / warmup_steps * max_lr
    if step > decay_steps:
        return min_lr
    length = min(cooldown * decay_steps, decay_steps - warmup_steps)
    height = min(1.0, (decay_steps - step) / length) if length > 0 else 1.0
    return height * max_lr + (1 - height) * min_lr


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


def batch_share(place: float | int, *, end: int, ramp: float | int) -> float:
    """How much of a whole batch the update at `place` of a schedule of `end` steps takes: 1/4, then 1/2, then 1.

    The first half of the share `ramp` of the schedule goes with a quarter, its second half with a half. Early on a
    small batch says as much about the direction as a large one: McCandlish et al. 2018, An Empirical Model of
    Large-Batch Training (arXiv:1812.06162); Smith et al. 2017, Don't Decay the Learning Rate, Increase the Batch Size
    (arXiv:1711.00489). In three sizes and not many, so that torch.compile and kept memory see three shapes.

    >>> [batch_share(place, end=100, ramp=0.4) for place in (0, 19, 20, 39, 40, 100)]
    [0.25, 0.25, 0.5, 0.5, 1.0, 1.0]
    >>> batch_share(0, end=100, ramp=0)
    1.0
    """
    until = ramp * end
    return 1.0 if place >= until else 0.5 if place >= until / 2 else 0.25


def _require_steps(step: float | int, warmup_steps: int, decay_steps: int) -> None:
    if step < 0 or warmup_steps < 0:
        raise ConfigError(f"step is {step} and warmup_steps is {warmup_steps}; neither may be negative")
    if decay_steps < warmup_steps:
        raise ConfigError(f"decay_steps is {decay_steps}; it must be at least warmup_steps {warmup_steps}")
