"""Which function a run gets its loss from: the log says which, the numbers stay, and it can be stopped and resumed."""

import logging

import pytest
import torch
from training.runs import changed, lines, losses, moments_of, weights_of

from groundup import device
from groundup.config import ModelConfig
from groundup.errors import DataError
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM
from groundup.optim.fast import FastAdamW
from groundup.training.loop import train
from groundup.training.loss import choose_loss

FLOAT32, BF16 = torch.float32, torch.bfloat16
AS_ONE, BY_MODULES = "training step: as one function", "training step: module by module"


@pytest.fixture
def standard_config(tiny_config):
    return changed(tiny_config, model={"dropout": 0.0}, training={"as_one_function": True})


def small_model(dtype: torch.dtype = FLOAT32) -> TransformerLM:
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=23, context_length=8, d_model=16, num_layers=2, num_heads=2, d_ff=24)
    return TransformerLM(config, ops=choose("cpu", dtype))


@pytest.mark.parametrize(
    ("model", "training", "line"),
    [
        ({"dropout": 0.0}, {}, AS_ONE),
        ({"dropout": 0.1}, {}, f"{BY_MODULES} (dropout is 0.1)"),
        ({"dropout": 0.0, "ffn": "silu"}, {}, f"{BY_MODULES} (ffn is silu)"),
        ({"dropout": 0.0}, {"kernels": "reference"}, ""),
        ({"dropout": 0.0}, {"as_one_function": False}, ""),
    ],
)
def test_the_log_says_once_which(tiny_config, model, training, line, caplog):
    with caplog.at_level(logging.INFO):
        train(changed(tiny_config, model=model, training={"max_steps": 1, "as_one_function": True} | training))
    said = [message for message in caplog.messages if message.startswith("training step:")]
    assert len(said) == bool(line) and all(message.startswith(line) for message in said)


def test_a_compiled_run_is_compiled_from_the_modules(caplog):
    model = small_model()
    with caplog.at_level(logging.INFO):
        choose_loss(
            model, torch.optim.SGD(model.parameters()), FLOAT32, kernels="auto", as_one_function=True, compiled=True
        )
    assert caplog.messages == [f"{BY_MODULES} (training.compile is on)"]


@pytest.mark.parametrize("micro_batch_size", [None, 3])
def test_a_run_is_that_of_the_reference(standard_config, tmp_path, micro_batch_size):
    ours = changed(standard_config, training={"micro_batch_size": micro_batch_size, "log_norms": True})
    theirs = changed(ours, out=str(tmp_path / "reference"), training={"kernels": "reference"})
    train(ours)
    train(theirs)
    assert [loss for _, loss, _ in losses(ours.out)] == pytest.approx([x for _, x, _ in losses(theirs.out)], abs=1e-3)
    for one, other in zip(lines(ours.out, "norms"), lines(theirs.out, "norms"), strict=True):
        for kind in ("weights", "gradients", "activations"):
            assert one[kind] == pytest.approx(other[kind], rel=1e-2)


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_resumed_run_equals_an_uninterrupted_one(standard_config, tmp_path, precision, monkeypatch):
    monkeypatch.setattr(device, "has_fast_bf16", lambda name: True)
    whole = changed(standard_config, training={"precision": precision}, optimizer={"decay_steps": 20})
    train(whole)
    parts = changed(whole, out=str(tmp_path / "parts"))
    train(changed(parts, training={"max_steps": 9}))
    train(parts, resume="auto")
    assert losses(parts.out) == losses(whole.out)
    assert weights_of(parts.out) == weights_of(whole.out)
    assert moments_of(parts.out) == moments_of(whole.out)


@pytest.mark.parametrize("dtype", [FLOAT32, BF16], ids=["float32", "bf16"])
def test_who_watches_gets_to_see_and_changes_nothing(dtype):
    model = small_model(dtype)
    loss_of = choose_loss(model, FastAdamW(model.parameters()), dtype, kernels="auto", as_one_function=True)
    ids = torch.randint(23, (3, 9))

    def gradients():
        loss_of(ids[:, :-1], ids[:, 1:]).backward()
        found = [parameter.grad.clone() for parameter in model.parameters()]
        model.zero_grad()
        return found

    unseen, seen = gradients(), []
    handles = [
        model.layers[1].register_forward_hook(lambda *_: seen.append("module")),
        model.lm_head.weight.register_hook(lambda gradient: seen.append("gradient")),
    ]
    watched = gradients()
    assert seen == ["module", "gradient"]
    for handle in handles:
        handle.remove()
    for ours, theirs, again in zip(unseen, watched, gradients(), strict=True):
        assert torch.equal(ours, again)
        assert (ours - theirs).norm() < (1e-5 if dtype == FLOAT32 else 0.03) * theirs.norm()


def test_bf16_copies_come_from_adamw_and_other_optimizers_do_without():
    model = small_model(BF16)
    optimizer = FastAdamW(model.parameters(), lr=0.1)
    loss_of = choose_loss(model, optimizer, BF16, kernels="auto", as_one_function=True)
    ids = torch.randint(23, (3, 9))
    loss_of(ids[:, :-1], ids[:, 1:]).backward()
    optimizer.step()
    copies = optimizer.copies
    assert len(copies) == 2 * 5 + 1 and all(torch.equal(its.values, p.to(BF16)) for p, its in copies.items())
    after = loss_of(ids[:, :-1], ids[:, 1:]).detach()
    plain = torch.optim.SGD(model.parameters(), lr=0.5)
    other = choose_loss(model, plain, BF16, kernels="auto", as_one_function=True)
    assert torch.equal(other(ids[:, :-1], ids[:, 1:]), after)


def test_a_model_that_was_changed_afterwards_goes_module_by_module():
    model = small_model()
    loss_of = choose_loss(model, FastAdamW(model.parameters()), FLOAT32, kernels="auto", as_one_function=True)
    ids = torch.randint(23, (3, 9))
    narrow = loss_of(ids[:, :-1], ids[:, 1:]).detach()
    model.double()
    wide = loss_of(ids[:, :-1], ids[:, 1:])
    wide.backward()
    torch.testing.assert_close(narrow.double(), wide.detach().double(), rtol=1e-6, atol=0)
    assert model.lm_head.weight.grad is not None and model.lm_head.weight.grad.dtype == torch.float64


def test_a_loss_while_another_waits_goes_module_by_module(caplog):
    """Two losses in one sum, as a regularizer on a second batch would give; the first keeps its memory."""
    model = small_model()
    loss_of = choose_loss(model, FastAdamW(model.parameters()), FLOAT32, kernels="auto", as_one_function=True)
    by_modules = choose_loss(model, FastAdamW(model.parameters()), FLOAT32, kernels="reference")
    first, second = torch.randint(23, (3, 9)), torch.randint(23, (2, 9))
    with caplog.at_level(logging.INFO):
        (loss_of(first[:, :-1], first[:, 1:]) + loss_of(second[:, :-1], second[:, 1:])).backward()
    assert caplog.messages == ["training step: module by module while an earlier loss waits for its backward()"]
    ours = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    (by_modules(first[:, :-1], first[:, 1:]) + by_modules(second[:, :-1], second[:, 1:])).backward()
    for gradient, parameter in zip(ours, model.parameters(), strict=True):
        assert (gradient - parameter.grad).norm() <= 1e-5 * parameter.grad.norm()


def test_without_gradients_a_waiting_loss_keeps_its_memory():
    model = small_model()
    loss_of = choose_loss(model, FastAdamW(model.parameters()), FLOAT32, kernels="auto", as_one_function=True)
    ids = torch.randint(23, (3, 9))
    waiting = loss_of(ids[:, :-1], ids[:, 1:])
    with torch.no_grad():
        again = loss_of(ids[:, :-1], ids[:, 1:])
    torch.testing.assert_close(waiting.detach(), again, rtol=1e-6, atol=0)
    waiting.backward()
    assert model.lm_head.weight.grad is not None


def test_ids_of_any_shape_are_taken():
    model = small_model()
    loss_of = choose_loss(model, FastAdamW(model.parameters()), FLOAT32, kernels="auto", as_one_function=True)
    ids = torch.randint(23, (2, 3, 9))
    loss_of(ids[..., :-1], ids[..., 1:]).backward()
    by_rows = loss_of(ids[..., :-1].flatten(0, 1), ids[..., 1:].flatten(0, 1))
    torch.testing.assert_close(loss_of(ids[..., :-1], ids[..., 1:]), by_rows, rtol=1e-6, atol=0)
    with pytest.raises(DataError, match="context_length is 8"):
        loss_of(torch.zeros(1, 9, dtype=torch.int64), torch.zeros(1, 9, dtype=torch.int64))


@pytest.mark.parametrize("dropout", [0.0, 0.2])
def test_computing_activations_again_changes_no_bit_of_a_run(tiny_config, tmp_path, dropout):
    """As one function, and module by module, where dropout has to fall the same way twice."""
    held = changed(
        tiny_config,
        model={"dropout": dropout},
        training={"max_steps": 8, "micro_batch_size": 3, "as_one_function": True},
    )
    again = changed(held, out=str(tmp_path / "again"), training={"checkpoint_activations": True})
    train(held)
    train(again)
    assert losses(again.out) == losses(held.out)
    assert weights_of(again.out) == weights_of(held.out)
