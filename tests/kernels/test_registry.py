"""Which functions are chosen, that the log says so, and that a model built with them is the reference's."""

import logging
import pickle

import pytest
import torch

from groundup.config import ModelConfig
from groundup.kernels.registry import choose
from groundup.model.ops import REFERENCE, Ops, mixed
from groundup.model.transformer import TransformerLM

FLOAT32, BF16 = torch.float32, torch.bfloat16
VARIANTS = [
    {},
    {"norm": "post"},
    {"norm": "none"},
    {"positions": "none"},
    {"ffn": "silu"},
    {"tie_embeddings": True},
    {"qk_norm": True, "num_kv_heads": 1},
]


@pytest.mark.parametrize(
    ("device", "dtype", "kernels", "line"),
    [
        ("cpu", FLOAT32, "auto", "kernels: native, for "),
        ("cpu", BF16, "auto", "kernels: native, for "),
        ("cpu", FLOAT32, "reference", "kernels: reference, as asked"),
        ("cuda:1", BF16, "auto", "kernels: reference (there are none for torch.bfloat16 on cuda:1)"),
        ("cpu", torch.float16, "auto", "kernels: reference (there are none for torch.float16 on cpu)"),
    ],
)
def test_the_log_says_once_which(device, dtype, kernels, line, caplog):
    with caplog.at_level(logging.INFO):
        ops = choose(device, dtype, kernels)
    assert len(caplog.messages) == 1 and caplog.messages[0].startswith(line)
    assert (ops.swiglu is REFERENCE.swiglu) == ("reference" in line)


def loss_and_gradients(ops: Ops, variant: dict, dtype: torch.dtype = FLOAT32):
    """Of a small model away from its initial values."""
    torch.manual_seed(0)
    shape = {"vocab_size": 61, "context_length": 16, "d_model": 24, "num_layers": 2, "num_heads": 2, "d_ff": 36}
    model = TransformerLM(ModelConfig(**(shape | variant)), ops=ops).to(dtype)
    for parameter in model.parameters():
        parameter.data *= 0.5 + torch.rand(parameter.shape)
    ids = torch.randint(0, 61, (3, 17))
    inputs, targets = ids[:, :-1], ids[:, 1:]
    loss = ops.linear_cross_entropy(model.hidden(inputs), model.lm_head.weight, targets)
    torch.testing.assert_close(loss, ops.cross_entropy(model(inputs), targets), rtol=1e-6, atol=0)
    return loss, torch.autograd.grad(loss, list(model.parameters()))


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_every_variant_of_the_model_computes_the_same(variant):
    exact_loss, exact = loss_and_gradients(REFERENCE, variant, torch.float64)
    loss, gradients = loss_and_gradients(choose("cpu", FLOAT32), variant)
    torch.testing.assert_close(loss.double(), exact_loss, rtol=1e-6, atol=0)
    for ours, theirs in zip(gradients, exact, strict=True):
        assert (ours - theirs).norm() < 1e-5 * theirs.norm()


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_bf16_products_are_as_close_as_those_of_the_reference(variant):
    exact_loss, exact = loss_and_gradients(REFERENCE, variant, torch.float64)
    results = [loss_and_gradients(ops, variant) for ops in (choose("cpu", BF16), mixed(BF16))]
    errors = [
        [float((ours - theirs).norm() / theirs.norm()) for ours, theirs in zip(gradients, exact, strict=True)]
        for _, gradients in results
    ]
    for (loss, _), error in zip(results, errors, strict=True):
        torch.testing.assert_close(loss.double(), exact_loss, rtol=0.01, atol=0)
        assert max(error) < 0.1
    assert sum(errors[0]) < 1.5 * sum(errors[1])  # of one sample: on average over seeds they are equal


def test_they_travel_to_other_processes():
    ops = choose("cpu", BF16)
    assert pickle.loads(pickle.dumps(ops)).rms_norm is ops.rms_norm
