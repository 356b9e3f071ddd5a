"""What all kernels are made of: exp over its whole interval, rounding to bf16, variants that can be forced."""

import numpy as np
import pytest
from kernels.arrays import SIZES, address, from_bf16, to_bf16, unwritten

from groundup import _native


def exp(x):
    y = unwritten(len(x))
    _native.exp_each(address(x), address(y), len(x))
    return y


def test_exp_is_as_good_as_said_over_its_whole_interval(variant):
    x = np.concatenate([np.linspace(-87.33, 88.72, 400_001), np.linspace(-1, 1, 100_001)]).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert np.abs(exp(x) / exact - 1).max() < 2e-7


def test_exp_where_it_is_subnormal_is_off_by_one_last_place_at_most(variant):
    x = np.linspace(-104.5, -87.3, 50_001, dtype=np.float32)
    assert np.abs(exp(x) - np.exp(x.astype(np.float64))).max() <= 2.0**-149 * 1.01


def test_exp_at_the_ends(variant):
    ends = [-np.inf, -1e30, -105.0, -0.0, 0.0, 88.8, 1e30, np.inf, np.nan, np.nextafter(np.float32(0), np.float32(1))]
    y = exp(np.array(ends, dtype=np.float32))
    np.testing.assert_array_equal(y, np.array([0, 0, 0, 1, 1, np.inf, np.inf, np.inf, np.nan, 1], dtype=np.float32))


@pytest.mark.parametrize("size", [0, *SIZES])
def test_rows_of_any_length(variant, size):
    x = np.linspace(-3, 3, size, dtype=np.float32)
    np.testing.assert_allclose(exp(x), np.exp(x.astype(np.float64)), rtol=3e-7)
    bits, back = unwritten(size, bf16=True), unwritten(size)
    _native.to_bf16(address(x), address(bits), size, 1)
    np.testing.assert_array_equal(bits, to_bf16(x))
    _native.to_float(address(bits), address(back), size, 1)
    np.testing.assert_array_equal(back, from_bf16(bits))


def narrowed(x, num_threads=1):
    bits = unwritten(len(x), bf16=True)
    _native.to_bf16(address(x), address(bits), len(x), num_threads)
    return bits


def test_bf16_rounds_to_nearest_and_ties_to_even(variant):
    # Every upper half with the lower halves around a tie; those that name no NaN and no subnormal number.
    upper = np.arange(0x10000, dtype=np.uint32)
    upper = upper[((upper & 0x7F80) != 0x7F80) & ((upper & 0x7F80) != 0)]
    for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        x = (upper << 16 | np.uint32(lower)).view(np.float32)
        expected = upper + ((lower > 0x8000) + (lower == 0x8000) * (upper & 1))
        np.testing.assert_array_equal(narrowed(x), expected)


def test_bf16_keeps_infinity_and_nan(variant):
    bits = np.array([0x7F800000, 0xFF800000, 0x7FC00000, 0x7F800001, 0xFFFFFFFF, 0x7F807FFF], dtype=np.uint32)
    back = from_bf16(narrowed(bits.view(np.float32)))
    np.testing.assert_array_equal(back, np.array([np.inf, -np.inf, np.nan, np.nan, np.nan, np.nan], dtype=np.float32))


def test_threads_change_nothing(variant):
    x = np.random.default_rng(0).standard_normal(100_003).astype(np.float32)
    np.testing.assert_array_equal(narrowed(x, 3), narrowed(x, 1))


def test_the_best_variant_is_used_unless_another_is_forced():
    assert _native.kernel_variants()[-1] == "portable"
    with pytest.raises(ValueError, match=r"'mmx' is not one of this processor's: .*portable"):
        _native.use_kernel_variant("mmx")


@pytest.mark.parametrize("name", ["avx512_bf16", "avx512", "avx2", "portable"])
def test_each_variant_that_this_processor_has_can_be_forced(name):
    """The one place that says which variants the tests of this folder left out on this machine."""
    if name not in _native.kernel_variants():
        pytest.skip(f"this processor has no {name}")
    _native.use_kernel_variant(name)
    _native.use_kernel_variant(_native.kernel_variants()[0])
