"""SGD with its falling rate, and the lesson it is for."""

import pytest
import torch
from torch import nn

from groundup.errors import ConfigError
from groundup.optim.sgd import SGD


def test_the_rate_falls_with_the_root_of_the_step():
    parameter = nn.Parameter(torch.zeros(2))
    optimizer = SGD([parameter], lr=2.0)
    expected = 0.0
    for t in range(5):
        parameter.grad = torch.ones(2)
        optimizer.step()
        expected -= 2.0 / (t + 1) ** 0.5
        torch.testing.assert_close(parameter.data, torch.full((2,), expected))


def losses(lr: float) -> list[float]:
    """The toy of the specification: the mean square of a 10 x 10 weight that starts at 5 times a normal draw."""
    torch.manual_seed(0)
    weight = nn.Parameter(5 * torch.randn(10, 10))
    optimizer, found = SGD([weight], lr=lr), []
    for _ in range(10):
        optimizer.zero_grad()
        loss = weight.square().mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_the_toy_gets_faster_with_the_rate_and_then_diverges():
    slow, faster, fastest, diverging = (losses(lr) for lr in (1.0, 1e1, 1e2, 1e3))
    assert slow[0] == faster[0] == fastest[0] == diverging[0]
    assert slow[-1] > faster[-1] > fastest[-1]
    assert diverging[-1] > 1e10 * diverging[0]


def test_a_saved_state_goes_on():
    parameter = nn.Parameter(torch.zeros(1))
    first = SGD([parameter], lr=1.0)
    parameter.grad = torch.ones(1)
    first.step()
    second = SGD([parameter], lr=1.0)
    second.load_state_dict(first.state_dict())
    second.step()
    assert parameter.item() == pytest.approx(-1 - 0.5**0.5)


def test_a_negative_rate_is_refused():
    with pytest.raises(ConfigError, match="lr of SGD is -1"):
        SGD([nn.Parameter(torch.ones(1))], lr=-1.0)


def test_parameters_without_gradient_are_left_alone_and_a_closure_is_called():
    parameter = nn.Parameter(torch.ones(1))
    assert SGD([parameter]).step(lambda: 7) == 7
    assert parameter.item() == 1.0
