"""A run that was killed or stopped goes on as if nothing had happened, and never with what is not its own."""

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
from training.runs import changed, lines, losses, moments_of, weights_of

from groundup.checkpoint import load_run
from groundup.data.shards import prepare
from groundup.errors import CheckpointError, ConfigError, DataError
from groundup.recipe import write_config
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator
from groundup.training.loop import train

# D4 and D6: killed and stopped runs go on as if nothing had happened

PROGRAM = """
import sys
from groundup.recipe import read_config
from groundup.training.loop import train
run = train(read_config(sys.argv[1]), resume="auto")
sys.exit(0 if run.stopped_by is None else 128 + run.stopped_by)
"""


def start(config, tmp_path, *, after_step=None, number=None):
    """Train in a child; send it `number` once its metrics show `after_step`; returns the exit code."""
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(write_config(config), encoding="utf-8")
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    child = subprocess.Popen([sys.executable, "-c", PROGRAM, str(recipe)], env=environment, stderr=subprocess.PIPE)
    try:
        while number is not None and not any(step >= after_step for step, *_ in losses(config.out)):
            assert child.poll() is None, child.stderr.read().decode()
            time.sleep(0.002)
        if number is not None:
            child.send_signal(number)
        error = child.communicate()[1].decode()  # the suite has its own time limit
    finally:
        child.kill()
    assert "Traceback" not in error, error
    return child.returncode


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_interrupted_and_resumed_equals_uninterrupted(tiny_config, tmp_path, number):
    config = changed(tiny_config, training={"max_steps": 90, "save_every": 20, "eval_every": 40, "log_every": 3})
    whole = changed(config, out=str(tmp_path / "whole"))
    train(whole)
    code = start(config, tmp_path, after_step=40, number=number)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    stopped_at = load_run(config.out, which="latest").state.step
    assert 20 <= stopped_at < 90
    if number != signal.SIGKILL:
        assert stopped_at >= 40  # the checkpoint is of the moment of the signal
    train(config, resume="auto")
    assert losses(config.out) == losses(whole.out)
    assert weights_of(config.out) == weights_of(whole.out)
    assert moments_of(config.out) == moments_of(whole.out)
    assert len(lines(config.out, "resumed")) == 1


def test_a_run_is_not_overwritten_by_accident(tiny_config):
    train(changed(tiny_config, training={"max_steps": 2}))
    with pytest.raises(ConfigError, match="already holds a run; go on with --resume auto"):
        train(tiny_config)


def test_resume_with_other_settings_names_them(tiny_config):
    train(changed(tiny_config, training={"max_steps": 2}))
    other = changed(tiny_config, model={"num_layers": 1}, training={"max_steps": 2})
    with pytest.raises(ConfigError, match=r"model.num_layers 2 -> 1"):
        train(other, resume="auto")


def test_a_finished_run_can_be_made_longer(tiny_config):
    train(changed(tiny_config, training={"max_steps": 4}))
    run = train(changed(tiny_config, training={"max_steps": 8}), resume="auto")
    assert run.state.step == 8
    assert [step for step, *_ in losses(tiny_config.out)] == list(range(1, 9))


def test_the_end_of_the_cosine_stays_unless_it_is_given(tiny_config):
    train(changed(tiny_config, training={"max_steps": 4}))
    longer = train(changed(tiny_config, training={"max_steps": 6}), resume="auto")
    assert longer.config.optimizer.decay_steps == 4
    given = changed(tiny_config, training={"max_steps": 8}, optimizer={"decay_steps": 8})
    assert train(given, resume="auto").config.optimizer.decay_steps == 8


def test_resume_auto_without_a_run_starts_one(tiny_config):
    assert train(changed(tiny_config, training={"max_steps": 2}), resume="auto").state.step == 2


def test_resume_from_nothing_is_an_error(tiny_config, tmp_path):
    with pytest.raises(CheckpointError, match="no run or checkpoint"):
        train(tiny_config, resume=str(tmp_path / "nowhere"))
    assert not os.path.exists(tiny_config.out)


def test_resume_without_the_mark_goes_on_from_the_newest(tiny_config):
    train(changed(tiny_config, training={"max_steps": 10}))
    os.remove(f"{tiny_config.out}/checkpoints/latest")
    with pytest.raises(ConfigError, match="already holds a run"):
        train(tiny_config)
    train(tiny_config, resume="auto")
    assert [record["step"] for record in lines(tiny_config.out, "resumed")] == [10]


def test_resume_from_another_run_writes_a_checkpoint_here(tiny_config, tmp_path):
    short = changed(tiny_config, training={"max_steps": 2})
    train(short)
    copy = changed(short, out=str(tmp_path / "copy"))
    assert train(copy, resume=short.out).state.step == 2
    assert weights_of(copy.out) == weights_of(short.out)


def test_resume_may_take_smaller_parts_where_memory_ran_out(tiny_config):
    train(changed(tiny_config, training={"max_steps": 2}))
    longer = changed(tiny_config, training={"max_steps": 4, "micro_batch_size": 1})
    assert train(longer, resume="auto").state.step == 4


# E13: the ids of another tokenizer are never taken for those of this run


def other_data(folder, tokenizer):
    """Data whose tokenizer has as many entries as the run's, with other ids. Returns (path, its tokenizer)."""
    text = "".join(f"ten men met then, {i}.<|endoftext|>" for i in range(60))
    other = Tokenizer(*train_bpe_from_iterator(["ten men met then", "in the den"], 269, ["<|endoftext|>"]))
    padding = {id: f"<{id}>".encode() for id in range(other.vocab_size, tokenizer.vocab_size)}
    other = Tokenizer(other.vocab | padding, other.merges, ["<|endoftext|>"])
    assert other.vocab_size == tokenizer.vocab_size and other.fingerprint != tokenizer.fingerprint
    folder.mkdir()
    (folder / "text.txt").write_text(text, encoding="utf-8")
    prepare(folder / "text.txt", other, folder / "data")
    return folder / "data", other


def test_a_tokenizer_changed_after_the_shards_were_written_is_refused(tiny_config, tmp_path, tokenizer, prepared):
    _, other = other_data(tmp_path / "other", tokenizer)
    shutil.copytree(prepared, tmp_path / "data")
    other.save(tmp_path / "data" / "tokenizer.json")
    with pytest.raises(DataError, match=rf"{tokenizer.fingerprint}.*{other.fingerprint}"):
        train(changed(tiny_config, data={"path": str(tmp_path / "data")}))
    assert not os.path.exists(tiny_config.out)


@pytest.mark.parametrize("how", ["resume", "init_from"])
def test_a_run_does_not_go_on_with_ids_of_another_tokenizer(tiny_config, tmp_path, tokenizer, how):
    train(changed(tiny_config, training={"max_steps": 2}))
    path, other = other_data(tmp_path / "other", tokenizer)
    config = changed(tiny_config, data={"path": str(path)})
    if how == "init_from":
        config = dataclasses.replace(config, init_from=config.out, out=str(tmp_path / "tuned"))
    with pytest.raises(ConfigError, match=rf"{tokenizer.fingerprint[:12]}.*{other.fingerprint[:12]}"):
        train(config, resume="auto")
    assert len(losses(tiny_config.out)) == 2 and not os.path.exists(tmp_path / "tuned")
