"""What the hardware lacks is replaced, said once, and changes the result by rounding at most (case D11)."""

import dataclasses
import logging
import os
import subprocess
import sys

import pytest
import torch

from groundup import device
from groundup.device import choose_device, choose_precision
from groundup.errors import ConfigError
from groundup.model.ops import mixed
from groundup.model.transformer import TransformerLM
from groundup.recipe import write_config
from groundup.training import session
from groundup.training.compiled import compile_or_fall_back
from groundup.training.loop import train
from groundup.training.metrics import read_metrics
from groundup.training.products import fast_products, product_error


def with_training(config, **fields):
    return dataclasses.replace(config, training=dataclasses.replace(config.training, **fields))


def losses(folder):
    return [line["loss"] for line in read_metrics(f"{folder}/metrics.jsonl") if line["kind"] == "train"]


def test_bf16_without_hardware_trains_in_float32_and_says_so_once(tiny_config, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(device, "has_fast_bf16", lambda name: False)
    config = with_training(tiny_config, max_steps=5)
    train(config)
    asked = with_training(dataclasses.replace(config, out=str(tmp_path / "asked")), precision="bf16")
    with caplog.at_level(logging.WARNING):
        train(asked)
    assert losses(config.out) == losses(asked.out)
    assert caplog.text.count("has no bfloat16 products, so the run uses float32") == 1


def test_bf16_with_hardware_is_used_and_stays_close_to_float32(tiny_config, tmp_path, monkeypatch):
    config = with_training(tiny_config, max_steps=20)
    train(config)
    monkeypatch.setattr(device, "has_fast_bf16", lambda name: True)
    asked = with_training(dataclasses.replace(config, out=str(tmp_path / "asked")), precision="bf16")
    run = train(asked)
    assert losses(config.out) != losses(asked.out)
    assert losses(asked.out) == pytest.approx(losses(config.out), abs=0.05)
    assert {parameter.dtype for parameter in run.model.parameters()} == {torch.float32}


def test_bf16_gradients_are_float32_and_near(tiny_config):
    torch.manual_seed(0)
    model = TransformerLM(dataclasses.replace(tiny_config.model, vocab_size=300, dropout=0.0))
    low = TransformerLM(model.config, ops=mixed(torch.bfloat16))
    low.load_state_dict(model.state_dict())
    ids = torch.randint(300, (4, 16))
    for one in (model, low):
        one.ops.cross_entropy(one(ids), ids.roll(-1, 1)).backward()
    for (name, exact), rounded in zip(model.named_parameters(), low.parameters(), strict=True):
        assert rounded.grad.dtype == torch.float32
        error = (exact.grad - rounded.grad).norm() / exact.grad.norm()
        assert error < 0.03, name  # bf16 keeps 8 bits: 0.4 % a product, a few products deep


def test_choice_of_precision():
    assert choose_precision("float32", "cpu") == "float32"


def test_choice_of_device():
    assert choose_device("cpu") == "cpu"
    expected = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    assert choose_device("auto") == expected
    with pytest.raises(ConfigError, match="device 'nonsense' cannot be used here"):
        choose_device("nonsense")


def test_without_a_gpu_auto_is_the_cpu_and_says_so_once(tiny_config, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    config = with_training(tiny_config, max_steps=5)
    train(config)
    asked = with_training(dataclasses.replace(config, out=str(tmp_path / "asked")), device="auto")
    with caplog.at_level(logging.INFO):
        train(asked)
    assert losses(config.out) == losses(asked.out)
    assert caplog.text.count("device: cpu (no GPU that torch can use)") == 1


def test_compile_that_fails_falls_back_and_says_so_once(tiny_config, tmp_path, monkeypatch, caplog):
    def no_compiler(function):
        raise RuntimeError("no C++ compiler found")

    config = with_training(tiny_config, max_steps=5)
    train(config)
    monkeypatch.setattr(torch, "compile", no_compiler)
    asked = with_training(dataclasses.replace(config, out=str(tmp_path / "asked")), compile=True)
    with caplog.at_level(logging.WARNING):
        train(asked)
    assert losses(config.out) == losses(asked.out)
    assert caplog.text.count("torch.compile cannot be used here (RuntimeError: no C++ compiler found)") == 1


def test_compile_whose_gradients_are_nan_falls_back(tiny_config, monkeypatch, caplog):
    sitting = session.open_session(tiny_config)
    sitting.metrics.close()
    monkeypatch.setattr(
        torch, "compile", lambda function: lambda inputs, targets: function(inputs, targets) * torch.nan
    )
    loss_of = compile_or_fall_back(sitting)
    assert loss_of is sitting.loss_of
    assert "its gradients are not finite" in caplog.text
    assert all(parameter.grad is None for parameter in sitting.model.parameters())


COMPILED = """
import sys, dataclasses
from groundup.recipe import read_config
from groundup.training.loop import train
train(read_config(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_a_compiled_run_gives_the_same_loss(tiny_config, tmp_path, precision, monkeypatch):
    """In a child without run-time type checks, which torch.compile cannot trace."""
    config = with_training(tiny_config, max_steps=5, precision=precision)
    config = dataclasses.replace(config, model=dataclasses.replace(config.model, dropout=0.0))
    train(config)
    asked = with_training(dataclasses.replace(config, out=str(tmp_path / "asked")), compile=True)
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(write_config(asked), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", COMPILED, str(recipe)], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert losses(asked.out) == pytest.approx(losses(config.out), abs=2e-3)


def test_float32_products_stay_exact_and_the_switch_is_put_back():
    before = torch.backends.mkldnn.matmul.fp32_precision
    with fast_products("cpu", wanted=True):
        assert product_error() < 1e-6
    assert torch.backends.mkldnn.matmul.fp32_precision == before


def test_products_that_would_be_rounded_are_left_alone(monkeypatch):
    before = torch.backends.mkldnn.matmul.fp32_precision
    monkeypatch.setattr("groundup.training.products.product_error", lambda: 3e-3)
    with fast_products("cpu", wanted=True):
        assert torch.backends.mkldnn.matmul.fp32_precision == before
