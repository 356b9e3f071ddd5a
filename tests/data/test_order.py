"""The order of windows: a permutation without a table, pure in seed and position."""

import numpy as np
import pytest

from groundup.data.order import blocks_per_epoch, permuted, require_ids, window_starts
from groundup.errors import DataError


def whole_epoch(size: int, seed: int = 0, epoch: int = 0) -> np.ndarray:
    return permuted(np.arange(size), size, seed=seed, epochs=np.full(size, epoch))


@pytest.mark.parametrize("size", [*range(1, 70), 1000, 10_007, 1 << 16])
def test_every_place_has_one_image(size: int) -> None:
    assert sorted(whole_epoch(size, seed=3).tolist()) == list(range(size))


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_every_block_is_as_likely_at_every_place(size: int) -> None:
    trials = 3000
    places = np.tile(np.arange(size), trials)
    images = permuted(places, size, seed=0, epochs=np.repeat(np.arange(trials), size))
    found = np.bincount(places * size + images, minlength=size * size)
    expected = trials / size
    assert np.abs(found - expected).max() < 5 * np.sqrt(expected)  # five standard deviations


def test_small_permutations_all_occur() -> None:
    assert len({tuple(whole_epoch(4, seed=seed).tolist()) for seed in range(500)}) == 24


def test_orders_of_seeds_and_epochs_have_nothing_in_common() -> None:
    size = 20_000
    base = whole_epoch(size)
    for other in (np.arange(size), whole_epoch(size, seed=1), whole_epoch(size, epoch=1), whole_epoch(size, seed=-1)):
        assert abs(np.corrcoef(base, other)[0, 1]) < 0.04
        assert (base == other).sum() < 12  # of a random pair, one place agrees on average
    assert abs(np.corrcoef(base[:-1], base[1:])[0, 1]) < 0.04


def test_any_python_integer_is_a_seed() -> None:
    orders = {tuple(whole_epoch(50, seed=seed).tolist()) for seed in (0, 1, -1, 2**63, 2**64 - 2)}
    assert len(orders) == 5


@pytest.mark.parametrize("num_ids", [9, 10, 11, 40, 41, 47])
@pytest.mark.parametrize("context_length", [1, 3, 8])
def test_an_epoch_is_made_of_blocks_that_do_not_overlap(num_ids: int, context_length: int) -> None:
    count = blocks_per_epoch(num_ids, context_length)
    starts = window_starts(np.arange(3 * count), num_ids, context_length, seed=5).reshape(3, count)
    for epoch in starts:
        ordered = np.sort(epoch)
        assert (np.diff(ordered) == context_length).all()
        assert 0 <= ordered[0] <= (num_ids - 1) % context_length
        assert ordered[-1] + context_length < num_ids, "the last target is inside"


def test_the_offset_moves_so_that_no_id_is_always_left_out() -> None:
    num_ids, context_length = 29, 8  # 3 blocks, 4 ids to spare
    starts = window_starts(np.arange(3 * 200), num_ids, context_length, seed=0).reshape(200, 3)
    offsets = starts.min(axis=1)
    assert set(offsets.tolist()) == {0, 1, 2, 3, 4}
    assert starts.max() + context_length == num_ids - 1


def test_a_position_does_not_depend_on_what_is_asked_with_it() -> None:
    positions = np.array([0, 5, 6, 7, 10**15, 3])
    together = window_starts(positions, 60, 8, seed=9)
    alone = [window_starts(np.array([p]), 60, 8, seed=9)[0] for p in positions]
    assert together.tolist() == alone


def test_random_starts_reach_every_place_and_no_other() -> None:
    starts = window_starts(np.arange(4000), 20, 8, seed=1, sampling="random")
    counts = np.bincount(starts)
    assert len(counts) == 12  # 0 .. n - T - 1
    assert np.abs(counts - 4000 / 12).max() < 5 * np.sqrt(4000 / 12)


def test_the_number_of_ids_needed_is_named() -> None:
    with pytest.raises(DataError, match="holds 8 ids; context_length 8 needs at least 9"):
        window_starts(np.arange(1), 8, 8, seed=0)
    with pytest.raises(DataError, match="context_length is 0"):
        require_ids(8, 0)
    assert blocks_per_epoch(9, 8) == 1
