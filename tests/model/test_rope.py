"""Rotary positions: what they must do to dot products, the pairing, and that the tables stay exact."""

import math

import pytest
import torch

from groundup.errors import ConfigError
from groundup.model.rope import RotaryEmbedding, rotate


def test_pairs_of_neighbours_turn_as_complex_numbers():
    torch.manual_seed(0)
    x, positions = torch.randn(2, 3, 7, 6), torch.randint(0, 50, (7,))
    turned = RotaryEmbedding(6, 50, theta=100.0)(x, positions)
    wavenumbers = 100.0 ** (-torch.arange(3, dtype=torch.float64) * 2 / 6)
    turns = torch.polar(torch.ones(7, 3, dtype=torch.float64), positions[:, None] * wavenumbers)
    expected = torch.view_as_real(torch.view_as_complex(x.double().unflatten(-1, (3, 2))) * turns).flatten(-2)
    torch.testing.assert_close(turned, expected.float(), rtol=1e-6, atol=1e-6)


def test_dot_products_depend_on_the_distance_only():
    torch.manual_seed(0)
    rope = RotaryEmbedding(8, 200)
    q, k = torch.randn(1, 8), torch.randn(1, 8)

    def score(at: int, other: int) -> float:
        return float((rope(q, torch.tensor([at])) * rope(k, torch.tensor([other]))).sum())

    assert score(3, 0) == pytest.approx(score(150, 147), abs=1e-5)
    assert abs(score(3, 0) - score(4, 0)) > 1e-3


def test_position_zero_changes_nothing_and_lengths_stay():
    torch.manual_seed(0)
    x, rope = torch.randn(5, 4), RotaryEmbedding(4, 10)
    assert torch.equal(rope(x, torch.zeros(5, dtype=torch.int64)), x)
    torch.testing.assert_close(rope(x, torch.arange(5)).norm(dim=-1), x.norm(dim=-1))


@pytest.mark.parametrize("shape", [(4,), (1, 4), (3, 4), (2, 3, 4), (2, 1, 4)])
def test_positions_of_any_batch_shape(shape):
    torch.manual_seed(0)
    x, positions, rope = torch.randn(2, 3, 4, 6), torch.randint(0, 9, shape), RotaryEmbedding(6, 9)
    turned = rope(x, positions)
    for i, j in ((0, 0), (1, 2)):
        own = positions.expand(2, 3, 4)[i, j]
        torch.testing.assert_close(turned[i, j], rope(x[i, j], own))


def test_tables_stay_float32_when_the_model_is_cast_or_moved():
    rope = RotaryEmbedding(8, 300)
    exact_cos = rope.cos.clone()
    for other in (rope.to(torch.bfloat16), rope.double(), rope.half(), rope.to("cpu", torch.bfloat16)):
        assert other.cos.dtype == other.sin.dtype == torch.float32
        assert torch.equal(other.cos, exact_cos)
    x = torch.randn(300, 8).bfloat16()
    turned = rope(x, torch.arange(300))
    assert turned.dtype == torch.bfloat16
    expected = rope(x.float(), torch.arange(300))
    torch.testing.assert_close(turned.float(), expected, rtol=2**-8, atol=1e-6)  # one rounding, at the end


def test_a_model_made_without_memory_gets_its_tables_with_it():
    with torch.device("meta"):
        rope = RotaryEmbedding(4, 20)
    assert rope.cos.is_meta
    rope.to_empty(device="cpu")
    assert torch.equal(rope.cos, RotaryEmbedding(4, 20).cos)


def test_tables_are_exact_far_out_and_not_saved():
    rope = RotaryEmbedding(4, 100_000)
    assert rope.cos[99_999, 0].item() == pytest.approx(math.cos(99_999), abs=1e-7)
    assert not rope.state_dict()


def test_an_odd_width_is_refused():
    with pytest.raises(ConfigError, match="d_head is 5"):
        RotaryEmbedding(5, 10)


def test_rotation_gradient():
    torch.manual_seed(0)
    angles = torch.rand(3, 2, dtype=torch.float64)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: rotate(x, angles.cos(), angles.sin()), x)
