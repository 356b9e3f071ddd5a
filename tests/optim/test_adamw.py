"""AdamW against PyTorch's over a thousand steps, and what a checkpoint needs of it."""

import io
import math

import pytest
import torch
from torch import nn

from groundup.errors import ConfigError
from groundup.optim.adamw import AdamW


def two_copies(dtype: torch.dtype) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    torch.manual_seed(0)
    values = [torch.randn(shape, dtype=dtype) for shape in ((5, 3), (7,), (), (2, 3, 2))]
    return tuple([nn.Parameter(value.clone()) for value in values] for _ in range(2))


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)])
def test_a_thousand_steps_equal_pytorch(dtype, tolerance):
    ours, theirs = two_copies(dtype)
    settings = {"lr": 1e-2, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
    optimizers = (AdamW(ours, **settings), torch.optim.AdamW(theirs, **settings))
    for step in range(1000):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = torch.randn(one.shape, dtype=dtype) * 10.0 ** (step % 5 - 3)
            other.grad = one.grad.clone()
        if step % 100 == 0:  # gradients vanish now and then, for one parameter or all
            ours[step // 100 % 4].grad = theirs[step // 100 % 4].grad = None
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = 1e-2 * (1 + math.cos(step / 300))  # a schedule
            optimizer.step()
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance)


def test_the_first_step_by_hand():
    """From m = v = 0 the corrected means are g and g^2: a step of lr against the sign, after the decay."""
    parameter = nn.Parameter(torch.tensor([2.0, -4.0]))
    parameter.grad = torch.tensor([1e-3, 50.0])
    AdamW([parameter], lr=0.1, weight_decay=0.5, eps=0.0).step()
    torch.testing.assert_close(parameter.data, torch.tensor([2.0 * 0.95 - 0.1, -4.0 * 0.95 - 0.1]))


def test_groups_have_settings_of_their_own():
    decayed, spared = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    optimizer = AdamW([{"params": [decayed]}, {"params": [spared], "weight_decay": 0.0, "lr": 0.5}], lr=0.1)
    decayed.grad = spared.grad = torch.zeros(3)
    optimizer.step()
    torch.testing.assert_close(decayed.data, torch.full((3,), 1 - 0.1 * 0.01))
    assert (spared == 1).all()


def test_parameters_without_gradient_are_left_alone():
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = AdamW([used, unused])
    used.grad = torch.ones(2)
    optimizer.step()
    assert (unused == 1).all() and unused not in optimizer.state


def run(optimizer: AdamW, parameter: nn.Parameter, seeds: range) -> None:
    for seed in seeds:
        parameter.grad = torch.randn(4, generator=torch.Generator().manual_seed(seed))
        optimizer.step()


def test_a_saved_state_goes_on_bit_for_bit():
    whole, halves = (nn.Parameter(torch.ones(4)) for _ in range(2))
    run(AdamW([whole], lr=0.1), whole, range(20))

    first = AdamW([halves], lr=0.1)
    run(first, halves, range(10))
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = AdamW([halves], lr=0.7, betas=(0.5, 0.5))
    second.load_state_dict(torch.load(file, weights_only=True))
    run(second, halves, range(10, 20))
    assert torch.equal(whole, halves)
    assert second.state_dict()["state"][0]["step"] == 20


def test_a_closure_recomputes_the_loss():
    parameter = nn.Parameter(torch.tensor(3.0))
    optimizer = AdamW([parameter], lr=0.1, weight_decay=0.0)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = parameter**2
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 9.0
    assert parameter.item() == pytest.approx(2.9)


@pytest.mark.parametrize(
    "settings", [{"lr": -1.0}, {"lr": math.nan}, {"eps": -1e-8}, {"weight_decay": -0.1}, {"betas": (0.9, 1.0)}]
)
def test_values_out_of_range_are_refused(settings):
    with pytest.raises(ConfigError, match=next(iter(settings))):
        AdamW([nn.Parameter(torch.ones(1))], **settings)
