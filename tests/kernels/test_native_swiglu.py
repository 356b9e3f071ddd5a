"""SwiGLU and SiLU against their formulas in float64: apart and side by side in one matrix, and far out."""

import numpy as np
import pytest
from kernels.arrays import SIZES, THREADS, address, as_exact, as_values, relative_error, tolerance, unwritten

from groundup import _native

both_types = pytest.mark.parametrize("bf16", [False, True])


def inputs(rows, columns, bf16, seed=0):
    """Gate and up side by side, and a gradient."""
    generator = np.random.default_rng(seed)
    both = as_values(3 * generator.standard_normal((rows, 2 * columns)), bf16)
    return both, as_values(generator.standard_normal((rows, columns)), bf16)


def halves(both):
    """Addresses of gate and up."""
    return address(both), address(both) + both.shape[1] // 2 * both.itemsize


def forward(gate, up, stride, rows, columns, bf16, num_threads=1):
    out = unwritten(rows, columns, bf16=bf16)
    _native.swiglu(
        gate, up, address(out), stride=stride, rows=rows, columns=columns, bf16=bf16, num_threads=num_threads
    )
    return out


def backward(both, out_gradient, bf16, num_threads=1, *, in_place=False):
    rows, columns = out_gradient.shape
    gradient = both if in_place else unwritten(rows, 2 * columns, bf16=bf16)
    _native.swiglu_backward(
        *halves(both),
        address(out_gradient),
        *halves(gradient),
        stride=2 * columns,
        gradient_stride=2 * columns,
        rows=rows,
        columns=columns,
        bf16=bf16,
        num_threads=num_threads,
    )
    return gradient


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


@both_types
@pytest.mark.parametrize("columns", SIZES)
def test_side_by_side(variant, columns, bf16):
    both, out_gradient = inputs(3, columns, bf16)
    z, u = np.split(as_exact(both), 2, axis=1)
    out = forward(*halves(both), 2 * columns, 3, columns, bf16)
    assert relative_error(out, z * sigmoid(z) * u) < tolerance(bf16)
    d, s = as_exact(out_gradient), sigmoid(z)
    exact = np.concatenate([d * u * (s + z * s * (1 - s)), d * z * s], axis=1)
    assert relative_error(backward(both, out_gradient, bf16), exact) < tolerance(bf16)


@both_types
def test_apart_is_the_same(variant, bf16):
    both, out_gradient = inputs(5, 19, bf16)
    gate, up = (np.ascontiguousarray(half) for half in np.split(both, 2, axis=1))
    out = forward(address(gate), address(up), 19, 5, 19, bf16)
    np.testing.assert_array_equal(out, forward(*halves(both), 38, 5, 19, bf16))
    gate_gradient, up_gradient = unwritten(5, 19, bf16=bf16), unwritten(5, 19, bf16=bf16)
    _native.swiglu_backward(
        *map(address, (gate, up, out_gradient, gate_gradient, up_gradient)),
        stride=19,
        gradient_stride=19,
        rows=5,
        columns=19,
        bf16=bf16,
        num_threads=1,
    )
    together = np.concatenate([gate_gradient, up_gradient], axis=1)
    np.testing.assert_array_equal(together, backward(both, out_gradient, bf16))


@both_types
@pytest.mark.parametrize("columns", [1, 19, 64])
def test_gradients_may_take_the_place_of_the_values(variant, columns, bf16):
    both, out_gradient = inputs(5, columns, bf16)
    apart = backward(both, out_gradient, bf16)
    np.testing.assert_array_equal(backward(both.copy(), out_gradient, bf16, in_place=True), apart)


@both_types
@pytest.mark.parametrize("columns", [1, 19, 64])
def test_silu_is_swiglu_without_up(variant, columns, bf16):
    gate, out_gradient = inputs(3, columns, bf16)[0][:, :columns].copy(), inputs(3, columns, bf16)[1]
    z, d = as_exact(gate), as_exact(out_gradient)
    out = forward(address(gate), 0, columns, 3, columns, bf16)
    assert relative_error(out, z * sigmoid(z)) < tolerance(bf16)
    gradient, s = unwritten(3, columns, bf16=bf16), sigmoid(z)
    _native.swiglu_backward(
        *(address(gate), 0, address(out_gradient), address(gradient), 0),
        stride=columns,
        gradient_stride=columns,
        rows=3,
        columns=columns,
        bf16=bf16,
        num_threads=1,
    )
    assert relative_error(gradient, d * (s + z * s * (1 - s))) < tolerance(bf16)


def test_far_out_and_not_finite(variant):
    z = np.array([[-1e30, -200, -87, 87, 200, 1e30, np.inf, np.nan]], dtype=np.float32)
    out = forward(address(z), 0, 8, 1, 8, False)
    np.testing.assert_allclose(out, [[0, 0, -87 * np.exp(-87), 87, 200, 1e30, np.inf, np.nan]], rtol=1e-6)


@both_types
def test_threads_change_nothing(variant, bf16):
    both, out_gradient = inputs(300, 131, bf16)
    one = [forward(*halves(both), 262, 300, 131, bf16, 1), backward(both, out_gradient, bf16, 1)]
    two = [forward(*halves(both), 262, 300, 131, bf16, THREADS), backward(both, out_gradient, bf16, THREADS)]
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)
