"""The matrix products of a training step alone: how many operations a second this machine reaches at best.

Each weight matrix gives three products: forward, the gradient of what came in, the gradient of the weight.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
from protocol import serve
from torch import Tensor
from torch_training import send_products_to_onednn

REPEATS = 2  # the faster one counts: what is wanted is the limit


class Products:
    """The products of a model of some shape over some number of tokens, in one precision."""

    def set_up(self, *, shape: dict[str, int], num_tokens: int, precision: str, threads: int) -> dict[str, Any]:
        torch.set_num_threads(threads)
        d_model, d_ff = shape["d_model"], shape["d_ff"]
        self._widths = {  # rows and columns of each kind of weight, as they are multiplied with
            "queries, keys, values": (3 * d_model, d_model),
            "attention output": (d_model, d_model),
            "gate and up": (2 * d_ff, d_model),
            "down": (d_model, d_ff),
            "head": (shape["vocab_size"], d_model),
        }
        self._num_tokens = num_tokens
        self._dtype = {"float32": torch.float32, "bf16": torch.bfloat16}[precision]
        self._libraries: dict[str, Callable[[], None]] = {"bf16": lambda: None}
        if precision == "float32":
            self._libraries = {"default": leave_products_to_torch, "oneDNN": send_products_to_onednn}
        return {"kinds": list(self._widths)}

    def measure(self) -> dict[str, Any]:
        """FLOPs per second of the fastest of three products, by library and kind of weight."""
        found = {}
        for library, choose in self._libraries.items():
            try:
                choose()
            except RuntimeError:  # oneDNN would round
                continue
            for kind, (rows, columns) in self._widths.items():
                found[f"{library}: {kind}"] = self._flops_per_s(rows, columns)
        return {"flops_per_s": found}

    def _flops_per_s(self, rows: int, columns: int) -> float:
        x = torch.randn(self._num_tokens, columns).to(self._dtype)
        weight, gradient = torch.randn(rows, columns).to(self._dtype), torch.randn(self._num_tokens, rows)
        gradient = gradient.to(self._dtype)
        products = (lambda: x @ weight.T, lambda: gradient @ weight, lambda: gradient.T @ x)
        fastest_s = min(min(_seconds(product) for _ in range(REPEATS)) for product in products)
        return 2 * self._num_tokens * rows * columns / fastest_s


def leave_products_to_torch() -> None:
    """The setting of float32 products that torch begins with."""
    torch.backends.mkldnn.matmul.fp32_precision = "none"


def _seconds(product: Callable[[], Tensor]) -> float:
    begin = time.perf_counter()
    product()
    return time.perf_counter() - begin


if __name__ == "__main__":
    products = Products()
    serve({"set_up": products.set_up, "measure": products.measure})
