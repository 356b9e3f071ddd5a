"""AdamW and clipping on native kernels: the numbers of the readable ones over many steps, a state that fits both."""

import copy
import math

import pytest
import torch
from torch import nn

from groundup.kernels.update import WeightCopy
from groundup.optim import fast, gradients
from groundup.optim.adamw import AdamW
from groundup.optim.fast import FastAdamW

SHAPES = ((5, 3), (7,), (), (2, 3, 2), (300, 201), (0,))
SETTINGS = {"lr": 1e-2, "betas": (0.9, 0.95), "eps": 1e-8}


def parameters(dtype: torch.dtype = torch.float32) -> list[nn.Parameter]:
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(shape, dtype=dtype)) for shape in SHAPES]


def groups(some: list[nn.Parameter]):
    return [{"params": some[:3], "weight_decay": 0.1}, {"params": some[3:], "weight_decay": 0.0}]


def give_gradients(step: int, *copies: list[nn.Parameter]) -> None:
    generator = torch.Generator().manual_seed(step)
    for some in zip(*copies, strict=True):
        gradient = torch.randn(some[0].shape, generator=generator) * 10.0 ** (step % 5 - 3)
        for parameter in some:
            parameter.grad = gradient.to(parameter.dtype, copy=True)


def assert_same(ours: list[nn.Parameter], theirs: list[nn.Parameter], tolerance: float) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=tolerance)


def test_many_steps_equal_the_readable_version():
    ours, theirs = parameters(), parameters()
    optimizers = (FastAdamW(groups(ours), **SETTINGS), AdamW(groups(theirs), **SETTINGS))
    for step in range(300):
        give_gradients(step, ours, theirs)
        if step % 100 == 0:  # gradients vanish now and then
            ours[step // 100].grad = theirs[step // 100].grad = None
        for optimizer in optimizers:
            optimizer.param_groups[0]["lr"] = 1e-2 * (1 + math.cos(step / 100))  # a schedule
            optimizer.step()
    assert_same(ours, theirs, 1e-6)


@pytest.mark.parametrize(("first", "second"), [(AdamW, FastAdamW), (FastAdamW, AdamW)])
def test_a_state_goes_on_in_the_other(first, second):
    ours, whole = parameters(), parameters()
    before, after, readable = (
        first(groups(ours), **SETTINGS),
        second(groups(ours), lr=0.5),
        AdamW(groups(whole), **SETTINGS),
    )
    for step in range(20):
        if step == 10:
            after.load_state_dict(before.state_dict())
        give_gradients(step, ours, whole)
        (before if step < 10 else after).step()
        readable.step()
    assert_same(ours, whole, 1e-6)


def test_what_the_kernel_does_not_take_is_updated_too():
    ours, theirs = parameters(torch.float64), parameters(torch.float64)
    transposed = torch.randn(3, 4).T
    for some in (ours, theirs):
        some.append(nn.Parameter(transposed.clone()))
        assert not some[-1].is_contiguous()
    give_gradients(0, ours, theirs)
    FastAdamW(ours, **SETTINGS).step()
    AdamW(theirs, **SETTINGS).step()
    assert_same(ours, theirs, 1e-6)


@pytest.mark.parametrize("max_norm", [0.01, 1.0, 1e6, math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_clipping(dtype, max_norm):
    ours, theirs = parameters(dtype), parameters(dtype)
    give_gradients(1, ours, theirs)
    ours[1].grad = theirs[1].grad = None
    norm = fast.clip_gradients((parameter for parameter in ours), max_norm)
    torch.testing.assert_close(norm, gradients.clip_gradients(theirs, max_norm), rtol=1e-6, atol=0)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-6, atol=0)


@pytest.mark.parametrize("odd", [math.inf, math.nan])
def test_a_norm_that_is_not_finite_is_seen(odd):
    ours, theirs = parameters(), parameters()
    give_gradients(1, ours, theirs)
    for some in (ours, theirs):
        some[0].grad[0, 0] = odd
    norms = fast.clip_gradients(ours, 1.0), gradients.clip_gradients(theirs, 1.0)
    assert not math.isfinite(norms[0])
    torch.testing.assert_close(*norms, equal_nan=True)
    torch.testing.assert_close(ours[0].grad, theirs[0].grad, equal_nan=True)


def test_no_gradients_at_all():
    some = parameters()
    assert float(fast.clip_gradients(some, 1.0)) == 0
    FastAdamW(some).step()
    assert_same(some, parameters(), 0)


def test_a_graph_that_needs_what_was_there_before_is_refused():
    parameter, gradient = nn.Parameter(torch.ones(3)), torch.ones(3)
    parameter.grad = gradient
    of_parameter = parameter.square().sum()
    of_gradient = (torch.ones(3, requires_grad=True) * gradient).sum()
    fast.clip_gradients([parameter], 0.1)
    FastAdamW([parameter], lr=0.1).step()
    for graph in (of_parameter, of_gradient):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            graph.backward()


def test_copies_in_bf16_follow_the_update():
    ours, theirs = parameters(), parameters()
    optimizer, plain = FastAdamW(groups(ours), **SETTINGS), FastAdamW(groups(theirs), **SETTINGS)
    optimizer.copies = {p: WeightCopy(torch.empty(p.shape, dtype=torch.bfloat16)) for p in ours[3:5]}
    for step in range(2):
        give_gradients(step, ours, theirs)
        ours[4].grad = theirs[4].grad = None if step else ours[4].grad
        optimizer.step()
        plain.step()
    assert_same(ours, theirs, 0)
    for parameter in ours[3:5]:
        its_copy = optimizer.copies[parameter]
        assert torch.equal(its_copy.values, parameter.to(torch.bfloat16))
        assert its_copy.of_state == (parameter.data_ptr(), parameter._version)


def test_a_copy_of_the_optimizer_goes_on():
    """torch copies and pickles of an optimizer only its groups, state and defaults."""
    some = parameters()
    optimizer = FastAdamW(groups(some), **SETTINGS)
    optimizer.copies = {some[3]: WeightCopy(torch.empty(some[3].shape, dtype=torch.bfloat16))}
    another = copy.deepcopy(optimizer)
    theirs = [parameter for group in another.param_groups for parameter in group["params"]]
    ours = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    give_gradients(0, ours, theirs)
    optimizer.step()
    another.step()
    assert_same(ours, theirs, 0)
