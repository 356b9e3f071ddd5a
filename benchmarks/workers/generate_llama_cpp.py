"""llama.cpp's generation through llama-cpp-python's low-level interface. Ways: F32, BF16, Q8_0 (types of the weights).

All rows go through one llama_decode a step, and the most likely id is taken from its logits. With F32 weights keys
and values are kept in F32 too, else in F16, the default.
"""

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path

import llama_cpp
import numpy as np
from llama_gguf import write_gguf
from model_shape import Shape
from writing import Weights, Write, serve_writing


def build(shape: Shape, weights: Weights, way: str, threads: int) -> Write:
    """The model, and a context for each number of rows when it is first asked for."""
    llama_cpp.llama_backend_init()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.gguf"
        write_gguf(shape, weights, way, path)
        model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
    if model is None:
        raise RuntimeError("llama.cpp does not load the file")
    contexts = {}

    def write(prompts: Sequence[Sequence[int]], num_tokens: int) -> list[list[int]]:
        rows = len(prompts)
        if rows not in contexts:
            contexts[rows] = Context(model, shape, rows, threads, exact=way == "F32")
        return contexts[rows].write(prompts, num_tokens)

    return write


class Context:
    """Keys and values of some rows, and what a step is told of them."""

    def __init__(self, model: object, shape: Shape, rows: int, threads: int, *, exact: bool) -> None:
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = shape.context_length * rows
        options.n_batch = options.n_ubatch = max(512, rows)
        options.n_seq_max = rows
        options.n_threads = options.n_threads_batch = threads
        options.no_perf = True
        if exact:
            options.type_k = options.type_v = llama_cpp.GGML_TYPE_F32
        self._context = llama_cpp.llama_init_from_model(model, options)
        if self._context is None:
            raise RuntimeError("llama.cpp makes no context")
        self._rows, self._vocab_size = rows, shape.vocab_size
        self._batch = llama_cpp.llama_batch_init(options.n_batch, 0, 1)

    def write(self, prompts: Sequence[Sequence[int]], num_tokens: int) -> list[list[int]]:
        """Prompts of equal length; the greedy ids after each."""
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)
        for position in range(len(prompts[0]) - 1):
            self._step([prompt[position] for prompt in prompts], position)
        newest = [prompt[-1] for prompt in prompts]
        steps = []
        for position in range(len(prompts[0]) - 1, len(prompts[0]) - 1 + num_tokens):
            self._step(newest, position)
            logits = llama_cpp.llama_get_logits(self._context)
            newest = np.ctypeslib.as_array(logits, shape=(self._rows, self._vocab_size)).argmax(axis=1).tolist()
            steps.append(newest)
        return [list(row) for row in zip(*steps, strict=True)]

    def _step(self, ids: Sequence[int], position: int) -> None:
        batch = self._batch
        batch.n_tokens = self._rows
        for row, id in enumerate(ids):
            batch.token[row] = id
            batch.pos[row] = position
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = row
            batch.logits[row] = True
        if llama_cpp.llama_decode(self._context, batch) != 0:
            raise RuntimeError(f"llama_decode failed at position {position}")


@llama_cpp.llama_log_callback
def be_quiet(level: int, text: bytes, data: ctypes.c_void_p) -> None:
    """What llama.cpp logs is not wanted."""


if __name__ == "__main__":
    llama_cpp.llama_log_set(be_quiet, ctypes.c_void_p(0))
    serve_writing(build, {"llama-cpp-python": llama_cpp.__version__})
