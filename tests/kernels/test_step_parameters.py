"""Copies of weights and places of gradients: what is copied again, what is added to, what stays."""

import pytest
import torch
from torch import nn

from groundup.kernels.step_parameters import Gradients
from groundup.kernels.update import WeightCopy

FLOAT32, BF16 = torch.float32, torch.bfloat16


def test_a_copy_nobody_keeps_is_made_each_time():
    parameter = nn.Parameter(torch.ones(3))
    weight_copy = WeightCopy(torch.zeros(3))
    for value in (1.0, 2.0):
        parameter.data.fill_(value)  # torch does not count these
        weight_copy.refresh(parameter)
        assert torch.equal(weight_copy.values, parameter)


def test_a_copy_that_is_kept_is_made_when_the_parameter_changed_or_moved():
    parameter = nn.Parameter(torch.ones(3))
    weight_copy = WeightCopy(torch.full((3,), 9.0))
    weight_copy.mark(parameter)
    weight_copy.refresh(parameter)
    assert torch.equal(weight_copy.values, torch.full((3,), 9.0))  # believed
    with torch.no_grad():
        parameter.add_(1)
    weight_copy.refresh(parameter)
    assert torch.equal(weight_copy.values, parameter)
    parameter.data = torch.full((3,), 5.0)
    weight_copy.refresh(parameter)
    assert torch.equal(weight_copy.values, parameter)


@pytest.mark.parametrize(("dtype", "tolerance"), [(FLOAT32, 1e-6), (BF16, 1e-2)], ids=["float32", "bf16"])
def test_gradients_become_those_of_the_parameters_and_then_are_added_to(dtype, tolerance):
    head, other = nn.Parameter(torch.zeros(4, 3)), nn.Parameter(torch.zeros(2, 3))
    torch.manual_seed(0)
    x, by_head, by_other = (torch.randn(5, width).to(dtype) for width in (3, 4, 2))
    of_head, of_other = by_head.float().mT @ x.float(), by_other.float().mT @ x.float()
    gradients = Gradients([head, other], head, dtype)

    def give(factor: float) -> None:
        gradients.add_product(other, by_other, x)
        gradients.add_to_head(by_head[:2], x[:2], is_first=True)
        gradients.add_to_head(by_head[2:], x[2:], is_first=False)
        gradients.hand_over_head(factor)

    for _ in range(3):  # the two arrays of the head change places in each
        give(0.5)
        torch.testing.assert_close(head.grad, 0.5 * of_head, rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(other.grad, of_other, rtol=tolerance, atol=tolerance)
        give(2.0)
        torch.testing.assert_close(head.grad, 2.5 * of_head, rtol=tolerance, atol=3 * tolerance)
        torch.testing.assert_close(other.grad, 2 * of_other, rtol=tolerance, atol=2 * tolerance)
        head.grad = other.grad = None
