"""Cross-entropy against PyTorch's, far from where it is easy, and the other units of a loss."""

import math

import pytest
import torch
from torch.nn import functional as F

from groundup.errors import DataError
from groundup.model.loss import bits_per_byte, cross_entropy, perplexity


@pytest.mark.parametrize("leading", [(), (4,), (2, 3), (2, 3, 2)])
@pytest.mark.parametrize("scale", [1, 1000])
def test_cross_entropy_and_its_gradient(leading, scale):
    torch.manual_seed(0)
    logits = (scale * torch.randn(*leading, 11)).requires_grad_()
    targets = torch.randint(0, 11, leading)
    loss = cross_entropy(logits, targets)
    (gradient,) = torch.autograd.grad(loss, logits)
    expected = F.cross_entropy(logits.reshape(-1, 11), targets.reshape(-1))
    (expected_gradient,) = torch.autograd.grad(expected, logits)
    assert loss.isfinite()
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-5, atol=1e-7)


def test_cross_entropy_of_bf16_logits_is_computed_in_float32():
    torch.manual_seed(0)
    logits, targets = torch.randn(64, 1000).bfloat16(), torch.randint(0, 1000, (64,))
    loss = cross_entropy(logits, targets)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, F.cross_entropy(logits.float(), targets))


def test_cross_entropy_keeps_float64():
    torch.manual_seed(0)
    logits = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: cross_entropy(x, torch.tensor([0, 4, 2])), logits)


def test_cross_entropy_of_forbidden_tokens():
    logits = torch.tensor([[0.0, -math.inf, 0.0]], requires_grad=True)
    loss = cross_entropy(logits, torch.tensor([0]))
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2)) and logits.grad is not None
    torch.testing.assert_close(logits.grad, torch.tensor([[-0.5, 0.0, 0.5]]))


@pytest.mark.parametrize("sizes", [(2, 2, 2, 2), (3, 3, 2), (8,)])
def test_parts_weighted_by_their_share_give_the_gradient_of_the_whole(sizes):
    """Gradient accumulation (case D8), with a smaller last part too."""
    torch.manual_seed(0)
    weight = torch.randn(7, 5, requires_grad=True)
    inputs, targets = torch.randn(8, 3, 5), torch.randint(0, 7, (8, 3))
    (whole,) = torch.autograd.grad(cross_entropy(inputs @ weight.mT, targets), weight)
    for x, y in zip(inputs.split(sizes), targets.split(sizes), strict=True):
        (cross_entropy(x @ weight.mT, y) * len(x) / 8).backward()
    torch.testing.assert_close(weight.grad, whole)


def test_perplexity():
    assert perplexity(0.0) == 1.0
    assert perplexity(math.log(10_000)) == pytest.approx(10_000)
    assert perplexity(1e6) == math.inf


def test_bits_per_byte():
    assert bits_per_byte(100 * math.log(256), 100) == pytest.approx(8.0)  # all bytes equally likely
    with pytest.raises(DataError, match="0 bytes"):
        bits_per_byte(1.0, 0)
