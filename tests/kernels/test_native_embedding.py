"""The embedding and its gradient: ids that repeat, rows nobody names, sums in the order of the rows."""

import numpy as np
import pytest
from kernels.arrays import SIZES, THREADS, address, as_exact, as_values, relative_error, unwritten

from groundup import _native

both_types = pytest.mark.parametrize("bf16", [False, True])
VOCAB_SIZE = 12


def ids_that_repeat(rows, seed=0):
    """Three quarters of them one id; some of the vocabulary never come."""
    generator = np.random.default_rng(seed)
    return np.where(generator.random(rows) < 0.75, 3, generator.integers(0, VOCAB_SIZE - 2, rows))


def backward(out_gradient, ids, bf16, accumulate_on=None, num_threads=1):
    rows, columns = out_gradient.shape
    gradient = unwritten(VOCAB_SIZE, columns) if accumulate_on is None else accumulate_on.copy()
    _native.embedding_backward(
        *map(address, (out_gradient, ids, gradient)),
        rows=rows,
        columns=columns,
        vocab_size=VOCAB_SIZE,
        accumulate=accumulate_on is not None,
        bf16=bf16,
        num_threads=num_threads,
    )
    return gradient


@both_types
@pytest.mark.parametrize("columns", SIZES)
def test_forward_copies_rows(variant, columns, bf16):
    weight = as_values(np.random.default_rng(0).standard_normal((VOCAB_SIZE, columns)), bf16)
    ids, out = ids_that_repeat(9), unwritten(9, columns, bf16=bf16)
    _native.embedding(
        *map(address, (weight, ids, out)),
        rows=9,
        columns=columns,
        vocab_size=VOCAB_SIZE,
        bf16=bf16,
        num_threads=1,
    )
    np.testing.assert_array_equal(out, weight[ids])


@both_types
@pytest.mark.parametrize("columns", SIZES)
def test_backward_sums_the_rows_of_each_id(variant, columns, bf16):
    generator = np.random.default_rng(1)
    out_gradient, ids = as_values(generator.standard_normal((40, columns)), bf16), ids_that_repeat(40)
    exact = np.zeros((VOCAB_SIZE, columns))
    np.add.at(exact, ids, as_exact(out_gradient))
    gradient = backward(out_gradient, ids, bf16)
    assert relative_error(gradient, exact) < 1e-6
    assert (gradient[-2:] == 0).all()
    before = generator.standard_normal((VOCAB_SIZE, columns)).astype(np.float32)
    assert relative_error(backward(out_gradient, ids, bf16, accumulate_on=before), exact + before) < 1e-6


@both_types
def test_threads_change_nothing(variant, bf16):
    out_gradient = as_values(np.random.default_rng(2).standard_normal((500, 200)), bf16)
    ids = ids_that_repeat(500)
    np.testing.assert_array_equal(
        backward(out_gradient, ids, bf16, num_threads=1), backward(out_gradient, ids, bf16, num_threads=THREADS)
    )


@pytest.mark.parametrize("bad", [-1, VOCAB_SIZE])
def test_an_id_outside_the_vocabulary_is_refused(bad):
    ids = ids_that_repeat(5)
    ids[4] = bad
    with pytest.raises(IndexError, match=f"id {bad} at place 4 is not one of the vocabulary's {VOCAB_SIZE}"):
        backward(np.zeros((5, 3), dtype=np.float32), ids, False)


def test_nothing_to_do(variant):
    gradient = backward(np.zeros((0, 5), dtype=np.float32), np.zeros(0, dtype=np.int64), False)
    np.testing.assert_array_equal(gradient, np.zeros((VOCAB_SIZE, 5), dtype=np.float32))
