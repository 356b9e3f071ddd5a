"""Whole runs of the fast paths beside the readable model's: the loss of each update, over 300 of them."""

import pytest
from training.runs import changed, losses

from groundup import device
from groundup.training.loop import train


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fast_runs_learn_as_the_readable_one(tiny_config, tmp_path, monkeypatch):
    """bf16, imitated where the processor has none, beside the readable model in float32."""
    monkeypatch.setattr(device, "has_fast_bf16", lambda name: True)
    readable = changed(
        tiny_config,
        model={"context_length": 32, "d_model": 64, "num_heads": 4, "d_ff": 128, "dropout": 0.0},
        optimizer={"lr": 3e-3, "warmup_steps": 30},
        training={"max_steps": 300, "batch_size": 8, "eval_every": 0, "save_every": 0, "kernels": "reference"},
    )
    train(readable)
    expected = [loss for _, loss, _ in losses(readable.out)]
    assert expected[-1] < 0.6 * expected[0]
    for precision, tolerance in (("float32", 1e-3), ("bf16", 5e-3)):
        run = changed(
            readable,
            out=str(tmp_path / precision),
            training={"kernels": "auto", "as_one_function": True, "precision": precision},
        )
        train(run)
        found = [loss for _, loss, _ in losses(run.out)]
        assert max(abs(one - other) for one, other in zip(found, expected, strict=True)) < tolerance, precision
