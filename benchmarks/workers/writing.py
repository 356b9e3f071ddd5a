"""Writing text as all sides are measured: greedy ids after prompts, with weights from one file.

A worker says how to build its model and how that writes; timing and checking are the same for all. Runs in the
environments of all peers, so: numpy and the standard library only.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from model_shape import Shape
from process_memory import peak_memory_bytes
from protocol import serve

# (prompts, number of ids to write) -> the ids written after each prompt.
Write = Callable[[Sequence[Sequence[int]], int], list[list[int]]]
Weights = dict[str, np.ndarray]


def serve_writing(build: Callable[[Shape, Weights, str, int], Write], versions: dict[str, str]) -> None:
    """Answer `set_up` and `write` with what `build(shape, weights, way, threads)` makes."""
    writers: list[Write] = []

    def set_up(shape: dict[str, int], weights_path: str, way: str, threads: int) -> dict[str, Any]:
        with np.load(weights_path) as weights:
            writers.append(build(Shape(**shape), dict(weights), way, threads))
        return {"versions": versions}

    def write(prompts: list[list[int]], num_tokens: int) -> dict[str, Any]:
        start = time.perf_counter()
        ids = writers[-1](prompts, num_tokens)
        seconds = time.perf_counter() - start
        return {"ids": ids, "seconds": seconds, "peak_memory_bytes": peak_memory_bytes()}

    serve({"set_up": set_up, "write": write})
