"""Talking to a worker process: one JSON object a line, a request down its stdin, its answer up its stdout.

The other end is workers/protocol.py. What a worker says on stderr is kept and quoted when it fails.
"""

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

END_S = 10.0  # how long a worker may take to leave when its stdin ends


class WorkerError(RuntimeError):
    """A worker that answered with an error, or did not answer."""


class Worker:
    """A running worker; a context manager that ends it. `environment` is added to that of this process."""

    def __init__(self, command: Sequence[str | Path], name: str, environment: Mapping[str, str] | None = None) -> None:
        self.name = name
        self._complaints = tempfile.TemporaryFile(mode="w+", encoding="utf-8")  # noqa: SIM115, closed in close()
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            env=os.environ | (environment or {}),
            encoding="utf-8",
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def request(self, operation: str, *, timeout_s: float = 600.0, **fields: Any) -> dict[str, Any]:
        """What the worker answers to `operation`. Raises WorkerError for an error, silence or its death."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"operation": operation, **fields}) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            raise WorkerError(f"{self.name}: no answer to {operation!r} within {timeout_s:g} s") from None
        except BrokenPipeError:
            line = ""
        if not line:
            self._lines.put("")  # for the next request
            raise WorkerError(f"{self.name}: the process ended; its last words: {self._last_words()}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerError(f"{self.name}: {answer['error']}")
        return answer["answer"]

    def close(self) -> None:
        """End the process, kindly at first."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.close()
            self._process.wait(timeout=END_S)
        except (subprocess.TimeoutExpired, BrokenPipeError):
            self._process.kill()
            self._process.wait()
        self._complaints.close()

    def _read(self) -> None:
        """Put the lines of stdout into the queue, and an empty one when there are no more."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put("")

    def _last_words(self) -> str:
        self._complaints.seek(0)
        return " / ".join(self._complaints.read().strip().splitlines()[-3:]) or "none"
