"""Metrics: the file is always right, and no other sink can hold up or end a run (case D16)."""

import json
import logging
import math
import sys
import threading
import time
import types

import pytest

from groundup.errors import ConfigError
from groundup.training.metrics import Background, Metrics, numbers, open_sinks, read_metrics, rewind_metrics


def record(step, **values):
    return {"kind": "train", "step": step, **values}


def test_lines_are_on_disk_at_once_and_odd_numbers_survive(tmp_path):
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path)
    metrics.write("train", step=1, loss=math.nan, lr=0.1)
    assert json.loads(path.read_text()) == {"kind": "train", "step": 1, "loss": "nan", "lr": 0.1}
    metrics.close()


def test_a_line_cut_short_by_a_kill_is_left_out(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"kind": "train", "step": 1}\n{"kind": "train", "st')
    assert read_metrics(path) == [record(1)]
    assert read_metrics(tmp_path / "nothing") == []


def test_rewinding_drops_what_a_resumed_run_measures_again(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps(record(step)) + "\n" for step in range(1, 6)))
    rewind_metrics(path, 3)
    assert [line["step"] for line in read_metrics(path)] == [1, 2, 3]


def test_a_full_disk_costs_lines_and_says_so_once(tmp_path, caplog, monkeypatch):
    metrics = Metrics(tmp_path / "metrics.jsonl")

    class Full:
        def write(self, text):
            raise OSError(28, "No space left on device")

        def close(self):
            raise OSError(28, "No space left on device")

    metrics.sinks[0]._file.close()
    monkeypatch.setattr(metrics.sinks[0], "_file", Full())
    metrics.write("train", step=1)
    metrics.write("train", step=2)
    metrics.close()
    assert caplog.text.count("No space left on device") == 1


def test_a_background_sink_gets_every_record_in_order():
    seen, ended = [], threading.Event()
    sink = Background("fake", lambda: (seen.append, ended.set))
    for step in range(50):
        sink.write(record(step))
    sink.close()
    assert [line["step"] for line in seen] == list(range(50)) and ended.is_set()


@pytest.mark.parametrize("blocks_in", ["start", "take", "finish"])
def test_a_sink_that_hangs_never_blocks(blocks_in, caplog):
    release = threading.Event()

    def wait(*_):
        release.wait(30)

    def start():
        if blocks_in == "start":
            wait()
        return (wait if blocks_in == "take" else print), (wait if blocks_in == "finish" else lambda: None)

    sink = Background("W&B", start, capacity=2, patience_s=0.05)
    begin = time.monotonic()
    for step in range(100):
        sink.write(record(step))
    sink.close()
    assert time.monotonic() - begin < 10
    assert "training does not wait" in caplog.text
    release.set()


def test_a_sink_that_fails_ends_alone(caplog):
    def start():
        raise ConnectionError("no network")

    with caplog.at_level(logging.WARNING):
        sink = Background("W&B", start)
        sink.write(record(1))
        sink.close()
    assert "W&B stopped taking metrics: no network" in caplog.text


class FakeWandb(types.ModuleType):
    """What of wandb we use; `init` records how it was called."""

    def __init__(self, api_key):
        super().__init__("wandb")
        self.api = types.SimpleNamespace(api_key=api_key)
        self.calls, self.logged, self.finished = [], [], False
        self.Settings = dict

    def init(self, **kwargs):
        self.calls.append(kwargs)
        return types.SimpleNamespace(
            log=lambda values, step: self.logged.append((step, values)), finish=lambda: setattr(self, "finished", True)
        )


@pytest.mark.parametrize(("api_key", "mode"), [(None, "offline"), ("secret", "online")])
def test_wandb_without_an_account_records_offline_and_asks_nothing(tmp_path, monkeypatch, api_key, mode):
    fake = FakeWandb(api_key)
    monkeypatch.setitem(sys.modules, "wandb", fake)
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("it asked on the terminal"))
    (sink,) = open_sinks(["wandb"], tmp_path, {"seed": 1})
    sink.write(record(3, loss=2.5, weights={"layers.0": 1.0}))
    sink.close()
    (call,) = fake.calls
    assert call["mode"] == mode and call["config"] == {"seed": 1}
    assert call["settings"]["silent"] is True and call["settings"]["init_timeout"] <= 60
    assert fake.logged == [(3, {"train/loss": 2.5, "train/weights/layers.0": 1.0})]
    assert fake.finished


@pytest.mark.parametrize("name", ["wandb", "tensorboard"])
def test_a_sink_that_is_not_installed_is_named_before_the_run(tmp_path, monkeypatch, name):
    for module in ("wandb", "torch.utils.tensorboard", "torch.utils.tensorboard.writer"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=f"{name}, which is not installed; pip install {name}"):
        open_sinks([name], tmp_path, {})


def test_tensorboard_gets_scalars(tmp_path, monkeypatch):
    written = []

    class Writer:
        def __init__(self, folder):
            self.folder = folder

        def add_scalar(self, name, value, step):
            written.append((name, value, step))

        def close(self):
            written.append("closed")

    module = types.ModuleType("torch.utils.tensorboard.writer")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.ModuleType("torch.utils.tensorboard"))
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard.writer", module)
    (sink,) = open_sinks(["tensorboard"], tmp_path, {})
    sink.write(record(2, loss=1.0))
    sink.close()
    assert written == [("train/loss", 1.0, 2), "closed"]


def test_numbers_are_named_by_kind_and_part():
    values = dict(numbers({"kind": "norms", "step": 1, "weights": {"a": 1, "b": 2.0}, "flag": True, "text": "x"}))
    assert values == {"norms/weights/a": 1.0, "norms/weights/b": 2.0}
