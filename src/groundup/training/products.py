"""Matrix products in float32 through oneDNN, which on many CPUs is 1.5 times as fast as torch's default.

One process-wide switch of torch sends float32 products there. It is named after bf16 because on CPUs
with AMX the library may then round to bf16; so it is tried first, and used only where the results are as
exact as before. It is set while a run trains, never at import, and put back afterwards.
"""

import contextlib
import logging
from collections.abc import Iterator
from typing import Any

import torch

log = logging.getLogger(__name__)

# The relative error of a float32 product of this size is about 2.4e-7; one rounded to bf16 has 3e-3.
EXACT_ENOUGH = 1e-6


@contextlib.contextmanager
def fast_products(device: str, *, wanted: bool) -> Iterator[None]:
    """While open, float32 products on a CPU go through oneDNN if `wanted` and if that keeps them exact."""
    settings: Any = getattr(torch.backends.mkldnn, "matmul", None)  # torch 2.9 and newer
    if not wanted or device != "cpu" or settings is None or not torch.backends.mkldnn.is_available():
        yield
        return
    before = settings.fp32_precision
    try:
        settings.fp32_precision = "bf16"
        error = product_error()
        if error <= EXACT_ENOUGH:
            log.info("float32 products: through oneDNN (relative error %.1e; kernels: reference turns it off)", error)
        else:
            settings.fp32_precision = before
            log.info("float32 products: torch's default (oneDNN would round them, relative error %.1e)", error)
        yield
    finally:
        settings.fp32_precision = before


def product_error() -> float:
    """The relative error of a float32 product as products are computed now, against float64."""
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(64, 512, generator=generator)
    b = torch.randn(512, 256, generator=generator)
    exact = a.double() @ b.double()
    return float(((a @ b).double() - exact).norm() / exact.norm())
