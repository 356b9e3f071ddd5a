"""What a person sees while something long goes on: one line that changes, or plain lines in a log file."""

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from groundup.experiments.quantities import duration


class TrainingProgress:
    """A sink for metrics that shows them: step, loss, tokens per second, time left.

    On a terminal one line is rewritten; elsewhere a line is printed at most every `every_s` seconds.
    """

    def __init__(self, *, every_s: float = 10.0) -> None:
        self._live = sys.stderr.isatty()
        self._every_s = every_s
        self._last_shown = float("-inf")
        self._first: tuple[int, float] | None = None
        self._width = 0

    def write(self, record: Mapping[str, Any]) -> None:
        if record["kind"] == "train":
            self._show_step(record)
        elif record["kind"] == "eval":
            bits = record.get("bits_per_byte")
            per_byte = f", {bits:.3f} bits per byte" if bits is not None else ""
            self._line(
                f"step {record['step']:,}: validation loss {record['loss']:.4f} nats per token, "
                f"perplexity {record['perplexity']:.2f}{per_byte}"
            )
        elif record["kind"] == "moved":
            self._line(f"step {record['step']:,}: to end in time, the last step is now {record['max_steps']:,}")

    def close(self) -> None:
        if self._live and self._width:
            _show("")
            self._width = 0

    def _show_step(self, record: Mapping[str, Any]) -> None:
        step, max_steps, now = record["step"], record["max_steps"], record["seconds"]
        if self._first is None:
            self._first = (step, now)
        text = (
            f"step {step:>{len(f'{max_steps:,}')},}/{max_steps:,}  {100 * step / max_steps:3.0f}%  "
            f"loss {record['loss']:.3f}  {record['tokens_per_s']:,.0f} tokens/s  {self._left(step, max_steps, now)}"
        )
        if self._live:
            _show("\r" + text.ljust(self._width), end="")
            self._width = len(text)
        elif time.monotonic() - self._last_shown >= self._every_s or step == max_steps:
            self._last_shown = time.monotonic()
            _show(text)

    def _left(self, step: int, max_steps: int, now: float) -> str:
        first_step, first_time = self._first or (step, now)
        if step >= max_steps:
            return f"done in {duration(now)}"
        if step == first_step:
            return ""
        return f"{duration((now - first_time) / (step - first_step) * (max_steps - step))} left"

    def _line(self, text: str) -> None:
        if self._live:
            _show("\r" + text.ljust(self._width))
            self._width = 0
        else:
            _show(text)


class Counter:
    """Shows how far a count is (bytes read, merges made); call it with what is done and, if known, the total.

    `start` is what was done before, in an earlier sitting: the rate does not count it.
    """

    def __init__(self, label: str, *, unit: Callable[[float], str] = str, start: int = 0) -> None:
        self._label, self._unit = label, unit
        self._live = sys.stderr.isatty()
        self._before = start
        self._start = self._last = time.monotonic()
        self._width = 0

    def __call__(self, done: int, total: int | None = None) -> None:
        now = time.monotonic()
        if now - self._last < (0.1 if self._live else 10.0):
            return
        self._last = now
        rate = (done - self._before) / max(now - self._start, 1e-9)
        text = f"{self._label}: {self._unit(done)}, {self._unit(rate)}/s"
        if total:
            text += f", {100 * done / total:.0f}%, {duration((total - done) / max(rate, 1e-9))} left"
        if self._live:
            _show("\r" + text.ljust(self._width), end="")
            self._width = len(text)
        else:
            _show(text)

    def close(self) -> None:
        if self._width:
            _show("\r" + " " * self._width + "\r", end="")


@contextlib.contextmanager
def log_from(level: int, name: str = "groundup") -> Iterator[None]:
    """While open, the log of a module or room says nothing below `level`: the command says itself what happens."""
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(level)
    try:
        yield
    finally:
        logger.setLevel(before)


def say_step(step: int, text: str, *, of: int) -> None:
    """Say which step of a command begins: `[2/5] ...`."""
    _show(f"[{step}/{of}] {text}")


def say_more(text: str) -> None:
    """Say something about the step that is under way."""
    _show(f"      {text}")


def _show(text: str, end: str = "\n") -> None:
    """Print to stderr. Where its reader is gone (`2>&1 | tee`, ended by the same Ctrl-C), the work still goes on."""
    with contextlib.suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)
