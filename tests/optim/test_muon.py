"""Muon: its steps against a singular value decomposition, its AdamW against AdamW, and what a checkpoint needs."""

import copy
import dataclasses

import pytest
import torch
from torch import Tensor, nn

from groundup.config import ModelConfig
from groundup.errors import ConfigError
from groundup.model.variants import build_model
from groundup.optim.adamw import AdamW
from groundup.optim.muon import (
    NUM_ITERATIONS,
    QUINTIC,
    SIZE_OF_STEP,
    FastMuon,
    Muon,
    muon_groups,
    orthogonalized,
    orthogonalized_all,
)

SHAPE = ModelConfig(vocab_size=40, context_length=8, d_model=16, num_layers=2, num_heads=4, num_kv_heads=2, d_ff=24)
SETTINGS = {"lr": 0.02, "betas": (0.9, 0.95), "eps": 1e-8}
KINDS = [Muon, FastMuon]


def matrix_with(values: Tensor, m: int, n: int) -> Tensor:
    """A random m x n matrix with these singular values."""
    u, _ = torch.linalg.qr(torch.randn(m, len(values), dtype=torch.float64))
    v, _ = torch.linalg.qr(torch.randn(n, len(values), dtype=torch.float64))
    return u * values @ v.T


def quintic(value: Tensor) -> Tensor:
    a, b, c = QUINTIC
    for _ in range(NUM_ITERATIONS):
        value = a * value + b * value**3 + c * value**5
    return value


@pytest.mark.parametrize(("m", "n"), [(5, 5), (4, 9), (9, 4), (1, 6), (6, 1)])
def test_it_is_a_polynomial_of_the_singular_values(m, n):
    torch.manual_seed(0)
    matrix = torch.randn(m, n, dtype=torch.float64)
    u, values, vh = torch.linalg.svd(matrix, full_matrices=False)
    expected = u * quintic(values / values.norm()) @ vh
    torch.testing.assert_close(orthogonalized(matrix), expected, rtol=1e-5, atol=1e-6)  # its norm has 1e-7 added


@pytest.mark.parametrize(("m", "n"), [(64, 64), (32, 128), (128, 32)])
def test_singular_values_come_near_1(m, n):
    torch.manual_seed(0)
    matrix = matrix_with(torch.logspace(-1.5, 0, 32, dtype=torch.float64), m, n)
    values = torch.linalg.svdvals(orthogonalized(matrix))[:32]
    assert values.min() > 0.65 and values.max() < 1.25
    u, _, vh = torch.linalg.svd(matrix, full_matrices=False)
    turned = (u.T @ orthogonalized(matrix) @ vh.T)[:32, :32]
    assert (turned - torch.diag(turned.diagonal())).abs().max() < 1e-6  # the same directions


def test_the_range_that_the_docstring_names():
    """For all values from 1/600 of the Frobenius norm on."""
    values = quintic(torch.linspace(1 / 600, 1, 100_000, dtype=torch.float64))
    assert values.min() > 0.68 and values.max() < 1.21
    assert quintic(torch.tensor(1e-4)) < 0.1


def test_many_at_once_are_each_alone():
    torch.manual_seed(0)
    matrices = [torch.randn(shape) for shape in ((4, 6), (3, 3), (4, 6), (6, 4))]
    for found, matrix in zip(orthogonalized_all(matrices), matrices, strict=True):
        torch.testing.assert_close(found, orthogonalized(matrix), rtol=1e-4, atol=1e-5)
    assert orthogonalized_all([]) == []
    assert torch.equal(orthogonalized(torch.zeros(3, 4)), torch.zeros(3, 4))


@pytest.mark.parametrize("kind", KINDS)
def test_the_formula_by_hand_over_three_steps(kind):
    torch.manual_seed(0)
    start, total = torch.randn(6, 4), torch.zeros(6, 4)
    parameter = nn.Parameter(start.clone())
    optimizer = kind([{"params": [parameter], "rows": (2, 4), "weight_decay": 0.5}], **SETTINGS, momentum=0.9)
    expected = start.clone()
    for step in range(3):
        gradient = torch.randn(6, 4)
        parameter.grad = gradient.clone()
        optimizer.param_groups[0]["lr"] = rate = 0.1 / (1 + step)
        optimizer.step()
        total = 0.9 * total + gradient
        ahead = gradient + 0.9 * total
        expected *= 1 - rate * 0.5
        expected[:2] -= rate * SIZE_OF_STEP * 4**0.5 * orthogonalized(ahead[:2])
        expected[2:] -= rate * SIZE_OF_STEP * 4**0.5 * orthogonalized(ahead[2:])
    torch.testing.assert_close(parameter.detach(), expected, rtol=1e-4, atol=1e-5)
    assert set(optimizer.state[parameter]) == {"sum"}


def test_a_step_has_the_size_of_adamws():
    torch.manual_seed(0)
    for shape in ((32, 32), (16, 96), (96, 16)):
        parameter = nn.Parameter(torch.zeros(shape))
        parameter.grad = torch.randn(shape)
        Muon([{"params": [parameter], "rows": shape[:1]}], lr=1.0, weight_decay=0.0).step()
        assert 0.13 < parameter.detach().square().mean().sqrt() < 0.24


def test_groups_take_the_matrices_of_the_layers_and_nothing_else():
    torch.manual_seed(0)
    model = build_model(dataclasses.replace(SHAPE, value_residual=True, qk_norm=True))
    names = {parameter: name for name, parameter in model.named_parameters()}
    found = {}
    for group in muon_groups(model, 0.1):
        for parameter in group["params"]:
            found[names[parameter]] = (group["rows"], group["weight_decay"])
    assert set(found) == set(names.values())
    for name, (rows, decay) in found.items():
        if name in ("token_embeddings.weight", "lm_head.weight"):
            assert (rows, decay) == ((), 0.1), name
        elif "norm" in name or "ln" in name or "share" in name:
            assert (rows, decay) == ((), 0.0), name
        elif "qkv" in name:
            assert (rows, decay) == ((16, 8, 8), 0.1), name
        else:
            assert (rows, decay) == ((len(model.get_parameter(name)),), 0.1), name


def give_gradients(step: int, *models: nn.Module) -> None:
    generator = torch.Generator().manual_seed(step)
    for some in zip(*(model.parameters() for model in models), strict=True):
        gradient = torch.randn(some[0].shape, generator=generator)
        for parameter in some:
            parameter.grad = gradient.clone()


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_matrix_of_a_layer_goes_by_adamw(kind):
    torch.manual_seed(0)
    ours = build_model(SHAPE)
    theirs = copy.deepcopy(ours)
    optimizers = (kind(muon_groups(ours, 0.1), **SETTINGS), AdamW(muon_groups(theirs, 0.1), **SETTINGS))
    for step in range(20):
        give_gradients(step, ours, theirs)
        for optimizer in optimizers:
            optimizer.step()
    moved = 0
    for (name, one), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        if name.startswith("layers.") and one.ndim == 2:
            moved += not torch.allclose(one, other, atol=1e-3)
        else:
            torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
    assert moved == 10  # of two layers: qkv, output, w1, w2, w3


def test_parameters_without_gradient_are_left_alone():
    used, unused = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(2, 3))
    optimizer = Muon([{"params": [used, unused], "rows": (2,)}])
    used.grad = torch.randn(2, 3)
    optimizer.step()
    assert (unused == 1).all() and unused not in optimizer.state


def test_a_state_fits_both_kinds():
    torch.manual_seed(0)
    one = build_model(SHAPE)
    optimizer = FastMuon(muon_groups(one, 0.1), **SETTINGS)
    for step in range(3):
        give_gradients(step, one)
        optimizer.step()
    other = copy.deepcopy(one)
    again = Muon(muon_groups(other, 0.1), **SETTINGS)
    again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for step in range(3, 6):
        give_gradients(step, one, other)
        optimizer.step()
        again.step()
    for ours, theirs in zip(one.parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("momentum", [-0.1, 1.0, float("nan")])
def test_a_momentum_that_cannot_be_is_refused(momentum):
    with pytest.raises(ConfigError, match="momentum of Muon"):
        Muon([nn.Parameter(torch.ones(2, 2))], momentum=momentum)
