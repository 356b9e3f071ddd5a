"""AdamW, the norm of gradients and their scaling, over many tensors at once, against float64."""

import numpy as np
import pytest
from kernels.arrays import THREADS, address, as_exact, as_values, relative_error, to_bf16, tolerance, unwritten

from groundup import _native

both_types = pytest.mark.parametrize("bf16", [False, True])
SIZES = [1, 7, 0, 16, 33, 40_000, 5, 70_001]  # of tensors; the large ones in several ranges
LR, BETA1, BETA2, EPS, DECAY = 0.01, 0.9, 0.95, 1e-8, 0.1


def tensors(bf16, seed=0):
    """Parameters, m, v (of size 1, 0.1 and 0.01) and gradients."""
    generator = np.random.default_rng(seed)
    draw = [generator.standard_normal(size).astype(np.float32) for size in SIZES]
    m = [0.1 * generator.standard_normal(size).astype(np.float32) for size in SIZES]
    v = [0.01 * generator.random(size).astype(np.float32) for size in SIZES]
    return draw, m, v, [as_values(generator.standard_normal(size), bf16) for size in SIZES]


def update(parameters, m, v, gradients, bf16, t, copies=None, num_threads=1):
    """In place."""
    copies = [None] * len(parameters) if copies is None else copies
    # Every other tensor is not decayed.
    keeps = [1 - LR * DECAY * (i % 2) for i in range(len(parameters))]
    _native.adamw(
        [
            (*map(address, arrays), arrays[0].size, keep, LR / (1 - BETA1**t), (1 - BETA2**t) ** 0.5)
            for *arrays, keep in zip(parameters, m, v, gradients, copies, keeps, strict=True)
        ],
        m_share=1 - BETA1,
        v_keep=BETA2,
        v_share=1 - BETA2,
        eps=EPS,
        bf16=bf16,
        num_threads=num_threads,
    )


def exact_update(parameters, m, v, gradients, t):
    for i, (p, m_i, v_i, g) in enumerate(zip(parameters, m, v, gradients, strict=True)):
        p *= 1 - LR * DECAY * (i % 2)
        m_i += (1 - BETA1) * (g - m_i)
        v_i += (1 - BETA2) * (g * g - v_i)
        p -= LR * (m_i / (1 - BETA1**t)) / (np.sqrt(v_i / (1 - BETA2**t)) + EPS)


@both_types
def test_adamw(variant, bf16):
    parameters, m, v, gradients = tensors(bf16)
    exact = [[as_exact(x) for x in some] for some in (parameters, m, v, gradients)]
    copies = [unwritten(size, bf16=True) for size in SIZES]
    for t in range(1, 6):
        update(parameters, m, v, gradients, bf16, t, copies)
        exact_update(*exact, t)
    for ours, wanted in zip((parameters, m, v), exact, strict=False):
        assert relative_error(np.concatenate(ours), np.concatenate(wanted)) < 1e-6
    for parameter, copy in zip(parameters, copies, strict=True):
        np.testing.assert_array_equal(copy, to_bf16(parameter))


def test_a_gradient_that_has_always_been_zero_moves_nothing(variant):
    parameters, m, v, gradients = ([np.full(9, x, dtype=np.float32)] for x in (2, 0, 0, 0))
    update(parameters, m, v, gradients, False, 1)
    np.testing.assert_array_equal(parameters[0], np.full(9, 2, dtype=np.float32))


@both_types
def test_threads_change_nothing(variant, bf16):
    results = []
    for num_threads in (1, THREADS, 5):
        parameters, m, v, gradients = tensors(bf16)
        update(parameters, m, v, gradients, bf16, 3, num_threads=num_threads)
        items = [(address(g), g.size) for g in gradients]
        total = _native.sum_of_squares(items, bf16=bf16, num_threads=num_threads)
        _native.scale(items, 0.7, bf16=bf16, num_threads=num_threads)
        results.append([np.concatenate(some) for some in (parameters, m, v, gradients)] + [np.array(total)])
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@both_types
def test_sum_of_squares(variant, bf16):
    gradients = tensors(bf16)[3]
    exact = sum(float((as_exact(g) ** 2).sum()) for g in gradients)
    items = [(address(g), g.size) for g in gradients]
    assert _native.sum_of_squares(items, bf16=bf16, num_threads=1) == pytest.approx(exact, rel=1e-6)
    assert _native.sum_of_squares([], bf16=bf16, num_threads=1) == 0


def test_small_values_among_millions_are_not_lost(variant):
    # Added one by one in float32, the sum would stop growing at 2^24.
    ones = np.ones(20_000_000, dtype=np.float32)
    assert _native.sum_of_squares([(address(ones), ones.size)], bf16=False, num_threads=1) == 20_000_000


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_the_sum_shows_what_is_not_finite(variant, odd):
    x = np.zeros(3000, dtype=np.float32)
    x[2000] = odd
    total = _native.sum_of_squares([(address(x), x.size)], bf16=False, num_threads=1)
    np.testing.assert_array_equal(total, odd)


@both_types
def test_scale(variant, bf16):
    gradients = tensors(bf16)[3]
    exact = [0.3 * as_exact(g) for g in gradients]
    _native.scale([(address(g), g.size) for g in gradients], 0.3, bf16=bf16, num_threads=1)
    assert relative_error(np.concatenate(gradients), np.concatenate(exact)) < tolerance(bf16)
