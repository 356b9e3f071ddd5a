"""The training loop: accumulated equals whole, bad values are skipped, what cannot work fails at once."""

import dataclasses
import json
import logging
import math
import os
import sys

import pytest
import torch
from training.runs import changed, lines, losses

from groundup.checkpoint import load_run
from groundup.data.shards import open_tokens, prepare
from groundup.environment import peak_memory_bytes
from groundup.errors import CheckpointError, ConfigError, DataError, DivergenceError, TrainingError
from groundup.evaluation.likelihood import evaluate_tokens
from groundup.training import loop, resolve, session
from groundup.training.loop import learning_rate, micro_batches, train
from groundup.training.memory import peak_memory


def test_loss_falls_and_the_folder_holds_the_record(tiny_config):
    config = changed(tiny_config, training={"max_steps": 60}, model={"dropout": 0.0})
    run = train(config)
    first, last = losses(config.out)[0][1], losses(config.out)[-1][1]
    assert last < first - 1
    assert run.state.step == 60 and run.state.tokens == 60 * 4 * 16
    assert sorted(os.listdir(config.out)) == [
        "checkpoints", "config.yaml", "environment.json", "metrics.jsonl", "tokenizer.json"
    ]  # fmt: skip
    evaluations = lines(config.out, "eval")
    assert [record["step"] for record in evaluations] == [10, 20, 30, 40, 50, 60]
    assert load_run(config.out, which="latest").state.step == 60
    assert load_run(config.out).state.step == run.state.best_step
    record = lines(config.out)[-1]
    assert {"step", "tokens", "seconds", "loss", "lr", "grad_norm", "tokens_per_s"} <= record.keys()


def test_the_number_of_updates_is_exactly_max_steps_and_rates_follow_the_schedule(tiny_config):
    train(tiny_config)
    rates = [record["lr"] for record in lines(tiny_config.out)]
    assert len(rates) == 20
    assert rates[0] == pytest.approx(1e-2 / 2)  # t = 1 of two warm-up steps
    assert rates[1] == pytest.approx(1e-2)
    assert rates[-1] == pytest.approx(1e-3)  # min_lr = lr / 10 at the last update


def test_same_seed_same_run_and_another_seed_another(tiny_config, tmp_path):
    train(tiny_config)
    again = changed(tiny_config, out=str(tmp_path / "again"))
    train(again)
    assert losses(tiny_config.out) == losses(again.out)
    other = changed(tiny_config, out=str(tmp_path / "other"), training={"seed": 1})
    train(other)
    assert losses(tiny_config.out) != losses(other.out)


def test_the_callers_random_state_is_left_alone(tiny_config):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(changed(tiny_config, training={"max_steps": 2}))
    assert torch.equal(torch.rand(3), expected)


# D3: hardly any text


def test_a_text_of_one_sentence_can_be_trained_on(tiny_config, tmp_path, tokenizer):
    (tmp_path / "a.txt").write_text("The cat sat on the mat and looked at the moon.", encoding="utf-8")
    prepare(tmp_path / "a.txt", tokenizer, tmp_path / "data")
    num_ids = len(open_tokens(tmp_path / "data", "train"))
    shape = {"data": {"path": str(tmp_path / "data")}, "training": {"max_steps": 2}}
    with pytest.raises(DataError, match=rf"has {num_ids} training tokens; .* needs at least {num_ids + 1}"):
        train(changed(tiny_config, model={"context_length": num_ids}, **shape))
    run = train(changed(tiny_config, model={"context_length": num_ids - 1}, **shape))  # the one window that fits
    assert run.state.step == 2 and run.state.tokens == 2 * 4 * (num_ids - 1)


# D8: gradient accumulation


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_accumulated_gradient_is_that_of_the_whole_batch(tiny_config, rows):
    config = changed(tiny_config, model={"dropout": 0.0})
    torch.manual_seed(0)
    inputs, targets = torch.randint(300, (2, 8, 16))
    gradients = []
    for size in (8, rows):
        sitting = session.open_session(
            changed(config, training={"batch_size": 8, "micro_batch_size": size}, out=f"{config.out}-{size}")
        )
        sitting.model.double()
        total = 0.0
        for some_inputs, some_targets, share in micro_batches(inputs, targets, sitting):
            loss = sitting.loss_of(some_inputs, some_targets) * share
            loss.backward()
            total += float(loss.detach())
        sitting.metrics.close()
        gradients.append([parameter.grad.clone() for parameter in sitting.model.parameters()] + [torch.tensor(total)])
    for whole, parts in zip(*gradients, strict=True):
        # Norms and the loss are computed in float32 whatever the weights, so double does not reach 1e-12.
        torch.testing.assert_close(whole.double(), parts.double(), rtol=1e-5, atol=1e-7)


def test_accumulated_run_follows_the_whole_one(tiny_config, tmp_path):
    config = changed(tiny_config, model={"dropout": 0.0})
    train(config)
    parts = changed(config, out=str(tmp_path / "parts"), training={"micro_batch_size": 3})
    train(parts)
    for (step, whole, _), (_, split, _) in zip(losses(config.out), losses(parts.out), strict=True):
        assert whole == pytest.approx(split, abs=2e-4), step


# D10: values that are not finite


def poisoned(monkeypatch, steps, value=math.nan, where="loss"):
    """Make the loss (or one gradient) of the given updates, counted from 0, not finite."""
    original = session.choose_loss

    def choose_loss(model, *args, **kwargs):
        inner, calls = original(model, *args, **kwargs), iter(range(10**6))

        def loss_of(inputs, targets):
            loss = inner(inputs, targets)
            if next(calls) not in steps:
                return loss
            if where == "loss":
                return loss * value
            assert loss.isfinite()

            def spoil(gradient):  # one entry of one gradient, under a loss that is fine
                hook.remove()
                return gradient.index_fill(0, torch.tensor([1]), value)

            hook = model.ln_final.weight.register_hook(spoil)
            return loss

        return loss_of

    monkeypatch.setattr(session, "choose_loss", choose_loss)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize("where", ["loss", "gradient"])
def test_a_bad_update_is_skipped_counted_and_logged(tiny_config, monkeypatch, caplog, where, value):
    poisoned(monkeypatch, {4}, value, where)
    with caplog.at_level(logging.WARNING):
        run = train(changed(tiny_config, training={"max_steps": 8}))
    assert run.state.step == 8
    assert [record["step"] for record in lines(tiny_config.out, "skipped")] == [5]
    assert caplog.text.count("step 5: not finite") == 1 and "skipped" in caplog.text
    assert [record["step"] for record in lines(tiny_config.out)] == list(range(1, 9))
    assert all(parameter.isfinite().all() for parameter in run.model.parameters())


def test_too_many_bad_updates_stop_the_run_with_the_good_checkpoint_kept(tiny_config, monkeypatch):
    poisoned(monkeypatch, set(range(6, 100)))
    with pytest.raises(DivergenceError, match=r"not finite for 3 updates in a row, up to step 9"):
        train(changed(tiny_config, training={"max_skipped": 3}))
    assert load_run(tiny_config.out, which="latest").state.step == 5
    good = load_run(tiny_config.out, which="latest").model
    assert all(parameter.isfinite().all() for parameter in good.parameters())


# D5 in the loop: a periodic checkpoint that cannot be written does not end the run


def test_a_full_disk_does_not_end_the_run(tiny_config, monkeypatch, caplog):
    original, failures = loop.write_step, []

    def write(*args, state, **kwargs):
        if state.step in (5, 10):
            failures.append(state.step)
            raise CheckpointError(f"the checkpoint of step {state.step} could not be written: No space left on device")
        return original(*args, state=state, **kwargs)

    monkeypatch.setattr(loop, "write_step", write)
    run = train(tiny_config)
    assert run.state.step == 20 and failures
    assert "No space left on device; training goes on" in caplog.text


def test_a_last_checkpoint_that_cannot_be_written_is_an_error(tiny_config, monkeypatch):
    def write(*args, **kwargs):
        raise CheckpointError("no space")

    monkeypatch.setattr(loop, "write_step", write)
    with pytest.raises(CheckpointError, match="no space"):
        train(changed(tiny_config, training={"max_steps": 3}))


# D13: evaluation in the middle of training


def test_evaluation_leaves_the_training_stream_untouched(tiny_config, tmp_path):
    train(tiny_config)
    rarely = changed(tiny_config, out=str(tmp_path / "rarely"), training={"eval_every": 0})
    train(rarely)
    assert losses(tiny_config.out) == losses(rarely.out)
    assert [record["step"] for record in lines(rarely.out, "eval")] == [20]


def test_recorded_validation_loss_is_that_of_the_saved_model(tiny_config, prepared):
    train(tiny_config)
    run = load_run(tiny_config.out, which="latest")
    again = evaluate_tokens(run.model, open_tokens(prepared, "valid"), batch_size=7, context_length=16)
    assert lines(tiny_config.out, "eval")[-1]["loss"] == pytest.approx(again.nats_per_token, abs=1e-6)


def test_a_validation_loss_of_nan_is_never_the_best(tiny_config, monkeypatch):
    original, calls = loop.evaluate_tokens, []

    def evaluate_tokens(*args, **kwargs):
        calls.append(1)
        result = original(*args, **kwargs)
        return dataclasses.replace(result, nats_per_token=math.nan) if len(calls) == 1 else result

    monkeypatch.setattr(loop, "evaluate_tokens", evaluate_tokens)
    assert train(tiny_config).state.best_step == 20


def test_early_stopping(tiny_config):
    config = changed(tiny_config, optimizer={"lr": 0.0, "min_lr": 0.0}, training={"eval_every": 2, "patience": 3})
    run = train(config)
    assert run.state.step == 8  # best at 2, then three passes without a better one
    assert load_run(config.out, which="latest").state.step == 8


# Further options


def test_init_from_starts_with_the_weights_of_another_run(tiny_config, tmp_path):
    train(tiny_config)
    config = changed(
        tiny_config, out=str(tmp_path / "tuned"), optimizer={"lr": 0.0, "min_lr": 0.0}, training={"max_steps": 1}
    )
    config = dataclasses.replace(config, init_from=tiny_config.out)
    run = train(config)
    source = load_run(tiny_config.out)
    for name, tensor in source.model.state_dict().items():
        assert torch.equal(tensor, run.model.state_dict()[name])


def test_init_from_another_shape_is_refused(tiny_config, tmp_path):
    train(changed(tiny_config, training={"max_steps": 1}))
    config = changed(tiny_config, out=str(tmp_path / "tuned"), model={"num_layers": 1})
    with pytest.raises(ConfigError, match="another model shape"):
        train(dataclasses.replace(config, init_from=tiny_config.out))


def test_norms_by_layer_are_written_when_asked(tiny_config):
    train(changed(tiny_config, training={"max_steps": 2, "log_norms": True}))
    record = lines(tiny_config.out, "norms")[-1]
    layers = {"token_embeddings", "layers.0", "layers.1", "ln_final", "lm_head"}
    assert set(record["weights"]) == set(record["gradients"]) == layers
    assert layers <= set(record["activations"])
    assert all(value > 0 for part in ("weights", "gradients") for value in record[part].values())


def test_weight_norm_is_the_l2_norm(tiny_config):
    config = changed(tiny_config, optimizer={"lr": 0.0, "min_lr": 0.0}, training={"max_steps": 1, "log_norms": True})
    run = train(config)
    expected = float(run.model.lm_head.weight.detach().norm())
    assert lines(config.out, "norms")[-1]["weights"]["lm_head"] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"data": {"path": ""}}, ConfigError, "data.path is empty"),
        ({"data": {"path": "nowhere"}}, DataError, "nowhere"),
        ({"model": {"context_length": 100_000}}, DataError, "a context of 100000 needs at least 100001"),
        ({"model": {"vocab_size": 100}}, ConfigError, "the tokenizer of the data has 300 entries"),
        ({"optimizer": {"decay_steps": 1}}, ConfigError, "cannot end before the 2 updates of optimizer.warmup_steps"),
        ({"training": {"device": "quantum"}}, ConfigError, "device 'quantum' cannot be used here"),
        ({"training": {"batch_size": 10**9}}, TrainingError, "would fit|smaller model"),
    ],
)
def test_what_cannot_work_fails_before_anything_is_written(tiny_config, parts, error, message):
    with pytest.raises(error, match=message):
        train(changed(tiny_config, **parts))
    assert not os.path.exists(tiny_config.out)


def test_a_sink_that_is_not_installed_fails_before_anything_is_written(tiny_config, monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(ConfigError, match="wandb, which is not installed"):
        train(changed(tiny_config, training={"sinks": ("wandb",)}))
    assert not os.path.exists(tiny_config.out)


def test_sgd_needs_no_memory_for_moments(tiny_config, tokenizer, monkeypatch):
    config = resolve.resolve(tiny_config, tokenizer)
    adamw = peak_memory(config)
    free = adamw.total_bytes - adamw.optimizer_bytes - adamw.runtime_bytes
    monkeypatch.setattr(resolve, "available_memory_bytes", lambda: free)
    with pytest.raises(TrainingError, match="the run needs about"):
        resolve.check_memory(config, "cpu", "float32")
    resolve.check_memory(changed(config, optimizer={"name": "sgd"}), "cpu", "float32")


def test_too_little_memory_is_met_by_the_parts_that_take_it(tiny_config, tokenizer, monkeypatch):
    config = changed(tiny_config, training={"batch_size": 64, "eval_batch_size": 512})
    config = resolve.resolve(config, tokenizer)
    fitting = peak_memory(changed(config, training={"micro_batch_size": 16, "eval_batch_size": 64}))
    free = fitting.total_bytes - fitting.runtime_bytes
    monkeypatch.setattr(resolve, "available_memory_bytes", lambda: free)
    with pytest.raises(TrainingError, match=r"micro_batch_size 16 and training.eval_batch_size \d+ would fit"):
        resolve.check_memory(config, "cpu", "float32")
    monkeypatch.setattr(resolve, "available_memory_bytes", lambda: 1000)
    with pytest.raises(TrainingError, match="take a smaller model or a shorter context"):
        resolve.check_memory(config, "cpu", "float32")


def test_records_have_the_peak_of_memory(tiny_config, monkeypatch):
    train(changed(tiny_config, training={"max_steps": 3}))
    peaks = [record["peak_memory_bytes"] for kind in ("train", "eval") for record in lines(tiny_config.out, kind)]
    assert len(peaks) == 4 and peaks == sorted(peaks)
    assert peaks[0] > 50e6 and peaks[-1] <= peak_memory_bytes()
    assert "peak_device_memory_bytes" not in lines(tiny_config.out)[0]


def test_on_cuda_records_have_the_peak_of_its_memory_besides(tiny_config, monkeypatch):
    sitting = session.open_session(tiny_config)
    sitting.metrics.close()
    sitting.device = "cuda:1"
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", {"cuda:1": 123}.__getitem__)
    assert sitting.peak_memory().keys() == {"peak_memory_bytes", "peak_device_memory_bytes"}
    assert sitting.peak_memory()["peak_device_memory_bytes"] == 123


def test_learning_rate_counts_updates_from_one(tiny_config):
    sitting = session.open_session(tiny_config)
    sitting.metrics.close()
    assert [learning_rate(sitting.config, step) for step in (1, 2, 20, 21)] == pytest.approx([5e-3, 1e-2, 1e-3, 1e-3])


def test_metrics_lines_are_json_objects(tiny_config):
    train(changed(tiny_config, training={"max_steps": 3}))
    with open(f"{tiny_config.out}/metrics.jsonl", encoding="utf-8") as file:
        assert all(isinstance(json.loads(line), dict) for line in file)
