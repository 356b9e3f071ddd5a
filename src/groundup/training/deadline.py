"""Ending in time: where the updates of a run end is moved when the machine turns out faster or slower.

A move is recorded in the state of the run, which the checkpoint written at once holds: what the rate of every
update is stays a function of its number and of the recorded moves (optim/schedule.py: place_on_schedule), so
that a resumed run goes on as if it had never stopped.
"""

import math
import time
from collections import deque

HORIZON = 12
EARLY = 0.1  # of the time left is a deviation that can be mended later, when it is better known


class Deadline:
    """Watches the updates of a run and moves their end, so that all is done at a moment of the monotonic clock.

    Looks every `check_s` seconds at how long updates take now, pauses for validation and saving apart, and moves the
    end if it would be missed by more than `tolerance_s`. What the updates of the next seconds will take is the mean
    over as many seconds up to now, HORIZON looks at most: on a machine with other work no two looks are alike, and
    each move costs a checkpoint. A machine that halves its speed is noticed little by little, near the end at once.

    Args:
        at: When the last update, validation pass and checkpoint must be over, on `time.monotonic`.
        check_s: Seconds between two looks.
        tolerance_s: Deviations below this, or below a share EARLY of the time left, are left alone.
        pause_s: Guess for a validation pass with its checkpoint, until one was timed.
    """

    def __init__(self, at: float, *, check_s: float, tolerance_s: float, pause_s: float = 0.0) -> None:
        self.at = at
        self._check_s, self._tolerance_s, self._pause_s = check_s, tolerance_s, pause_s
        self._looks: deque[tuple[int, float]] = deque()  # step, and seconds without pauses up to then

    def new_end(self, step: int, end: int, *, pause_every: int, paused_s: float, longest_pause_s: float | None) -> int:
        """The last step for a run that has just done `step` and was to end with `end`; mostly that.

        To be asked after each update. `paused_s` is all that validation and saving took up to now, every
        `pause_every` steps, and `longest_pause_s` the longest of these pauses, if there was one.
        """
        now = time.monotonic()
        busy_s = now - paused_s
        if not self._looks:  # the first update warms up caches and allocators: no measure
            self._looks.append((step, busy_s))
        last_step, last_busy_s = self._looks[-1]
        if busy_s - last_busy_s < self._check_s or step == last_step or step >= end:
            return end
        self._looks.append((step, busy_s))
        horizon_s = min(HORIZON * self._check_s, max(2 * self._check_s, self.at - now))
        while len(self._looks) > 2 and busy_s - self._looks[1][1] >= horizon_s:
            self._looks.popleft()
        first_step, first_busy_s = self._looks[0]
        return end_in_time(
            step,
            end,
            update_s=max(1e-9, (busy_s - first_busy_s) / (step - first_step)),
            pause_s=self._pause_s if longest_pause_s is None else longest_pause_s,
            pause_every=pause_every,
            seconds_left=self.at - now,
            tolerance_s=max(self._tolerance_s, EARLY * (self.at - now)),
        )


def ending_after(seconds: float, *, whole_s: float) -> Deadline:
    """For a run of `whole_s` seconds that has `seconds` left: looks at each hundredth of it, lets a fiftieth pass."""
    return Deadline(time.monotonic() + seconds, check_s=whole_s / 100, tolerance_s=whole_s / 50)


def end_in_time(
    step: int,
    end: int,
    *,
    update_s: float,
    pause_s: float,
    pause_every: int,
    seconds_left: float,
    tolerance_s: float,
) -> int:
    """The last step of a run that stands at `step` and must end in `seconds_left`; `end` if that fits as it is.

    Every `pause_every` steps, and after the last, `pause_s` go to validation and saving.

    >>> times = {"update_s": 0.5, "pause_s": 1.0, "pause_every": 50, "tolerance_s": 2.0}
    >>> end_in_time(50, 100, seconds_left=26.0, **times), end_in_time(50, 100, seconds_left=52.0, **times)
    (100, 148)
    >>> end_in_time(50, 100, seconds_left=0.1, **times)  # too late: one last update, so that the rate comes down
    51
    """
    expected_s = (end - step) * update_s + _pauses(step, end, pause_every) * pause_s
    if abs(expected_s - seconds_left) <= tolerance_s:
        return end
    # The last pass for certain, the others by their mean share: a later look mends what that is off.
    return step + max(1, math.floor((seconds_left - pause_s) / (update_s + pause_s / pause_every)))


def _pauses(step: int, end: int, every: int) -> int:
    """How many of the steps after `step` up to `end` end with a pause: multiples of `every`, and the last."""
    return end // every - step // every + (end % every != 0)
