"""The loss and the gradient of the logits against log-softmax in float64; large, equal and infinite logits."""

import numpy as np
import pytest
from kernels.arrays import SIZES, THREADS, address, as_exact, as_values, relative_error, tolerance, unwritten

from groundup import _native

both_types = pytest.mark.parametrize("bf16", [False, True])


def inputs(rows, columns, bf16, size=3.0, seed=0):
    generator = np.random.default_rng(seed)
    logits = as_values(size * generator.standard_normal((rows, columns)), bf16)
    return logits, generator.integers(0, columns, rows)


def losses_and_gradient(logits, targets, bf16, scale=1.0, num_threads=1, gradient=None):
    """In one pass, as training does; `gradient` is where to."""
    losses, gradient = unwritten(len(logits)), unwritten(*logits.shape, bf16=bf16) if gradient is None else gradient
    _native.cross_entropy(
        *map(address, (logits, targets, losses, unwritten(len(logits)), gradient)),
        rows=logits.shape[0],
        columns=logits.shape[1],
        scale=scale,
        bf16=bf16,
        num_threads=num_threads,
    )
    return losses, gradient


def losses_then_gradient(logits, targets, bf16, scale=1.0, num_threads=1):
    """In two passes, as automatic differentiation does."""
    losses, log_sums = unwritten(len(logits)), unwritten(len(logits))
    gradient = unwritten(*logits.shape, bf16=bf16)
    sizes = {"rows": logits.shape[0], "columns": logits.shape[1], "scale": scale, "bf16": bf16}
    first = (address(logits), address(targets), address(losses), address(log_sums), 0)
    _native.cross_entropy(*first, **sizes, num_threads=num_threads)
    second = (address(logits), address(targets), address(log_sums), address(gradient))
    _native.cross_entropy_backward(*second, **sizes, num_threads=num_threads)
    return losses, gradient


both_ways = pytest.mark.parametrize("compute", [losses_and_gradient, losses_then_gradient])


def exactly(logits, targets, scale):
    logits = as_exact(logits)
    most = logits.max(-1, keepdims=True)
    log_sum = most + np.log(np.exp(logits - most).sum(-1, keepdims=True))
    rows = np.arange(len(targets))
    gradient = np.exp(logits - log_sum)
    gradient[rows, targets] -= 1
    return log_sum[:, 0] - logits[rows, targets], scale * gradient


@both_types
@both_ways
@pytest.mark.parametrize("columns", [*SIZES, 10_000])
@pytest.mark.parametrize("size", [0.1, 3.0, 300.0])
def test_losses_and_gradient(variant, columns, size, compute, bf16):
    logits, targets = inputs(7, columns, bf16, size)
    losses, gradient = compute(logits, targets, bf16, scale=1 / 7)
    exact_losses, exact_gradient = exactly(logits, targets, 1 / 7)
    np.testing.assert_allclose(losses, exact_losses, rtol=1e-6, atol=2e-6 * size)
    if columns > 1:  # probabilities are as good as the place of float32 that the logits leave for them
        assert relative_error(gradient, exact_gradient) < tolerance(bf16) + 3e-6 + 1e-7 * size


@both_types
def test_the_gradient_may_take_the_place_of_the_logits(variant, bf16):
    logits, targets = inputs(7, 131, bf16)
    losses, gradient = losses_and_gradient(logits, targets, bf16)
    np.testing.assert_array_equal(losses_and_gradient(logits, targets, bf16, gradient=logits)[0], losses)
    np.testing.assert_array_equal(logits, gradient)


def test_equal_logits_of_any_size_give_log_of_their_number(variant):
    for value in (0.0, 1e4, -1e4, 3e38):
        logits = np.full((1, 37), value, dtype=np.float32)
        losses, gradient = losses_and_gradient(logits, np.array([36]), False)
        np.testing.assert_allclose(losses, np.log(37), rtol=1e-6)
        np.testing.assert_allclose(gradient[0, :36], 1 / 37, rtol=1e-6)


@both_ways
def test_infinite_and_missing_logits_as_in_the_reference(variant, compute):
    inf, nan = np.inf, np.nan
    logits = np.array([[0, -inf, 1], [-inf, 0, 1], [inf, 0, 1], [0, inf, 1], [-inf] * 3, [nan, 0, 1], [0, 1, nan]])
    losses, gradient = compute(logits.astype(np.float32), np.zeros(7, dtype=np.int64), False)
    np.testing.assert_allclose(losses[:2], [np.log(1 + np.e), inf], rtol=1e-6)
    assert np.isnan(losses[[2, 4, 5, 6]]).all() and losses[3] == inf
    assert gradient[0, 1] == 0 and np.isnan(gradient[4:]).all()
    assert np.isnan(gradient[3, 1]) and gradient[3, 0] == -1 and gradient[3, 2] == 0


@pytest.mark.parametrize("target", [-1, 10, 2**40])
def test_a_target_outside_the_vocabulary_is_refused(target):
    logits, targets = inputs(3, 10, False)
    targets[1] = target
    with pytest.raises(IndexError, match=f"id {target} at place 1 is not one of the vocabulary's 10"):
        losses_and_gradient(logits, targets, False)


@both_types
@both_ways
def test_threads_change_nothing(variant, compute, bf16):
    logits, targets = inputs(50, 3001, bf16)
    one = compute(logits, targets, bf16, num_threads=1)
    for num_threads in (THREADS, 5):
        for a, b in zip(one, compute(logits, targets, bf16, num_threads=num_threads), strict=True):
            np.testing.assert_array_equal(a, b)
