"""Which window of the ids comes when: a pure function of seed and position, with nothing to store.

Training asks for the windows at positions 0, 1, 2, ... of one endless order. Every position can be computed
on its own, so that a resumed run, or one rank of many, needs no state to find its place. Numpy only;
`batches.py` reads the windows and makes tensors of them.
"""

import math
from typing import Literal

import numpy as np
import numpy.typing as npt

from groundup.errors import DataError

Sampling = Literal["epoch", "random"]
Integers = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint64]

_ALL_BITS = (1 << 64) - 1
_ROUNDS = 4
_ORDER, _OFFSET, _START = 1, 2, 3  # one stream of random numbers for each question


def window_starts(
    positions: Integers, num_ids: int, context_length: int, *, seed: int, sampling: Sampling = "epoch"
) -> Integers:
    """The first index of the window at each position; a window spans context_length + 1 ids.

    "epoch": the ids, less an offset drawn for each epoch, are cut into blocks of context_length, and each block
    comes once an epoch in an order drawn for that epoch. Epochs follow each other without a gap. The offset, 0
    to (num_ids - 1) mod context_length, moves what is left over to other places, so that no id is always left out.
    "random": any start from 0 to num_ids - context_length - 1, with replacement.

    >>> window_starts(np.arange(8), 10, 2, seed=0).tolist()  # 4 blocks an epoch: two epochs
    [0, 2, 6, 4, 4, 2, 0, 6]
    """
    require_ids(num_ids, context_length)
    if sampling == "random":
        drawn = _hash(seed, _START, positions) % np.uint64(num_ids - context_length)
        return drawn.astype(np.int64)
    num_blocks = blocks_per_epoch(num_ids, context_length)
    epochs, places = np.divmod(positions, num_blocks)
    spare = (num_ids - 1) % context_length
    offsets = _hash(seed, _OFFSET, epochs) % np.uint64(spare + 1)
    return offsets.astype(np.int64) + permuted(places, num_blocks, seed=seed, epochs=epochs) * context_length


def blocks_per_epoch(num_ids: int, context_length: int) -> int:
    """How many blocks of context_length inputs, each with its target, the ids hold."""
    return (num_ids - 1) // context_length


def require_ids(num_ids: int, context_length: int) -> None:
    """Raise DataError unless the ids hold one window."""
    if context_length < 1:
        raise DataError(f"context_length is {context_length}; it must be at least 1")
    if num_ids <= context_length:
        raise DataError(
            f"the data holds {num_ids} ids; context_length {context_length} needs at least {context_length + 1} "
            "(inputs, and the targets one further): use more text or a shorter context"
        )


def permuted(places: Integers, size: int, *, seed: int, epochs: Integers) -> Integers:
    """Where a random permutation of 0 .. size-1, one for each epoch, sends each place.

    Nothing of length `size` is made: the numbers stand row by row in a grid that is about square, and in each
    round every column turns by an amount drawn from its number, then every row likewise. A turn can be undone,
    so the whole is a permutation of the grid: a Feistel network with addition. The grid is up to a column
    larger than `size`; what lands in the spare cells is sent on until it lands inside (Black & Rogaway, Ciphers
    with Arbitrary Finite Domains, 2002).

    >>> permuted(np.arange(10), 10, seed=7, epochs=np.zeros(10, dtype=np.int64)).tolist()
    [7, 0, 5, 3, 9, 2, 1, 8, 4, 6]
    """
    num_rows = math.isqrt(size - 1) + 1
    num_columns = -(-size // num_rows)
    keys = _hash(seed, _ORDER, epochs)
    result = _turned(places.astype(np.uint64), keys, num_rows, num_columns)
    while (outside := result >= size).any():
        result[outside] = _turned(result[outside], keys[outside], num_rows, num_columns)
    return result.astype(np.int64)


def _turned(places: Hashes, keys: Hashes, num_rows: int, num_columns: int) -> Hashes:
    rows, columns = np.divmod(places, np.uint64(num_columns))
    for number in range(_ROUNDS):
        rows = (rows + _mixed(keys + np.uint64(2 * number), columns)) % np.uint64(num_rows)
        columns = (columns + _mixed(keys + np.uint64(2 * number + 1), rows)) % np.uint64(num_columns)
    return rows * np.uint64(num_columns) + columns


def _hash(seed: int, stream: int, numbers: Integers) -> Hashes:
    """A random 64-bit number for each number: the same for the same seed and stream."""
    key = _mixed(np.array([stream], dtype=np.uint64), np.array([seed & _ALL_BITS], dtype=np.uint64))
    return _mixed(key, numbers.astype(np.uint64))


def _mixed(keys: Hashes, numbers: Hashes) -> Hashes:
    """Keys and numbers, all bits of both spread over 64 (finalizer of SplitMix64, Steele, Lea & Flood, 2014)."""
    bits = (keys * np.uint64(0x9E3779B97F4A7C15)) ^ numbers
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))
