"""Residual sum and RMSNorm against the formula in float64, away from gains of 1, at odd sizes."""

import numpy as np
import pytest
from kernels.arrays import SIZES, THREADS, address, as_exact, as_values, relative_error, tolerance, unwritten

from groundup import _native

EPS = 1e-5


def inputs(rows, columns, bf16, seed=0):
    """(x, y, weight): values of size 3 around 1, gains from 0.5 to 2.5."""
    generator = np.random.default_rng(seed)
    x = (3 * generator.standard_normal((rows, columns)) + 1).astype(np.float32)
    y = as_values(generator.standard_normal((rows, columns)), bf16)
    return x, y, (0.5 + 2 * generator.random(columns)).astype(np.float32)


def forward(x, y, weight, bf16, num_threads=1, total=None):
    """(sum, normed, inverse_rms)"""
    total = unwritten(*x.shape) if total is None else total
    normed, inverse_rms = unwritten(*x.shape, bf16=bf16), unwritten(len(x))
    _native.add_rms_norm(
        *map(address, (x, y, weight, total, normed, inverse_rms)),
        rows=len(x),
        columns=x.shape[1],
        eps=EPS,
        bf16=bf16,
        num_threads=num_threads,
    )
    return total, normed, inverse_rms


def backward(gradient, x, inverse_rms, weight, residual, bf16, num_threads=1, x_gradient=None):
    """(x_gradient, its copy, weight_gradient)"""
    x_gradient = unwritten(*x.shape) if x_gradient is None else x_gradient
    copy, weight_gradient = unwritten(*x.shape, bf16=bf16), unwritten(x.shape[1])
    _native.add_rms_norm_backward(
        *map(address, (gradient, x, inverse_rms, weight, residual, x_gradient, copy, weight_gradient)),
        rows=len(x),
        columns=x.shape[1],
        bf16=bf16,
        num_threads=num_threads,
    )
    return x_gradient, copy, weight_gradient


def exact_backward(gradient, x, weight, residual):
    """By the quotient rule, in float64."""
    r = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
    g = gradient * weight
    dx = r * g - x * r**3 * (g * x).mean(-1, keepdims=True)
    return residual + dx, (gradient * x * r).sum(0)


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("columns", SIZES)
def test_forward(variant, columns, bf16):
    x, y, weight = inputs(5, columns, bf16)
    total, normed, inverse_rms = forward(x, y, weight, bf16)
    exact = x.astype(np.float64) + as_exact(y)
    r = 1 / np.sqrt((exact * exact).mean(-1) + EPS)
    assert relative_error(total, exact) < 1e-7
    assert relative_error(inverse_rms, r) < 1e-6
    assert relative_error(normed, exact * r[:, None] * weight) < tolerance(bf16)


@pytest.mark.parametrize("bf16", [False, True])
def test_without_a_summand_x_is_normed_as_it_is(variant, bf16):
    x, _, weight = inputs(4, 37, bf16)
    total, normed, _ = forward(x, None, weight, bf16)
    assert np.isnan(total).all()
    exact = x.astype(np.float64)
    exact = exact / np.sqrt((exact * exact).mean(-1, keepdims=True) + EPS) * weight
    assert relative_error(normed, exact) < tolerance(bf16)


def test_the_sum_may_take_the_place_of_x(variant):
    x, y, weight = inputs(4, 37, False)
    total, normed, _ = forward(x, y, weight, False)
    again = x.copy()
    _, normed_again, _ = forward(again, y, weight, False, total=again)
    np.testing.assert_array_equal(again, total)
    np.testing.assert_array_equal(normed_again, normed)


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("columns", SIZES)
@pytest.mark.parametrize("with_residual", [False, True])
def test_backward(variant, columns, bf16, with_residual):
    x, gradient, weight = inputs(70, columns, bf16, seed=1)
    x, gradient = 0.01 * x, as_values(as_exact(gradient) + 0.5, bf16)  # so small that eps counts
    _, _, inverse_rms = forward(x, None, weight, bf16)
    residual = inputs(70, columns, bf16, seed=2)[0] if with_residual else None
    x_gradient, copy, weight_gradient = backward(gradient, x, inverse_rms, weight, residual, bf16)
    exact_residual = 0.0 if residual is None else as_exact(residual)
    exact_x, exact_weight = exact_backward(as_exact(gradient), as_exact(x), as_exact(weight), exact_residual)
    # In a row of few values almost all cancels.
    assert relative_error(x_gradient, exact_x) < (1e-5 if columns > 4 else 1e-4)
    assert relative_error(copy, exact_x) < (2**-8 if bf16 else 1e-4)
    assert relative_error(weight_gradient, exact_weight) < 1e-5
    for given in (x, residual):  # whose place the gradient may take
        if given is not None:
            in_place = given.copy()
            pair = (in_place, residual) if given is x else (x, in_place)
            backward(gradient, pair[0], inverse_rms, weight, pair[1], bf16, x_gradient=in_place)
            np.testing.assert_array_equal(in_place, x_gradient)


@pytest.mark.parametrize("bf16", [False, True])
def test_threads_change_nothing(variant, bf16):
    x, y, weight = inputs(300, 131, bf16)
    results = []
    for num_threads in (1, THREADS, 7):
        total, normed, inverse_rms = forward(x, y, weight, bf16, num_threads)
        results.append([total, normed, *backward(y, total, inverse_rms, weight, x, bf16, num_threads)])
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_spoils_its_row_and_no_other(variant, odd):
    x, y, weight = inputs(3, 37, False)
    x[1, 20] = odd
    total, normed, inverse_rms = forward(x, y, weight, False)
    assert np.isnan(normed[1, 20]) and np.isfinite(normed[[0, 2]]).all()
    x_gradient, _, weight_gradient = backward(y, total, inverse_rms, weight, None, False)
    assert np.isnan(x_gradient[1, 20]) and np.isfinite(x_gradient[[0, 2]]).all()
    assert np.isnan(weight_gradient[20])


def test_nothing_to_do(variant):
    empty = np.zeros((0, 5), dtype=np.float32)
    weight = np.ones(5, dtype=np.float32)
    total, normed, inverse_rms = forward(empty, empty, weight, False)
    assert total.size == normed.size == inverse_rms.size == 0
    _, _, weight_gradient = backward(empty, empty, inverse_rms, weight, None, False)
    np.testing.assert_array_equal(weight_gradient, np.zeros(5, dtype=np.float32))
