"""The average of weights: the formula, the change of places, and that the model trains on as if there were none."""

import copy

import pytest
import torch
from torch import nn

from groundup.optim.adamw import AdamW
from groundup.optim.averaging import WeightAverage
from groundup.optim.sgd import SGD


def steps_of(optimizer, parameter, average, number: int) -> list[torch.Tensor]:
    """The weights after each of so many updates."""
    seen = []
    for step in range(number):
        parameter.grad = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(step)).double()
        optimizer.step()
        average.update()
        seen.append(parameter.detach().clone())
    return seen


def started(over: int, kind=AdamW) -> tuple[nn.Parameter, torch.optim.Optimizer, WeightAverage]:
    parameter = nn.Parameter(torch.ones(3, 2, dtype=torch.float64))
    optimizer = kind([parameter], lr=0.1)
    return parameter, optimizer, WeightAverage(optimizer, over)


@pytest.mark.parametrize("kind", [AdamW, SGD])
def test_up_to_its_reach_it_is_the_mean(kind):
    parameter, optimizer, average = started(10, kind)
    seen = steps_of(optimizer, parameter, average, 7)
    with average.in_place():
        torch.testing.assert_close(parameter.detach(), torch.stack(seen).mean(dim=0))


def test_beyond_it_the_oldest_fade():
    parameter, optimizer, average = started(4)
    seen = steps_of(optimizer, parameter, average, 9)
    expected = torch.stack(seen[:4]).mean(dim=0)
    for weights in seen[4:]:
        expected = 0.75 * expected + 0.25 * weights
    with average.in_place():
        torch.testing.assert_close(parameter.detach(), expected)


def test_the_places_are_changed_back_whatever_happens():
    parameter, optimizer, average = started(4)
    weights = steps_of(optimizer, parameter, average, 5)[-1]
    with pytest.raises(KeyError), average.in_place():
        assert not torch.equal(parameter, weights)
        raise KeyError
    assert torch.equal(parameter, weights)


def test_training_goes_on_as_without_it():
    plain, with_average = started(0), started(4)
    for parameter, optimizer, average in (plain, with_average):
        steps_of(optimizer, parameter, average, 3)
        with average.in_place():
            pass
        steps_of(optimizer, parameter, average, 3)
    assert torch.equal(plain[0], with_average[0])
    assert "average" not in plain[1].state[plain[0]]


def test_a_state_that_was_saved_in_place_goes_on_after_a_swap():
    """As a checkpoint has it: the average in the model, the weights in the state."""
    parameter, optimizer, average = started(4)
    steps_of(optimizer, parameter, average, 5)
    with average.in_place():
        saved, state = parameter.detach().clone(), copy.deepcopy(optimizer.state_dict())
    other, again, its_average = started(4)
    with torch.no_grad():
        other.copy_(saved)
    again.load_state_dict(state)
    its_average.swap()
    for one, of_it, its_own in ((parameter, optimizer, average), (other, again, its_average)):
        steps_of(of_it, one, its_own, 4)
    assert torch.equal(parameter, other)
    average.swap()
    its_average.swap()
    assert torch.equal(parameter, other)


def test_a_parameter_without_gradient_has_no_average_and_keeps_its_weights():
    used, unused = (nn.Parameter(torch.ones(2)) for _ in range(2))
    optimizer = AdamW([used, unused])
    average = WeightAverage(optimizer, 3)
    used.grad = torch.ones(2)
    optimizer.step()
    average.update()
    with average.in_place():
        assert (unused == 1).all()
    assert unused not in optimizer.state
