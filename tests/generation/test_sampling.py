"""Sampling: each option against its definition, on distributions small enough to know by heart."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.errors import ConfigError
from groundup.generation.sampling import (
    SamplingConfig,
    apply_temperature,
    choose,
    draw,
    log_probabilities,
    penalize_repetition,
    row_generator,
    top_k,
    top_p,
)


def kept(logits: torch.Tensor) -> list[int]:
    return torch.nonzero(logits > -torch.inf).flatten().tolist()


def choose_one(logits: torch.Tensor, *, sample: int = 0, visible=(), **options) -> int:
    config = SamplingConfig(**options)
    return int(choose(logits[None], config, [row_generator(config.seed, sample)], [list(visible)])[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    ("p", "count"), [(0.5, 1), (0.51, 2), (0.8, 2), (0.81, 3), (1e-12, 1), (0.0, 1), (1.0, 3), (7.0, 3)]
)
def test_top_p_keeps_the_smallest_set_that_reaches_p(p, count, dtype):
    logits = torch.tensor([0.2, 0.5, 0.3], dtype=dtype).log() + 11.0  # unnormalised, out of order
    assert kept(top_p(logits, p)) == sorted([1, 2, 0][:count])


def test_top_p_of_one_keeps_a_tail_that_a_sum_would_cut():
    logits = torch.cat([torch.zeros(1), torch.full((50_000,), -40.0)])
    assert len(kept(top_p(logits, 1.0))) == 50_001


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(-20, 20), min_size=1, max_size=12),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 14),
)
def test_filters_equal_their_definition(levels, p, k):
    logits = torch.tensor(levels, dtype=torch.float64) / 4
    order = sorted(range(len(levels)), key=lambda i: (-levels[i], i))
    assert kept(top_k(logits, k)) == sorted(order[: k or len(levels)])

    total = sum(math.exp(level / 4) for level in levels)
    nucleus, mass = [], 0.0
    for i in order:
        if nucleus and mass >= p - 1e-6:
            break
        nucleus.append(i)
        mass += math.exp(levels[i] / 4) / total
    result = top_p(logits, p)
    assert kept(result) == sorted(nucleus)
    assert torch.equal(result[nucleus], logits[nucleus])  # what stays is unchanged


def test_filters_work_row_by_row():
    logits = torch.randn(3, 4, 9, dtype=torch.float64)
    for change in (lambda x: top_k(x, 3), lambda x: top_p(x, 0.6), lambda x: apply_temperature(x, 0.7)):
        rows = torch.stack([change(row) for row in logits.flatten(0, 1)]).view_as(logits)
        assert torch.equal(change(logits), rows)


@pytest.mark.parametrize("temperature", [0, 0.0, 1e-300, 1e-8])
def test_no_temperature_takes_the_most_likely_id(temperature):
    logits = torch.tensor([1.0, 2.0, 2.0 - 1e-6, -50.0])
    assert {choose_one(logits, sample=i, temperature=temperature) for i in range(50)} == {1}
    assert choose_one(torch.zeros(4), temperature=temperature) == 0  # the first of equal ones


@pytest.mark.parametrize("temperature", [1e-6, 1e-5, 1.0, 1e4, 1e300])
def test_any_temperature_gives_finite_weights(temperature):
    logits = torch.tensor([3e4, -3e4, 0.0, 30.0], dtype=torch.float64)
    weights = apply_temperature(logits, temperature)
    assert torch.isfinite(weights.softmax(-1)).all()
    assert 0 <= choose_one(logits, temperature=temperature) < 4


def test_high_temperature_draws_from_everything():
    logits = torch.tensor([5.0, 0.0, -5.0])
    assert {choose_one(logits, sample=i, temperature=1e4) for i in range(60)} == {0, 1, 2}


def test_draws_follow_the_distribution():
    probabilities = torch.tensor([0.5, 0.0, 0.3, 0.2], dtype=torch.float64)
    generator = row_generator(3, 0)
    rows = probabilities.log().expand(20_000, -1)
    counts = draw(rows, [generator] * 20_000).bincount(minlength=4)
    assert counts[1] == 0
    # 4 standard deviations of a frequency are sqrt(p (1 - p) / 20000) * 4 < 0.0142
    assert torch.allclose(counts / 20_000, probabilities.float(), atol=0.0142)


def test_a_row_draws_the_same_in_any_batch():
    logits = torch.randn(5, 100, generator=torch.Generator().manual_seed(0))
    config = SamplingConfig(temperature=1.3, top_p=0.9, top_k=40, repetition_penalty=1.2, seed=7)
    visible = [list(range(1, i + 2)) for i in range(5)]

    def generators():
        return [row_generator(config.seed, sample) for sample in range(5)]

    together = choose(logits, config, generators(), visible).tolist()
    alone = [int(choose(logits[i : i + 1], config, generators()[i : i + 1], visible[i : i + 1])[0]) for i in range(5)]
    assert together == alone


def test_seeds_and_samples_are_streams_of_their_own():
    def stream(seed, sample):
        return torch.rand(8, generator=row_generator(seed, sample)).tolist()

    assert stream(0, 0) == stream(0, 0)
    streams = [stream(seed, sample) for seed in (-1, 0, 1, 2**70) for sample in range(3)]
    assert len({tuple(one) for one in streams}) == 12
    assert stream(None, 0) != stream(None, 0)


def test_drawing_leaves_the_global_random_state_alone():
    before = torch.get_rng_state()
    choose_one(torch.zeros(10), seed=None)
    choose_one(torch.zeros(10), seed=1)
    assert torch.equal(torch.get_rng_state(), before)


def test_repetition_penalty_lowers_what_was_seen_once_whatever_its_sign():
    logits = torch.tensor([2.0, -2.0, 4.0, -4.0])
    penalized = penalize_repetition(logits, torch.tensor([2, 3, 2, 2]), 2.0)
    assert penalized.tolist() == [2.0, -2.0, 2.0, -8.0]
    assert logits.tolist() == [2.0, -2.0, 4.0, -4.0]
    assert choose_one(logits, visible=[2], temperature=0.0, repetition_penalty=3.0) == 0


def test_log_probabilities_are_those_of_the_logits():
    logits = torch.randn(4, 11, dtype=torch.float64) * 30
    ids = torch.tensor([0, 10, 3, 3])
    expected = torch.log_softmax(logits, -1)[torch.arange(4), ids]
    assert torch.allclose(log_probabilities(logits, ids), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": -1}, "max_tokens is -1"),
        ({"temperature": 1, "top_p": 1, "repetition_penalty": -1}, "repetition_penalty is -1"),
        ({"temperature": -0.1}, "temperature is -0.1"),
        ({"temperature": math.nan}, "temperature is nan"),
        ({"temperature": math.inf}, "temperature is inf"),
        ({"top_p": -0.5}, "top_p is -0.5"),
        ({"top_k": -1}, "top_k is -1"),
        ({"repetition_penalty": 0.0}, "repetition_penalty is 0.0"),
        ({"stop": ("a", "")}, "stop is"),
    ],
)
def test_options_that_cannot_work_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        SamplingConfig(**options)
