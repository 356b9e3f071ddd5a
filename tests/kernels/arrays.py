"""Arrays for the native kernels without torch, so that these tests run on the sanitized core.

Each is an object of its own, so that a read or write past its end is seen; what a kernel must write starts as NaN.
"""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.generic]
SIZES = [1, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 67, 130, 515]  # around the widths of vectors and of four of them
THREADS = 2


def address(array: Array | None) -> int:
    if array is None:
        return 0
    assert array.flags.c_contiguous
    return array.ctypes.data


def to_bf16(x: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    """To the nearest, ties to even. Of numbers only, no NaN."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bf16(bits: npt.NDArray[np.uint16]) -> npt.NDArray[np.float32]:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def as_values(x: npt.ArrayLike, bf16: bool) -> Array:
    """As a kernel for these values takes it."""
    wide = np.ascontiguousarray(x, dtype=np.float32)
    return to_bf16(wide) if bf16 else wide


def as_exact(values: Array) -> npt.NDArray[np.float64]:
    """The same in float64: what the oracle starts from."""
    return (from_bf16(values) if values.dtype == np.uint16 else values).astype(np.float64)


def unwritten(*shape: int, bf16: bool = False) -> Array:
    nan = np.full(shape, np.nan, dtype=np.float32)
    return (nan.view(np.uint32) >> 16).astype(np.uint16) if bf16 else nan


def relative_error(ours: Array, exact: npt.NDArray[np.float64]) -> float:
    """|ours - exact| / |exact| by Euclidean lengths; infinite if anything is left unwritten."""
    error = np.linalg.norm(as_exact(ours) - exact)
    return float(np.nan_to_num(error / max(np.linalg.norm(exact), 1e-30), nan=np.inf))


def tolerance(bf16: bool) -> float:
    """bf16 rounds a result by at most one part in 256."""
    return 2**-8 if bf16 else 1e-6
