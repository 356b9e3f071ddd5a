"""Layers: how their weights start, and that they equal PyTorch's with the same weights."""

import pytest
import torch
from torch import nn

from groundup.model.layers import Embedding, Linear, RMSNorm, SiLUFeedForward, SwiGLU


@pytest.mark.parametrize(
    ("weight", "std"),
    [
        (Linear(300, 500).weight, (2 / 800) ** 0.5),
        (Linear(300, 500, std=0.02).weight, 0.02),
        (Embedding(500, 300).weight, 1.0),
        (Embedding(500, 300, std=0.1).weight, 0.1),
    ],
    ids=["linear", "linear-std", "embedding", "embedding-std"],
)
def test_weights_start_from_a_truncated_normal(weight, std):
    assert weight.shape == (500, 300)
    assert weight.abs().max() <= 3 * std * (1 + 1e-6)
    assert weight.abs().max() > 2.9 * std  # 150,000 draws come close to the cut
    # Cutting at three deviations leaves 0.9866 of one. 150,000 draws: standard error 0.2 %.
    assert weight.std().item() == pytest.approx(0.9866 * std, rel=0.01)
    assert abs(weight.mean().item()) < 0.02 * std


def test_rms_norm_equals_pytorch():
    torch.manual_seed(0)
    ours, theirs, x = RMSNorm(6, eps=1e-3), nn.RMSNorm(6, eps=1e-3), torch.randn(2, 3, 6)
    assert (ours.weight == 1).all()
    ours.weight.data = theirs.weight.data = torch.rand(6) + 0.5
    torch.testing.assert_close(ours(x), theirs(x))


def test_feed_forward_parts():
    torch.manual_seed(0)
    x, silu = torch.randn(2, 3, 8), nn.SiLU()
    gated, plain = SwiGLU(8, 12), SiLUFeedForward(8, 12)
    assert [tuple(p.shape) for p in gated.parameters()] == [(12, 8), (8, 12), (12, 8)]
    w1, w2, w3 = gated.w1.weight, gated.w2.weight, gated.w3.weight
    torch.testing.assert_close(gated(x), (silu(x @ w1.T) * (x @ w3.T)) @ w2.T)
    torch.testing.assert_close(plain(x), silu(x @ plain.w1.weight.T) @ plain.w2.weight.T)


def test_state_dict_names():
    assert list(Linear(2, 3).state_dict()) == ["weight"]
    assert list(SwiGLU(2, 3).state_dict()) == ["w1.weight", "w2.weight", "w3.weight"]
    assert list(SiLUFeedForward(2, 3).state_dict()) == ["w1.weight", "w2.weight"]
