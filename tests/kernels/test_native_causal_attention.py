"""Causal attention against the formula in float64: head sizes, groups of heads, lengths around tiles and blocks."""

import numpy as np
import pytest
from kernels.arrays import THREADS, address, as_exact, as_values, relative_error, unwritten

from groundup import _native

# (batch, seq, heads, kv_heads, d_head): every head size once, every number of groups, lengths that are no multiple.
SHAPES = [
    (1, 1, 1, 1, 8),
    (2, 7, 4, 2, 16),
    (1, 95, 3, 3, 32),
    (3, 97, 2, 1, 40),
    (1, 255, 4, 2, 64),
    (1, 256, 2, 2, 32),
    (2, 130, 6, 2, 128),
    (1, 300, 4, 1, 24),
    (1, 13, 2, 1, 10),  # no multiple of 8: slower, but right
]


def inputs(shape, bf16, seed=0):
    """(qkv, cos, sin, gradient of the result): scores of size 3, some keys near, positions that turn a lot."""
    batch, seq, heads, kv_heads, d_head = shape
    generator = np.random.default_rng(seed)
    qkv = 1.7 * generator.standard_normal((batch, seq, heads + 2 * kv_heads, d_head)) + 0.3
    angles = 7 * generator.random((seq, d_head // 2))
    gradient = generator.standard_normal((batch, seq, heads, d_head)) + 0.2
    tables = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    return as_values(qkv, bf16), *tables, as_values(gradient, bf16)


def sizes(shape):
    return dict(zip(("batch", "seq", "heads", "kv_heads", "d_head"), shape, strict=True))


def forward(shape, qkv, cos, sin, bf16, num_threads=1):
    """(result, log2_sum)"""
    batch, seq, heads, _, d_head = shape
    out, log2_sum = unwritten(batch, seq, heads, d_head, bf16=bf16), unwritten(batch, heads, seq)
    _native.causal_attention(
        *map(address, (qkv, cos, sin, out, log2_sum)), **sizes(shape), bf16=bf16, num_threads=num_threads
    )
    return out, log2_sum


def backward(shape, qkv, cos, sin, out, log2_sum, gradient, bf16, num_threads=1):
    qkv_gradient = unwritten(*qkv.shape, bf16=bf16)
    _native.causal_attention_backward(
        *map(address, (qkv, cos, sin, out, log2_sum, gradient, qkv_gradient)),
        **sizes(shape),
        bf16=bf16,
        num_threads=num_threads,
    )
    return qkv_gradient


def turned(x, cos, sin, direction=1):
    """x (batch, seq, heads, d_head), each pair of neighbours turned; back with direction -1."""
    if cos is None:
        return x
    cos, sin = cos[:, None].astype(np.float64), direction * sin[:, None].astype(np.float64)
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.stack((even * cos - odd * sin, even * sin + odd * cos), axis=-1).reshape(x.shape)


def exact(shape, qkv, cos, sin, gradient):
    """(result, log2_sum, gradient of qkv) by the formula and the chain rule, in float64."""
    _, seq, heads, kv_heads, d_head = shape
    q, k, v = np.split(as_exact(qkv), [heads, heads + kv_heads], axis=2)
    group = heads // kv_heads
    q, k, v = turned(q, cos, sin), turned(k, cos, sin).repeat(group, axis=2), v.repeat(group, axis=2)
    scores = np.einsum("bihd,bjhd->bhij", q, k) / np.sqrt(d_head)
    scores[..., ~np.tri(seq, dtype=bool)] = -np.inf
    largest = scores.max(-1, keepdims=True)
    log_sum = largest + np.log(np.exp(scores - largest).sum(-1, keepdims=True))
    weights = np.exp(scores - log_sum)
    out = np.einsum("bhij,bjhd->bihd", weights, v)
    g = as_exact(gradient)
    weights_gradient = np.einsum("bihd,bjhd->bhij", g, v)
    scores_gradient = weights * (weights_gradient - (weights * weights_gradient).sum(-1, keepdims=True))
    scores_gradient /= np.sqrt(d_head)
    q_gradient = np.einsum("bhij,bjhd->bihd", scores_gradient, k)
    shared = (*g.shape[:2], kv_heads, group, d_head)
    k_gradient = np.einsum("bhij,bihd->bjhd", scores_gradient, q).reshape(shared).sum(3)
    v_gradient = np.einsum("bhij,bihd->bjhd", weights, g).reshape(shared).sum(3)
    parts = turned(q_gradient, cos, sin, -1), turned(k_gradient, cos, sin, -1), v_gradient
    return out, log_sum[..., 0] / np.log(2), np.concatenate(parts, axis=2)


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("with_positions", [True, False])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_forward_and_backward(variant, shape, with_positions, bf16):
    qkv, cos, sin, gradient = inputs(shape, bf16)
    if not with_positions:
        cos = sin = None
    out, log2_sum = forward(shape, qkv, cos, sin, bf16)
    exact_out, exact_log2_sum, exact_gradient = exact(shape, qkv, cos, sin, gradient)
    assert relative_error(out, exact_out) < (2**-8 if bf16 else 2e-6)
    np.testing.assert_allclose(log2_sum, exact_log2_sum, rtol=1e-6, atol=1e-5)
    qkv_gradient = backward(shape, qkv, cos, sin, out, log2_sum, gradient, bf16)
    heads, kv_heads = shape[2], shape[3]
    for part in (slice(heads), slice(heads, heads + kv_heads), slice(heads + kv_heads, None)):
        if shape[1] == 1 and part.stop is not None:  # the only key has all the weight: nothing depends on q and k
            assert np.abs(as_exact(qkv_gradient[:, :, part])).max() < (0.05 if bf16 else 1e-5)
        else:
            error = relative_error(qkv_gradient[:, :, part].copy(), exact_gradient[:, :, part])
            assert error < (1e-2 if bf16 else 1e-5)


def test_memory_follows_the_length_and_results_stay_exact():
    shape = (1, 4096, 1, 1, 8)
    qkv, cos, sin, gradient = inputs(shape, False)
    out, log2_sum = forward(shape, qkv, cos, sin, False, THREADS)
    qkv_gradient = backward(shape, qkv, cos, sin, out, log2_sum, gradient, False, THREADS)
    exact_out, exact_log2_sum, exact_gradient = exact(shape, qkv, cos, sin, gradient)
    assert relative_error(out, exact_out) < 2e-6
    np.testing.assert_allclose(log2_sum, exact_log2_sum, rtol=1e-6)
    for part in range(3):
        assert relative_error(qkv_gradient[:, :, part].copy(), exact_gradient[:, :, part]) < 1e-5


# Few heads, cut in parts whose gradients are added up; many, cut by heads; more threads than there are chunks.
@pytest.mark.parametrize("shape", [(1, 1700, 2, 1, 8), (5, 130, 8, 4, 16), (1, 7, 1, 1, 8)], ids=str)
@pytest.mark.parametrize("bf16", [False, True])
def test_threads_change_nothing(variant, shape, bf16):
    qkv, cos, sin, gradient = inputs(shape, bf16)
    results = []
    for num_threads in (1, THREADS, 7):
        out, log2_sum = forward(shape, qkv, cos, sin, bf16, num_threads)
        results.append([out, log2_sum, backward(shape, qkv, cos, sin, out, log2_sum, gradient, bf16, num_threads)])
    for others in results[1:]:
        for one, other in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_parts_of_a_head_add_up(variant):
    shape = (1, 1700, 2, 1, 8)
    qkv, cos, sin, gradient = inputs(shape, False)
    out, log2_sum = forward(shape, qkv, cos, sin, False)
    qkv_gradient = backward(shape, qkv, cos, sin, out, log2_sum, gradient, False)
    exact_out, _, exact_gradient = exact(shape, qkv, cos, sin, gradient)
    assert relative_error(out, exact_out) < 2e-6
    assert relative_error(qkv_gradient, exact_gradient) < 1e-5


@pytest.mark.parametrize("size", [1e3, 1e18])
def test_scores_far_beyond_the_range_of_exp(variant, size):
    """The key with the largest score takes all, and no score overflows on the way."""
    shape = (1, 200, 2, 2, 16)
    qkv, cos, sin, gradient = inputs(shape, False)
    qkv[:, :, :4] *= np.float32(size**0.5)
    out, log2_sum = forward(shape, qkv, cos, sin, False)
    exact_out, _, exact_gradient = exact(shape, qkv, cos, sin, gradient)
    # Scores have 24 bits: where two are close, those bits decide. At 1e18 almost nowhere.
    assert relative_error(out, exact_out) < (1e-4 if size < 1e6 else 1e-6)
    qkv_gradient = backward(shape, qkv, cos, sin, out, log2_sum, gradient, False)
    assert np.isfinite(qkv_gradient).all()
    assert relative_error(qkv_gradient[:, :, 4:].copy(), exact_gradient[:, :, 4:]) < 1e-3


def spoilt(place, odd):
    """Result, gradient and exact result of two sequences and two heads, with an odd number in head 1 of sequence 0."""
    shape = (2, 250, 2, 2, 16)
    qkv, cos, sin, gradient = inputs(shape, False)
    qkv[(0, *place)] = odd
    out, log2_sum = forward(shape, qkv, cos, sin, False)
    qkv_gradient = backward(shape, qkv, cos, sin, out, log2_sum, gradient, False)
    # What stands in other heads and in the other sequence is as it was.
    assert np.isfinite(out[1]).all() and np.isfinite(out[0, :, 0]).all()
    assert np.isfinite(qkv_gradient[1]).all() and np.isfinite(qkv_gradient[0, :, 0::2]).all()
    with np.errstate(invalid="ignore"):
        return out, qkv_gradient, exact(shape, qkv, cos, sin, gradient)[0]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_query_that_is_not_finite_spoils_its_own_result_only(variant, odd):
    out, qkv_gradient, _ = spoilt((120, 1, 3), odd)
    assert np.isnan(out[0, 120, 1]).all() and np.isnan(qkv_gradient[0, 120, 1]).all()
    out[0, 120, 1] = 0
    assert np.isfinite(out).all()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", [3, 5], ids=["key", "value"])
def test_a_key_or_value_that_is_not_finite_spoils_what_sees_it(variant, odd, part):
    """The reference also spoils all queries before it: it multiplies by the weight 0 that they give."""
    out, _, exact_out = spoilt((120, part, 3), odd)
    np.testing.assert_array_equal(np.isfinite(out[0, 120:]), np.isfinite(exact_out[0, 120:]))
    assert not np.isfinite(out[0, 120:]).all()
    assert np.isfinite(out[0, :96]).all()  # of the blocks before its own


def test_scores_of_minus_infinity(variant):
    """A key that no query attends to gets no weight; a query that attends to none gets zeros."""
    shape = (1, 40, 1, 1, 8)
    qkv = inputs(shape, False)[0]
    qkv[:, :, 0] = np.abs(qkv[:, :, 0]) + 0.1  # so that each product with a key of -infinity is -infinity
    qkv[:, [0, 17], 1] = -np.inf
    out, _ = forward(shape, qkv, None, None, False)
    np.testing.assert_array_equal(out[0, 0], np.zeros((1, 8), dtype=np.float32))
    others = [t for t in range(40) if t not in (0, 17)]
    kept = np.ascontiguousarray(qkv[:, others])
    exact_out = exact((1, 38, 1, 1, 8), kept, None, None, kept[:, :, :1])[0]
    assert relative_error(out[:, others].copy(), exact_out) < 2e-6


@pytest.mark.parametrize("shape", [(0, 5, 2, 1, 8), (2, 0, 2, 1, 8)], ids=["no sequence", "no token"])
def test_nothing_to_do(variant, shape):
    qkv, cos, sin, gradient = inputs(shape, False)
    out, log2_sum = forward(shape, qkv, cos, sin, False)
    assert backward(shape, qkv, cos, sin, out, log2_sum, gradient, False).size == out.size == 0


def exp2(x):
    y = unwritten(len(x))
    _native.exp2_each(address(x), address(y), len(x))
    return y


def test_exp2_is_as_good_as_said_over_its_whole_interval(variant):
    x = np.concatenate([np.linspace(-126, 127, 400_001), np.linspace(-1, 0, 100_001)]).astype(np.float32)
    assert np.abs(exp2(x) / np.exp2(x.astype(np.float64)) - 1).max() < 2e-7


def test_exp2_at_the_ends(variant):
    lowest = np.finfo(np.float32).min
    x = np.array([0, -0.0, -127.5, -1e30, lowest, -np.inf, np.nan, 1e-6, -130, 1, 2], dtype=np.float32)
    y = exp2(x)
    np.testing.assert_array_equal(y[:7], np.array([1, 1, 0, 0, 0, 0, np.nan], dtype=np.float32))
    np.testing.assert_allclose(y[7:], [1, 0, 2, 4], rtol=1e-6, atol=1e-38)
