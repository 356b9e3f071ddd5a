"""Tests of groundup.experiments.quantities."""

import math

import pytest

from groundup.experiments.quantities import count, duration, in_words, significant, size


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(0, "0"), (999, "999"), (9_994, "9,994"), (9_999, "10.0 k"), (11_106, "11.1 k"), (999_700, "1.00 M")],
        *[(22_696_448, "22.7 M"), (327_680_000, "328 M"), (2_127_057_600, "2.13 G"), (4.5133e12, "4.51 T")],
        (math.nan, "–"),
    ],
)
def test_counts(value, text) -> None:
    assert count(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(12_345, "12,345"), (1e6, "1.00 million"), (2.1e9, "2.10 billion"), (3e12, "3.00 trillion")]
)
def test_counts_in_words(value, text) -> None:
    assert in_words(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1000, "1.00 kB"), (8_508_230_400, "8.51 GB")]
)
def test_sizes_are_in_powers_of_a_thousand(value, text) -> None:
    assert size(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *[(0, "0 s"), (0.25, "0.25 s"), (9.96, "10 s"), (59.6, "1 min"), (61, "1 min 1 s"), (3599.7, "1 h")],
        *[(3725, "1 h 2 min"), (86_400, "1 d"), (200_000, "2 d 7 h"), (math.nan, "–")],
    ],
)
def test_durations_have_two_units_at_most(seconds, text) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        *[(0, 3, "0"), (1.9534, 3, "1.95"), (7.0, 3, "7.00"), (10_900.4, 3, "10,900"), (19.96, 3, "20.0")],
        *[(0.614, 3, "0.614"), (0.0003, 3, "0.0003"), (5.6, 2, "5.6"), (math.inf, 3, "–"), (-2.5, 2, "-2.5")],
    ],
)
def test_significant_digits(value, digits, text) -> None:
    assert significant(value, digits) == text
