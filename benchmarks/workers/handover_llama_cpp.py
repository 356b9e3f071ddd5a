"""llama.cpp on an exported GGUF file, through llama-cpp-python: its ids of texts, and what it writes after ids.

Keys and values are kept in F32 and the most likely id is taken at each step, so that a file of F32 weights gives
what our model gives.
"""

import itertools
from typing import Any

import llama_cpp
from protocol import serve


class Model:
    """The file that was opened last."""

    def open(self, path: str, context_length: int, threads: int) -> dict[str, Any]:
        self._llama = llama_cpp.Llama(
            path,
            n_ctx=context_length,
            n_threads=threads,
            n_threads_batch=threads,
            type_k=llama_cpp.GGML_TYPE_F32,
            type_v=llama_cpp.GGML_TYPE_F32,
            verbose=False,
        )
        return {"version": llama_cpp.__version__, "vocab_size": self._llama.n_vocab()}

    def encode(self, texts: list[str]) -> dict[str, Any]:
        ids = [self._llama.tokenize(text.encode(), add_bos=False, special=True) for text in texts]
        return {"ids": ids}

    def write(self, ids: list[int], num_tokens: int) -> dict[str, Any]:
        """The likeliest ids, one after the other."""
        self._llama.reset()
        drawn = self._llama.generate(ids, top_k=1, top_p=1.0, min_p=0.0, temp=0.0, repeat_penalty=1.0)
        return {"ids": list(itertools.islice(drawn, num_tokens))}


if __name__ == "__main__":
    model = Model()
    serve({"open": model.open, "encode": model.encode, "write": model.write})
