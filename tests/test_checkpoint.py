"""Checkpoints: whole or not there, whatever happens; readable under the names that wrappers give."""

import copy
import dataclasses
import io
import json
import os
import shutil
import subprocess
import sys

import pytest
import torch
from torch import nn

from groundup import checkpoint as room
from groundup.checkpoint import (
    TrainingState,
    find_checkpoint,
    load_checkpoint,
    load_run,
    load_state_dict,
    read_step,
    save_checkpoint,
    strip_prefixes,
    write_step,
)
from groundup.config import ModelConfig, RunConfig, TrainingConfig
from groundup.errors import CheckpointError
from groundup.model.transformer import TransformerLM
from groundup.optim.adamw import AdamW
from groundup.optim.gradients import parameter_groups

MODEL = ModelConfig(vocab_size=300, context_length=8, d_model=16, num_layers=1, num_heads=2, d_ff=16)


def trained(config: ModelConfig = MODEL, steps: int = 3):
    """A model and an optimizer with some history."""
    torch.manual_seed(0)
    model = TransformerLM(config)
    optimizer = AdamW(parameter_groups(model, 0.1), lr=1e-2)
    for _ in range(steps):
        model(torch.randint(300, (2, 8))).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model, optimizer


def write(folder, model, optimizer, tokenizer, step=3, best=None, config=None):
    config = RunConfig(model=model.config, training=TrainingConfig(keep_last=2)) if config is None else config
    state = TrainingState(step=step, best_step=best)
    return write_step(folder, model=model, optimizer=optimizer, state=state, config=config, tokenizer=tokenizer)


def equal_states(a, b) -> bool:
    return a.keys() == b.keys() and all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("tied", [False, True])
def test_what_is_read_is_what_was_written(tmp_path, tokenizer, tied):
    model, optimizer = trained(dataclasses.replace(MODEL, tie_embeddings=tied))
    path = write(tmp_path, model, optimizer, tokenizer)
    other = TransformerLM(model.config)
    fresh = AdamW(parameter_groups(other, 0.1), lr=1.0)
    assert read_step(path, other, fresh) == TrainingState(step=3)
    assert equal_states(model.state_dict(), other.state_dict())
    ours, theirs = optimizer.state_dict(), fresh.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]  # betas are a tuple again
    for key, entries in ours["state"].items():
        for name, value in entries.items():
            assert torch.equal(torch.as_tensor(value), torch.as_tensor(theirs["state"][key][name]))
    if tied:
        assert other.lm_head.weight is other.token_embeddings.weight


def test_the_file_holds_the_names_of_the_specification(tmp_path, tokenizer):
    from safetensors import safe_open

    path = write(tmp_path, *trained(), tokenizer)
    with safe_open(path / "model.safetensors", "pt") as file:
        assert sorted(file.keys()) == sorted(
            [
                "token_embeddings.weight",
                "lm_head.weight",
                "ln_final.weight",
                "layers.0.ln1.weight",
                "layers.0.ln2.weight",
            ]
            + [f"layers.0.attn.{part}_proj.weight" for part in ("q", "k", "v", "output")]
            + [f"layers.0.ffn.w{i}.weight" for i in (1, 2, 3)]
        )


def test_keeps_the_newest_and_the_best(tmp_path, tokenizer):
    model, optimizer = trained()
    for step in (1, 2, 3, 4):
        write(tmp_path, model, optimizer, tokenizer, step=step, best=1)
    assert sorted(os.listdir(tmp_path)) == ["best", "latest", "step-00000001", "step-00000003", "step-00000004"]
    assert find_checkpoint(tmp_path).name == "step-00000004"
    assert find_checkpoint(tmp_path, "best").name == "step-00000001"


def test_a_copy_under_a_name_of_its_own_is_kept(tmp_path, tokenizer):
    model, optimizer = trained()
    first = write(tmp_path, model, optimizer, tokenizer, step=1)
    shutil.copytree(first, tmp_path / "step-00000001-good")
    for step in (2, 3, 4):
        write(tmp_path, model, optimizer, tokenizer, step=step)
    assert sorted(os.listdir(tmp_path)) == ["latest", "step-00000001-good", "step-00000003", "step-00000004"]


def test_the_newest_is_the_latest_where_none_is_marked(tmp_path, tokenizer):
    model, optimizer = trained()
    for step in (1, 2):
        write(tmp_path / "checkpoints", model, optimizer, tokenizer, step=step)
    (tmp_path / "checkpoints" / "latest").unlink()
    assert find_checkpoint(tmp_path).name == "step-00000002"
    (tmp_path / "checkpoints" / "latest").write_text("step-00000003\n")
    assert find_checkpoint(tmp_path).name == "step-00000002"


def test_killed_between_the_two_marks_the_best_is_marked(tmp_path, tokenizer, monkeypatch):
    """A run that goes on from `latest` never marks it again."""
    model, optimizer = trained()
    write(tmp_path, model, optimizer, tokenizer, step=1, best=1)
    original, marks = room.write_atomic, []

    def killed(path, content):
        marks.append(path.name)
        if len([name for name in marks if name in ("latest", "best")]) == 2:
            raise KeyboardInterrupt
        original(path, content)

    monkeypatch.setattr(room, "write_atomic", killed)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path, model, optimizer, tokenizer, step=2, best=2)
    assert find_checkpoint(tmp_path, "best").name == "step-00000002"
    assert find_checkpoint(tmp_path, "latest").name == "step-00000001"


def test_load_run_gives_model_tokenizer_and_configuration(tmp_path, tokenizer):
    model, optimizer = trained()
    write(tmp_path / "run" / "checkpoints", model, optimizer, tokenizer)
    run = load_run(tmp_path / "run")
    ids = torch.arange(8)[None]
    assert torch.equal(run.model(ids), model.eval()(ids))
    assert not run.model.training
    assert run.tokenizer.fingerprint == tokenizer.fingerprint
    assert run.config.model == MODEL


@pytest.mark.parametrize(
    "damage",
    [
        "truncate model",
        "remove model",
        "garbage state",
        "other version",
        "remove tokenizer",
        "other tokenizer",
        "config",
    ],
)
def test_damage_is_named_in_one_sentence(tmp_path, tokenizer, damage):
    path = write(tmp_path / "run" / "checkpoints", *trained(), tokenizer)
    weights, state = path / "model.safetensors", path / "state.json"
    if damage == "truncate model":
        weights.write_bytes(weights.read_bytes()[:-100])
    elif damage == "remove model":
        weights.unlink()
    elif damage == "garbage state":
        state.write_text("{")
    elif damage == "other version":
        state.write_text(state.read_text().replace('"format_version": 1', '"format_version": 99'))
    elif damage == "remove tokenizer":
        (path / "tokenizer.json").unlink()
    elif damage == "other tokenizer":
        record = json.loads(state.read_text())
        state.write_text(json.dumps(record | {"tokenizer": "0" * 64}))
    else:
        (path / "config.yaml").write_text("model: [")
    with pytest.raises(CheckpointError) as caught:
        load_run(tmp_path / "run")
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_a_place_without_checkpoint_is_an_error(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(CheckpointError, match=r"no run or checkpoint|holds no checkpoint"):
        load_run(tmp_path / name)


# D7: names from torch.compile and DistributedDataParallel


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module.", "module._orig_mod.", "_orig_mod.module."])
def test_prefixed_weights_load_in_a_plain_model_and_back(prefix):
    model, _ = trained()
    plain = TransformerLM(MODEL)
    load_state_dict(plain, {prefix + name: tensor for name, tensor in model.state_dict().items()})
    assert equal_states(model.state_dict(), plain.state_dict())

    holder = nn.Module()
    inner = TransformerLM(MODEL)
    holder.add_module(prefix.split(".")[0], inner)
    load_state_dict(holder, plain.state_dict())
    assert equal_states(inner.state_dict(), model.state_dict())


def test_a_wrapped_model_writes_plain_names(tmp_path, tokenizer):
    model, _ = trained()
    wrapped = nn.Module()
    wrapped.module = model
    wrapped.config = model.config
    optimizer = AdamW(wrapped.parameters(), lr=1e-2)
    path = write(tmp_path, wrapped, optimizer, tokenizer)
    plain = TransformerLM(MODEL)
    read_step(path, plain)
    assert equal_states(plain.state_dict(), model.state_dict())


def test_prefixes_are_only_taken_from_the_front():
    assert strip_prefixes("layers.0.module.weight") == "layers.0.module.weight"


def test_weights_of_another_shape_are_refused():
    small = TransformerLM(dataclasses.replace(MODEL, d_ff=8))
    with pytest.raises(CheckpointError, match="does not fit the model"):
        load_state_dict(small, TransformerLM(MODEL).state_dict())
    with pytest.raises(CheckpointError, match="missing"):
        load_state_dict(TransformerLM(dataclasses.replace(MODEL, num_layers=2)), TransformerLM(MODEL).state_dict())


# D5: killed or out of space at any point of writing


def test_an_error_at_any_write_leaves_the_checkpoint_before(tmp_path, tokenizer, monkeypatch):
    """Fail the n-th file operation, for every n until one attempt succeeds."""
    model, optimizer = trained()
    write(tmp_path, model, optimizer, tokenizer, step=1)
    failing_at, succeeded = 0, False
    while not succeeded:
        countdown = iter(range(failing_at, -1, -1))

        def failing(original, countdown=countdown):
            def call(*args, **kwargs):
                if next(countdown, None) == 0:
                    raise OSError(28, "No space left on device")
                return original(*args, **kwargs)

            return call

        for point in ("_write_tensors", "write_json", "write_atomic"):
            monkeypatch.setattr(room, point, failing(getattr(room, point)))
        try:
            write(tmp_path, model, optimizer, tokenizer, step=2)
            succeeded = True
        except CheckpointError as error:
            assert "No space left on device" in str(error)
            assert find_checkpoint(tmp_path).name in ("step-00000001", "step-00000002")
            read_step(find_checkpoint(tmp_path), TransformerLM(MODEL))
            assert not list(tmp_path.glob(".*"))
        monkeypatch.undo()
        failing_at += 1
    assert failing_at >= 5
    assert find_checkpoint(tmp_path).name == "step-00000002"


KILLED_WRITERS = """
import itertools, os, shutil, signal, sys
from pathlib import Path
import torch
from tests_of_checkpoint import MODEL, trained, write
from groundup.checkpoint import find_checkpoint, read_step
from groundup.model.transformer import TransformerLM
from groundup.tokenizer.bpe import Tokenizer
torch.set_num_threads(1)
start, tokenizer = Path(sys.argv[1]), Tokenizer.load(sys.argv[2])
model, optimizer = trained()
NAMES = ("open", "rename", "replace", "fsync", "mkdir", "unlink", "rmdir")
os.fsync = lambda descriptor: None  # what was written outlives a kill, flushed or not

def killed_writer(folder, kill_at):
    "Never returns: writes step 3 and is killed before the given call of those above, if there are so many."
    calls = itertools.count(1)
    def counted(original):
        def call(*args, **kwargs):
            if next(calls) == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*args, **kwargs)
        return call
    for name in NAMES:
        setattr(os, name, counted(getattr(os, name)))
    write(folder, model, optimizer, tokenizer, step=3)
    os._exit(0)

for kill_at in itertools.count(1):
    folder = start.with_name(f"killed at {kill_at}")
    shutil.copytree(start, folder)
    child = os.fork() or killed_writer(folder, kill_at)
    status = os.waitpid(child, 0)[1]
    found = find_checkpoint(folder)
    assert found.name in ("step-00000002", "step-00000003"), (kill_at, found)
    assert read_step(found, TransformerLM(MODEL)).step == int(found.name[-8:]), kill_at
    assert find_checkpoint(folder, "best").name == "step-00000002", kill_at
    write(folder, model, optimizer, tokenizer, step=4)  # the run goes on
    left = {path.name for path in folder.iterdir()}
    assert find_checkpoint(folder).name == "step-00000004" and not any(".tmp" in name for name in left), (kill_at, left)
    print(found.name, flush=True)
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL, kill_at
"""


def test_sigkill_at_every_system_call_leaves_a_checkpoint_that_loads(tmp_path, tokenizer):
    """A writer is killed before its n-th open, rename, fsync, unlink and the like, for every n until none is left."""
    folder = tmp_path / "checkpoints"
    model, optimizer = trained()
    for step in (1, 2):  # with keep_last 2 the next one removes the first
        write(folder, model, optimizer, tokenizer, step=step, best=2)
    tokenizer.save(tmp_path / "tokenizer.json")
    shutil.copy(__file__, tmp_path / "tests_of_checkpoint.py")
    program = [sys.executable, "-c", KILLED_WRITERS, str(folder), str(tmp_path / "tokenizer.json")]
    done = subprocess.run(program, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = done.stdout.split()
    assert len(found) > 25 and found == sorted(found), found
    assert (found[0], found[-1]) == ("step-00000002", "step-00000003")


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="mounting a small file system needs root")
def test_a_full_disk_gets_one_sentence_and_loses_nothing(tmp_path, tokenizer):
    mount = tmp_path / "small"
    mount.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mount)], capture_output=True)
    if made.returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        model, optimizer = trained()
        write(mount / "run", model, optimizer, tokenizer, step=1)
        big = dataclasses.replace(MODEL, d_model=128)
        with pytest.raises(CheckpointError, match="step 2 could not be written") as caught:
            write(mount / "run", *trained(big, steps=1), tokenizer, step=2)
        assert "space" in str(caught.value).lower()
        assert read_step(find_checkpoint(mount / "run"), TransformerLM(MODEL)).step == 1
    finally:
        subprocess.run(["umount", str(mount)], check=True)


# The one-file pair of the course


@pytest.mark.parametrize("to", ["path", "file object"])
def test_one_file_checkpoint_round_trip(tmp_path, to):
    model, optimizer = nn.Linear(3, 2), None
    optimizer = AdamW(model.parameters(), lr=1e-3)
    model(torch.ones(3)).sum().backward()
    optimizer.step()
    target = tmp_path / "a.pt" if to == "path" else io.BytesIO()
    save_checkpoint(model, optimizer, 7, target)
    if to == "file object":
        target.seek(0)
    other = nn.Linear(3, 2)
    fresh = AdamW(other.parameters(), lr=1.0)
    assert load_checkpoint(target, other, fresh) == 7
    assert equal_states(model.state_dict(), other.state_dict())
    assert copy.deepcopy(fresh.state_dict()["param_groups"]) == optimizer.state_dict()["param_groups"]
