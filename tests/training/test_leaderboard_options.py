"""The options of the leaderboard lab in whole runs: they resume bit for bit, fall back, and end in time."""

import logging
import math
import time
from types import SimpleNamespace

import pytest
import torch
from training.runs import changed, lines, losses, moments_of, weights_of

from groundup.checkpoint import find_checkpoint, load_run
from groundup.errors import ConfigError
from groundup.generation.text import generate
from groundup.training import deadline as deadlines
from groundup.training import loop, meter, session
from groundup.training.loop import learning_rate, train
from groundup.training.memory import memory_by_moment

MODEL = {
    "ffn": "relu2",
    "value_residual": True,
    "embedding_shortcut": True,
    "scale_embeddings": True,
    "logit_cap": 15.0,
    "zero_outputs": True,
    "dropout": 0.1,
}
ALL = {
    "model": MODEL,
    "optimizer": {"name": "muon", "schedule": "trapezoid", "average_over": 4},
    "training": {"batch_ramp": 0.6},
}
RESUMED = [
    {"optimizer": {"name": "muon", "average_over": 3}},
    {"optimizer": {"name": "sgd", "average_over": 3}, "training": {"batch_ramp": 0.6}},
    {**ALL, "training": {"kernels": "reference", "micro_batch_size": 1, "batch_ramp": 0.6}},
]


def stopped_at(monkeypatch, step: int) -> None:
    """Every run asks itself to stop after this update, as a signal would."""
    update = loop.update

    def update_and_stop(run, loss):
        done = update(run, loss)
        if run.state.step == step:
            run.stop_signal = 15
        return done

    monkeypatch.setattr(loop, "update", update_and_stop)


@pytest.mark.parametrize("options", RESUMED, ids=["muon", "sgd", "all"])
def test_stopped_and_resumed_equals_uninterrupted(tiny_config, tmp_path, monkeypatch, options):
    config = changed(changed(tiny_config, **options), training={"max_steps": 10, "eval_every": 5})
    whole = changed(config, out=str(tmp_path / "whole"))
    train(whole)
    with monkeypatch.context() as patch:
        stopped_at(patch, 4)
        assert train(config).state.step == 4
    train(config, resume="auto")
    assert losses(config.out) == losses(whole.out)
    assert [record["loss"] for record in lines(config.out, "eval")] == [
        record["loss"] for record in lines(whole.out, "eval")
    ]
    assert weights_of(config.out) == weights_of(whole.out)
    assert moments_of(config.out) == moments_of(whole.out)


def test_an_average_leaves_the_course_of_training_as_it_is(tiny_config, tmp_path):
    plain = changed(tiny_config, training={"max_steps": 6, "eval_every": 3})
    train(plain)
    averaged = changed(plain, out=str(tmp_path / "averaged"), optimizer={"average_over": 3})
    train(averaged)
    assert losses(averaged.out) == losses(plain.out)
    assert weights_of(averaged.out) != weights_of(plain.out)


def test_what_validates_and_what_is_kept_is_the_average(tiny_config):
    config = changed(tiny_config, optimizer={"average_over": 5}, training={"max_steps": 8, "eval_every": 0})
    run = train(config)
    kept = load_run(config.out, which="latest").model.state_dict()
    assert all(torch.equal(value, kept[name]) for name, value in run.model.state_dict().items())
    expected = lines(config.out, "eval")[-1]["loss"]
    sitting = session.open_session(config, resume="auto")
    weights = {name: value.clone() for name, value in sitting.model.state_dict().items()}
    assert not torch.equal(weights["lm_head.weight"], kept["lm_head.weight"])
    assert loop.evaluate(sitting).nats_per_token == expected
    sitting.metrics.close()
    assert all(torch.equal(value, weights[name]) for name, value in sitting.model.state_dict().items())


def test_resume_with_another_average_is_refused(tiny_config):
    train(changed(tiny_config, training={"max_steps": 2}))
    with pytest.raises(ConfigError, match=r"optimizer\.average_over 0 -> 3"):
        train(changed(tiny_config, optimizer={"average_over": 3}), resume="auto")


def test_a_run_with_all_of_them_learns_writes_and_is_found_again(tiny_config):
    config = changed(tiny_config, **ALL)
    run = train(config)
    assert lines(config.out, "eval")[-1]["loss"] < math.log(300) - 0.1  # better than a guess
    again = load_run(find_checkpoint(config.out))
    assert again.model.config == run.model.config and type(again.model) is type(run.model)
    ours, theirs = (generate(one, "The cat", max_tokens=5, seed=1)[0].ids for one in (run, again))
    assert ours == theirs


@pytest.mark.parametrize("options", [{"value_residual": True}, {"ffn": "relu2", "d_ff": None}, {"logit_cap": 9.0}])
def test_the_one_function_says_that_it_does_not_take_them(tiny_config, tmp_path, options, caplog):
    plain = changed(tiny_config, model={"dropout": 0.0, **options}, training={"max_steps": 2, "eval_every": 0})
    train(plain)
    asked = changed(plain, out=str(tmp_path / "asked"), training={"as_one_function": True})
    with caplog.at_level(logging.INFO):
        train(asked)
    assert losses(asked.out) == losses(plain.out)
    name, value = next(iter(options.items()))
    assert f"training step: module by module ({name} is {value})" in caplog.text


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_muon_and_average_go_with_the_one_function(tiny_config, tmp_path, precision, monkeypatch):
    monkeypatch.setattr("groundup.device.has_fast_bf16", lambda name: True)
    plain = changed(
        tiny_config,
        model={"dropout": 0.0},
        optimizer={"name": "muon", "average_over": 5},
        training={"precision": precision, "max_steps": 10, "eval_every": 5},
    )
    train(plain)
    asked = changed(plain, out=str(tmp_path / "asked"), training={"as_one_function": True})
    train(asked)
    tolerance = 1e-3 if precision == "float32" else 0.05
    for kind in ("train", "eval"):
        ours, theirs = ([record["loss"] for record in lines(run.out, kind)] for run in (asked, plain))
        assert ours == pytest.approx(theirs, abs=tolerance)


def test_a_batch_ramp_takes_each_window_once_and_counts_its_tokens(tiny_config, monkeypatch):
    seen, batch_at = [], loop.batch_at

    def watched(tokens, **arguments):
        seen.append((arguments["batch_size"], arguments.get("first")))
        return batch_at(tokens, **arguments)

    monkeypatch.setattr(loop, "batch_at", watched)
    config = changed(tiny_config, training={"batch_ramp": 0.5, "batch_size": 8, "max_steps": 20})
    run = train(config)
    sizes = [size for size, _ in seen]
    assert sizes == [2] * 5 + [4] * 5 + [8] * 10
    assert [first for _, first in seen] == [sum(sizes[:step]) for step in range(20)]
    assert run.state.tokens == sum(sizes) * 16


def test_without_a_ramp_a_window_is_asked_for_as_before(tiny_config, monkeypatch):
    asked, batch_at = [], loop.batch_at
    monkeypatch.setattr(loop, "batch_at", lambda tokens, **given: asked.append(given) or batch_at(tokens, **given))
    train(changed(tiny_config, training={"max_steps": 2}))
    assert [given.get("first") for given in asked] == [None, None]
    assert {given["batch_size"] for given in asked} == {4}


def test_the_schedule_is_that_of_the_configuration(tiny_config):
    config = changed(tiny_config, optimizer={"schedule": "trapezoid", "cooldown": 0.5})
    sitting = session.open_session(config)
    sitting.metrics.close()
    found = [learning_rate(sitting.config, step) for step in (1, 2, 10, 15, 20, 21)]
    assert found == pytest.approx([5e-3, 1e-2, 1e-2, 5e-3, 0.0, 0.0])


def test_minutes_end_a_run_in_time_over_several_sittings(tiny_config, monkeypatch):
    clock = SimpleNamespace(now=1000.0)
    for module in (deadlines, meter, session):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now, strftime=time.strftime))
    update = loop.update

    def slow_update(run, loss):
        clock.now += 1.0
        done = update(run, loss)
        if run.state.step == 13:
            run.stop_signal = 15
        return done

    monkeypatch.setattr(loop, "update", slow_update)
    config = changed(tiny_config, training={"max_steps": 500, "minutes": 1.0, "eval_every": 0, "save_every": 0})
    first = train(config)
    assert first.stopped_by == 15 and first.state.step == 13
    clock.now += 10_000.0  # the time between two sittings does not count
    run = train(config, resume="auto")
    assert run.stopped_by is None
    assert run.state.step == pytest.approx(60, abs=2)
    assert lines(config.out)[-1]["lr"] == pytest.approx(config.optimizer.lr / 10, rel=1e-3)


def test_without_minutes_there_is_no_deadline(tiny_config):
    sitting = session.open_session(tiny_config)
    sitting.metrics.close()
    assert sitting.deadline() is None


@pytest.mark.parametrize(
    ("part", "fields", "why"),
    [
        ("model", {"logit_cap": -1.0}, "logit_cap is -1.0"),
        ("optimizer", {"momentum": 1.0}, "optimizer.momentum is 1.0"),
        ("optimizer", {"cooldown": 1.1}, "optimizer.cooldown is 1.1"),
        ("optimizer", {"average_over": -1}, "optimizer.average_over is -1"),
        ("training", {"batch_ramp": 1.1}, "training.batch_ramp is 1.1"),
        ("training", {"minutes": -1.0}, "training.minutes is -1.0"),
        ("training", {"minutes": float("nan")}, "training.minutes is nan"),
    ],
)
def test_values_that_cannot_work_are_said(tiny_config, part, fields, why):
    with pytest.raises(ConfigError) as caught:
        changed(tiny_config, **{part: fields})
    assert why in str(caught.value) and "\n" not in str(caught.value)


def test_memory_counts_the_state_of_muon_and_the_average(tiny_config):
    model = {"vocab_size": 300}
    plain, muon, averaged = (
        memory_by_moment(changed(tiny_config, model=model, optimizer=fields))[0]
        for fields in ({}, {"name": "muon"}, {"average_over": 3})
    )
    assert averaged.optimizer_bytes == plain.optimizer_bytes + plain.weights_bytes
    assert muon.optimizer_bytes < plain.optimizer_bytes
