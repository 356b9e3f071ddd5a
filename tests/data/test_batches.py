"""Batches: every window and no other, each block once an epoch, every target scored once."""

import resource
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch

from groundup.data.batches import batch_at, eval_batches, get_batch
from groundup.data.order import blocks_per_epoch
from groundup.data.tokens import open_tokens
from groundup.errors import DataError

IDS = np.arange(100, 200, dtype=np.uint16)


def starts_of(inputs: torch.Tensor, targets: torch.Tensor) -> list[int]:
    """Where the windows of IDS begin, after checking that they are windows."""
    assert inputs.dtype == targets.dtype == torch.int64
    assert inputs.is_contiguous() and targets.is_contiguous()
    assert torch.equal(inputs + 1, targets)
    assert torch.equal(inputs, inputs[:, :1] + torch.arange(inputs.shape[1]))
    return (inputs[:, 0] - 100).tolist()


def test_get_batch_reaches_every_start_and_no_other() -> None:
    generator = torch.Generator().manual_seed(0)
    inputs, targets = get_batch(IDS[:20], 4000, 7, "cpu", generator)
    counts = Counter(starts_of(inputs, targets))
    assert set(counts) == set(range(13))
    assert max(abs(count - 4000 / 13) for count in counts.values()) < 5 * (4000 / 13) ** 0.5


def test_get_batch_follows_its_generator() -> None:
    one, two, three = (get_batch(IDS, 8, 4, "cpu", torch.Generator().manual_seed(seed))[0] for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, three)


def test_one_start_in_context_plus_one_ids() -> None:
    inputs, targets = get_batch(IDS[:9], 5, 8, torch.device("cpu"))
    assert inputs.tolist() == [list(range(100, 108))] * 5
    assert targets.tolist() == [list(range(101, 109))] * 5


@pytest.mark.parametrize("num_ids", [0, 1, 8])
def test_too_few_ids(num_ids: int) -> None:
    message = f"holds {num_ids} ids; context_length 8 needs at least 9"
    with pytest.raises(DataError, match=message):
        get_batch(IDS[:num_ids], 2, 8, "cpu")
    with pytest.raises(DataError, match=message):
        batch_at(IDS[:num_ids], step=0, batch_size=2, context_length=8, seed=0)


@pytest.mark.parametrize("device", ["cuda:99", "nonsense", "mps:7"])
def test_a_device_that_does_not_exist(device: str) -> None:
    with pytest.raises(RuntimeError):
        get_batch(IDS, 2, 8, device)


@pytest.mark.parametrize("ids", [IDS.reshape(10, 10), IDS.astype(np.float32)], ids=["2-D", "float"])
def test_what_is_no_row_of_ids(ids: np.ndarray) -> None:
    with pytest.raises(DataError, match="must be integers in one dimension"):
        get_batch(ids, 2, 8, "cpu")
    with pytest.raises(DataError, match="must be integers in one dimension"):
        eval_batches(ids, 2, 8)


def test_ids_outside_the_vocabulary_are_named() -> None:
    ids = np.array([1, 2, 3, 70, 4], dtype=np.uint16)
    with pytest.raises(DataError, match="id 70 at index 3 is outside the vocabulary of 70 entries"):
        get_batch(ids, 4, 4, "cpu", vocab_size=70)
    with pytest.raises(DataError, match="id 70 at index 3"):
        batch_at(ids, step=0, batch_size=1, context_length=4, seed=0, vocab_size=70)
    with pytest.raises(DataError, match="id 70 at index 3"):
        list(eval_batches(ids, 1, 2, vocab_size=70))
    with pytest.raises(DataError, match="id -1 at index 0"):
        get_batch(np.array([-1, 0]), 1, 1, "cpu", vocab_size=70)
    assert get_batch(ids, 1, 4, "cpu", vocab_size=71)[0].tolist() == [[1, 2, 3, 70]]


def epoch_starts(steps: range, *, batch_size: int, world_size: int = 1, context_length: int = 8) -> list[int]:
    return [
        start
        for step in steps
        for rank in range(world_size)
        for start in starts_of(
            *batch_at(
                IDS,
                step=step,
                batch_size=batch_size,
                context_length=context_length,
                seed=4,
                rank=rank,
                world_size=world_size,
            )
        )
    ]


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize("batch_size", [1, 4, 5, 30])
def test_each_block_once_an_epoch_at_any_batch_and_world_size(batch_size: int, world_size: int) -> None:
    blocks = blocks_per_epoch(len(IDS), 8)
    assert blocks == 12
    epochs = 10  # as many as make whole steps at all of these sizes, or more
    steps = -(-epochs * blocks // (batch_size * world_size))
    starts = epoch_starts(range(steps), batch_size=batch_size, world_size=world_size)[: epochs * blocks]
    orders = [starts[i : i + blocks] for i in range(0, len(starts), blocks)]
    for order in orders:
        assert (np.diff(sorted(order)) == 8).all()
    assert starts == epoch_starts(range(epochs * blocks), batch_size=1), "one order for all sizes"
    assert len({tuple(np.argsort(order)) for order in orders}) == epochs, "a new order each epoch"


def test_the_union_over_ranks_is_the_batch_of_one_rank() -> None:
    shared = dict(step=7, context_length=8, seed=3)
    whole = batch_at(IDS, batch_size=6, **shared)
    parts = [batch_at(IDS, batch_size=2, rank=rank, world_size=3, **shared) for rank in range(3)]
    for number in (0, 1):
        assert torch.equal(torch.cat([part[number] for part in parts]), whole[number])


def test_batches_of_changing_size_follow_each_other() -> None:
    """With `first`, what the batches before have taken, no window is left out or seen twice; ranks share as always."""
    shared = dict(context_length=8, seed=3)
    taken, starts = 0, []
    for step, size in enumerate((2, 2, 4, 8, 8)):
        starts += starts_of(*batch_at(IDS, step=step, batch_size=size, first=taken, **shared))
        taken += size
    assert starts == starts_of(*batch_at(IDS, step=0, batch_size=24, **shared))
    whole, _ = batch_at(IDS, step=7, batch_size=6, first=10, **shared)
    parts = [batch_at(IDS, step=7, batch_size=3, first=10, rank=r, world_size=2, **shared)[0] for r in range(2)]
    assert torch.equal(torch.cat(parts), whole)


@pytest.mark.parametrize("sampling", ["epoch", "random"])
def test_a_batch_is_a_pure_function(sampling: str) -> None:
    def draw(step: int, seed: int) -> torch.Tensor:
        return batch_at(IDS, step=step, batch_size=4, context_length=8, seed=seed, sampling=sampling)[0]  # type: ignore[arg-type]

    forward = [draw(step, 0) for step in range(6)]
    torch.manual_seed(99)
    backward = [draw(step, 0) for step in reversed(range(6))]
    assert all(torch.equal(a, b) for a, b in zip(forward, reversed(backward), strict=True))
    assert not torch.equal(draw(3, 0), draw(3, 1))
    assert not torch.equal(draw(3, 0), draw(4, 0))


def test_random_sampling_reaches_every_start() -> None:
    starts = starts_of(*batch_at(IDS, step=0, batch_size=3000, context_length=8, seed=0, sampling="random"))
    assert set(starts) == set(range(92))


@pytest.mark.parametrize("batch_size", [1, 7, 64])
@pytest.mark.parametrize("num_ids", [2, 7, 8, 9, 10, 17, 100])
def test_evaluation_scores_every_target_once(num_ids: int, batch_size: int) -> None:
    rows = []
    for inputs, targets in eval_batches(IDS[:num_ids], batch_size, 8):
        assert len(inputs) <= batch_size
        starts_of(inputs, targets)
        rows += list(zip(inputs.tolist(), targets.tolist(), strict=True))
    assert [target for _, targets in rows for target in targets] == list(range(101, 100 + num_ids))
    assert rows == [
        row
        for batch in eval_batches(IDS[:num_ids], 1, 8)
        for row in zip(batch[0].tolist(), batch[1].tolist(), strict=True)
    ]
    assert all(len(inputs) == 8 for inputs, _ in rows[:-1])


def test_evaluation_needs_two_ids() -> None:
    with pytest.raises(DataError, match="holds 1 ids; context_length 1 needs at least 2"):
        eval_batches(IDS[:1], 4, 8)


def test_arrays_memmaps_and_files_give_the_same_batches(tmp_path: Path) -> None:
    IDS.tofile(tmp_path / "ids.bin")
    mapped = np.memmap(tmp_path / "ids.bin", dtype=np.uint16, mode="r")
    stored = open_tokens(tmp_path / "ids.bin")
    for ids in (mapped, stored):
        for mine, plain in zip(eval_batches(ids, 3, 8), eval_batches(IDS, 3, 8), strict=True):
            assert torch.equal(mine[0], plain[0]) and torch.equal(mine[1], plain[1])
        mine, plain = (batch_at(x, step=5, batch_size=4, context_length=8, seed=0) for x in (ids, IDS))
        assert torch.equal(mine[0], plain[0]) and torch.equal(mine[1], plain[1])


STATM = Path("/proc/self/statm")


@pytest.mark.skipif(not STATM.exists(), reason="needs /proc")
def test_resident_memory_is_flat_over_many_batches(tmp_path: Path) -> None:
    with (tmp_path / "ids.bin").open("wb") as file:
        file.truncate(64 << 20)  # sparse: it takes no room on the disk
    tokens = open_tokens(tmp_path / "ids.bin")
    resident = []
    for step in range(800):
        batch_at(tokens, step=step, batch_size=4, context_length=4096, seed=0)
        if step in (100, 799):
            resident.append(int(STATM.read_text().split()[1]) * resource.getpagesize())
    assert resident[1] - resident[0] < 4 << 20, "a mapped file would have added some 25 MiB of pages touched"
