"""What a run reports between two lines of metrics: the mean loss, and the speed of the updates alone."""

import contextlib
import math
import time
from collections.abc import Iterator

from groundup.training.session import Session


class Meter:
    """Averages the loss since the last line; evaluation and saving do not count in the speed.

    The losses of the line under way are part of the run's state, so that a resumed run writes the same lines.
    """

    def __init__(self, run: Session) -> None:
        self._run = run
        self._tokens = 0
        self._since = time.monotonic()
        self.paused_s = 0.0
        self.longest_pause_s: float | None = None  # none yet

    def add(self, loss: float, gradient_norm: float, rate: float, tokens: int) -> bool:
        """Count one update; writes a line when one is due and says whether it did."""
        run, settings = self._run, self._run.config.training
        run.state.recent_losses.append(loss)
        self._tokens += tokens
        step = run.state.step
        if step != 1 and step != run.max_steps and step % settings.log_every != 0:
            return False
        finite = [value for value in run.state.recent_losses if math.isfinite(value)]
        run.record(
            "train",
            loss=sum(finite) / len(finite) if finite else math.nan,
            lr=rate,
            grad_norm=gradient_norm,
            tokens_per_s=self._tokens / max(time.monotonic() - self._since, 1e-9),
            max_steps=run.max_steps,
            **run.peak_memory(),
        )
        run.state.recent_losses.clear()
        self._tokens = 0
        self._since = time.monotonic()
        return True

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Takes the time spent inside out of the speed."""
        start = time.monotonic()
        yield
        pause_s = time.monotonic() - start
        self._since += pause_s
        self.paused_s += pause_s
        self.longest_pause_s = max(pause_s, self.longest_pause_s or 0.0)
