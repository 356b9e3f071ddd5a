"""Clipping against PyTorch's, and which parameters decay."""

import math

import pytest
import torch
from torch import nn

from groundup.config import ModelConfig
from groundup.model.transformer import TransformerLM
from groundup.optim.gradients import clip_gradients, global_norm, parameter_groups


def parameters_with_gradients(scale: float) -> list[nn.Parameter]:
    torch.manual_seed(0)
    parameters = [nn.Parameter(torch.randn(shape)) for shape in ((5, 3), (7,), (), (2, 2))]
    for parameter in parameters[:3]:
        parameter.grad = scale * torch.randn(parameter.shape)
    return parameters  # the last one has no gradient


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("max_norm", [0.01, 1.0, 5.0])
def test_clipping_equals_pytorch(scale, max_norm):
    ours, theirs = parameters_with_gradients(scale), parameters_with_gradients(scale)
    norm = clip_gradients((parameter for parameter in ours), max_norm)  # a generator is enough
    torch.testing.assert_close(norm, nn.utils.clip_grad_norm_(theirs, max_norm))
    for one, other in zip(ours[:3], theirs[:3], strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-6, atol=0)
    assert ours[3].grad is None
    assert global_norm([p.grad for p in ours[:3]]) <= max_norm * (1 + 1e-6)


def test_clipping_is_in_place_and_leaves_small_gradients_as_they_are():
    parameters = parameters_with_gradients(1.0)
    gradients = [parameter.grad for parameter in parameters[:3]]
    before = [gradient.clone() for gradient in gradients]
    norm = clip_gradients(parameters, 1e6)
    assert all(torch.equal(one, other) for one, other in zip(gradients, before, strict=True))
    clip_gradients(parameters, norm.item() / 2)
    assert all(p.grad is gradient for p, gradient in zip(parameters, gradients, strict=False))
    torch.testing.assert_close(gradients, [gradient / 2 for gradient in before], rtol=1e-5, atol=1e-6)


def test_no_limit_only_measures():
    parameters = parameters_with_gradients(1e3)
    before = [parameter.grad.clone() for parameter in parameters[:3]]
    assert clip_gradients(parameters, math.inf) == global_norm(before)
    assert all(torch.equal(p.grad, old) for p, old in zip(parameters, before, strict=False))


def test_a_gradient_that_is_not_finite_shows_in_the_norm():
    for value, is_expected in ((math.inf, torch.isinf), (math.nan, torch.isnan)):
        parameters = parameters_with_gradients(1.0)
        parameters[1].grad[2] = value
        assert is_expected(clip_gradients(parameters, 1.0))


def test_nothing_to_clip():
    assert clip_gradients([nn.Parameter(torch.ones(2))], 1.0) == 0
    assert clip_gradients([], 1.0) == 0


def test_norm_of_bf16_gradients_is_computed_in_float32():
    many = torch.full((10_000,), 0.01, dtype=torch.bfloat16)
    assert global_norm([many]).dtype == torch.float32
    assert global_norm([many, many]).item() == pytest.approx(math.sqrt(20_000) * many[0].item(), rel=1e-5)


@pytest.mark.parametrize("tied", [False, True])
def test_matrices_decay_and_gains_do_not(tied):
    config = ModelConfig(
        vocab_size=20, context_length=8, d_model=8, num_layers=2, num_heads=2, qk_norm=True, tie_embeddings=tied
    )
    model = TransformerLM(config)
    decayed, spared = parameter_groups(model, 0.1)
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.1, 0.0)
    assert len(decayed["params"]) == 2 * 5 + (1 if tied else 2)  # qkv, output, w1, w2, w3 of each layer
    assert len(spared["params"]) == 2 * 4 + 1  # ln1, ln2, q_norm, k_norm of each layer, ln_final
    everything = decayed["params"] + spared["params"]
    assert {id(p) for p in everything} == {id(p) for p in model.parameters()}


def test_empty_groups_are_left_out_and_frozen_parameters_too():
    layer = nn.Linear(2, 3, bias=False)
    assert [len(group["params"]) for group in parameter_groups(layer, 0.1)] == [1]
    layer.weight.requires_grad_(False)
    assert parameter_groups(layer, 0.1) == []
