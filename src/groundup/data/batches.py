"""Windows of ids as training and evaluation batches: inputs, and targets one id further.

Three ways to choose the windows: `get_batch` anywhere at random, as the specification has it; `batch_at` a
pure function of seed and step, for training that can stop and go on; `eval_batches` all of them, once.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Int64
from torch import Tensor

from groundup.data.order import Integers, Sampling, require_ids, window_starts
from groundup.data.tokens import Tokens
from groundup.errors import DataError

Ids = Tokens | np.ndarray  # 1-D, integers; np.memmap is one
Batch = tuple[Int64[Tensor, "batch seq"], Int64[Tensor, "batch seq"]]


def get_batch(
    ids: Ids,
    batch_size: int,
    context_length: int,
    device: str | torch.device,
    generator: torch.Generator | None = None,
    *,
    vocab_size: int | None = None,
) -> Batch:
    """Inputs and targets of `batch_size` windows that start anywhere, drawn with replacement.

    With n ids each start 0 .. n - context_length - 1 is as likely as the others: inputs are ids[s : s + T],
    targets ids[s + 1 : s + T + 1].

    Raises:
        DataError: Fewer than context_length + 1 ids; an id outside of `vocab_size`, where that is given.
        RuntimeError: A device that does not exist.
    """
    _require_1d(ids)
    require_ids(len(ids), context_length)
    drawn_on = generator.device if generator is not None else torch.device("cpu")
    starts = torch.randint(len(ids) - context_length, (batch_size,), generator=generator, device=drawn_on)
    inputs, targets = _windows(ids, starts.cpu().numpy(), context_length, vocab_size)
    try:
        return inputs.to(device), targets.to(device)
    except AssertionError as error:  # torch's answer to "cuda" where it was built without
        raise RuntimeError(f"device {str(device)!r} cannot be used: {error}") from error


def batch_at(
    tokens: Ids,
    *,
    step: int,
    batch_size: int,
    context_length: int,
    seed: int,
    rank: int = 0,
    world_size: int = 1,
    sampling: Sampling = "epoch",
    vocab_size: int | None = None,
    first: int | None = None,
) -> Batch:
    """Inputs and targets that one rank sees at one step, on the CPU: the same for the same arguments.

    Rank r of W takes the positions (step * W + r) * batch_size + 0 .. batch_size - 1 of the order that
    `order.py` defines, so that W ranks together see what one rank with a W times larger batch sees, and no
    block is lost at the end of an epoch, whatever the batch size. Where the size changes on the way, `first` says where
    the batches of this step begin.

    Raises DataError as `get_batch` does.
    """
    assert step >= 0 and 0 <= rank < world_size
    _require_1d(tokens)
    first = (step * world_size * batch_size if first is None else first) + rank * batch_size
    positions = np.arange(first, first + batch_size, dtype=np.int64)
    starts = window_starts(positions, len(tokens), context_length, seed=seed, sampling=sampling)
    return _windows(tokens, starts, context_length, vocab_size)


def eval_batches(
    tokens: Ids, batch_size: int, context_length: int, *, vocab_size: int | None = None
) -> Iterator[Batch]:
    """Batches that score every id but the first once, in order, each window without what went before it.

    The windows have context_length inputs; the last one, if shorter, comes as a batch of its own. Their cuts do
    not depend on `batch_size`. At least 2 ids are needed.
    """
    _require_1d(tokens)
    require_ids(len(tokens), 1)
    return _eval_batches(tokens, batch_size, context_length, vocab_size)


def _eval_batches(tokens: Ids, batch_size: int, context_length: int, vocab_size: int | None) -> Iterator[Batch]:
    whole, rest = divmod(len(tokens) - 1, context_length)
    for first in range(0, whole, batch_size):
        starts = np.arange(first, min(first + batch_size, whole), dtype=np.int64) * context_length
        yield _windows(tokens, starts, context_length, vocab_size)
    if rest:
        yield _windows(tokens, np.array([whole * context_length]), rest, vocab_size)


def _windows(ids: Ids, starts: Integers, context_length: int, vocab_size: int | None) -> Batch:
    """The windows at the starts. Each is read on its own: only these ids come into memory."""
    if isinstance(ids, np.ndarray):
        ids = ids.view(np.ndarray)  # slices of a memmap carry bookkeeping that takes longer than the copy
    windows = np.empty((len(starts), context_length + 1), dtype=np.int64)
    for window, start in zip(windows, starts.tolist(), strict=True):
        window[:] = ids[start : start + context_length + 1]
    if vocab_size is not None and (windows.min() < 0 or windows.max() >= vocab_size):
        row, column = np.argwhere((windows < 0) | (windows >= vocab_size))[0]
        raise DataError(
            f"id {windows[row, column]} at index {starts[row] + column} is outside the vocabulary of "
            f"{vocab_size} entries; use the tokenizer that the data was prepared with"
        )
    inputs, targets = np.ascontiguousarray(windows[:, :-1]), np.ascontiguousarray(windows[:, 1:])
    return torch.from_numpy(inputs), torch.from_numpy(targets)


def _require_1d(ids: Ids) -> None:
    if len(ids.shape) != 1 or ids.dtype.kind not in "iu":
        raise DataError(f"ids are {ids.dtype} of shape {ids.shape}; they must be integers in one dimension")
