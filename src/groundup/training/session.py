"""All that a training run holds while it runs, and how it is set up: fresh, resumed, or from another run.

`open_session` reads and checks everything before the first update, so that what cannot work fails at
once, in one sentence, and touches nothing. The updates themselves are in loop.py.
"""

import dataclasses
import logging
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch.optim import Optimizer

from groundup.checkpoint import TrainingState, find_checkpoint, load_weights, read_step
from groundup.config import RunConfig
from groundup.data.shards import check_tokenizer, open_tokens, read_manifest
from groundup.device import choose_device, choose_precision
from groundup.environment import describe, peak_device_memory_bytes, peak_memory_bytes
from groundup.errors import CheckpointError, ConfigError, DataError, TrainingError
from groundup.files import spelled, write_atomic, write_json
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM
from groundup.model.variants import build_model
from groundup.optim.averaging import WeightAverage
from groundup.recipe import write_config
from groundup.tokenizer.bpe import Tokenizer
from groundup.training.deadline import Deadline, ending_after
from groundup.training.loss import LossOf, choose_loss
from groundup.training.metrics import Metrics, Sink, open_sinks, rewind_metrics
from groundup.training.resolve import check_memory, check_resumable, make_optimizer, resolve

log = logging.getLogger(__name__)


@dataclasses.dataclass
class Session:
    """One sitting of a run. `loss_of(inputs, targets)` is the model and the loss, compiled if asked."""

    config: RunConfig
    folder: Path
    device: str
    tokenizer: Tokenizer
    train_tokens: Any
    valid_tokens: Any
    model: TransformerLM
    loss_of: LossOf
    optimizer: Optimizer
    state: TrainingState
    average: WeightAverage
    metrics: Metrics
    started: float
    seconds_before: float
    saved_step: int | None = None
    stop_signal: int | None = None

    @property
    def checkpoints(self) -> Path:
        return self.folder / "checkpoints"

    @property
    def max_steps(self) -> int:
        """Number of updates: as configured, or as moved on the way so that the run ends in time."""
        return self.state.moved_ends[-1][1] if self.state.moved_ends else self.config.training.max_steps

    def clock(self) -> float:
        """Seconds of training up to now, earlier sittings included."""
        return self.seconds_before + time.monotonic() - self.started

    def deadline(self) -> Deadline | None:
        """What makes the run end after `training.minutes`, earlier sittings included; None without."""
        seconds = 60 * self.config.training.minutes
        return ending_after(seconds - self.clock(), whole_s=seconds) if seconds else None

    def peak_memory(self) -> dict[str, int]:
        """The most memory held up to now in this sitting, as records name it: of the process, of a GPU besides."""
        peaks = {"peak_memory_bytes": peak_memory_bytes()}
        on_device = peak_device_memory_bytes(self.device)
        return peaks if on_device is None else peaks | {"peak_device_memory_bytes": on_device}

    def record(self, kind: str, **values: Any) -> None:
        """Write a record of the present step to the metrics."""
        self.metrics.write(
            kind, step=self.state.step, tokens=self.state.tokens, seconds=round(self.clock(), 3), **values
        )


def open_session(config: RunConfig, *, resume: str = "never", sinks: Sequence[Sink] = ()) -> Session:
    """Check the configuration against data, tokenizer, machine and earlier checkpoints, and set up the run.

    Args:
        config: As read from the recipe; the session holds it with every default filled in.
        resume: "never" (an existing run in `config.out` is an error), "auto" (go on from its latest
            checkpoint if there is one), or the path of a checkpoint to go on from.
        sinks: Further places for metrics, such as the progress line of the command.

    Raises ConfigError, DataError, CheckpointError or TrainingError (memory), before anything is written.
    """
    folder = Path(config.out)
    source = _find_resume(folder, resume)
    tokenizer, train_tokens, valid_tokens = _open_data(config)
    asked, config = config, resolve(config, tokenizer)
    if source is not None:
        _require_same_tokenizer(f"the checkpoint {str(source)!r}", source, tokenizer)
        config = check_resumable(config, asked, source)
    if len(train_tokens) < config.model.context_length + 1:
        raise DataError(
            f"{config.data.path!r} has {len(train_tokens):,} training tokens; a context of "
            f"{config.model.context_length} needs at least {config.model.context_length + 1}: "
            "take more text or a smaller model.context_length"
        )
    device = choose_device(config.training.device)
    if config.training.device == "auto" and device == "cpu":
        log.info("device: cpu (no GPU that torch can use)")
    precision = choose_precision(config.training.precision, device)
    check_memory(config, device, precision)
    foreign = open_sinks(config.training.sinks, folder, dataclasses.asdict(config))

    torch.manual_seed(config.training.seed)
    products = torch.bfloat16 if precision == "bf16" else torch.float32
    model = build_model(
        config.model,
        ops=choose(device, products, config.training.kernels),
        checkpoint_activations=config.training.checkpoint_activations,
    )
    if config.init_from and source is None:
        _start_from(config.init_from, model, tokenizer)
    model.to(device).train()
    optimizer = make_optimizer(config, model)
    state = TrainingState() if source is None else read_step(source, model, optimizer)
    average = WeightAverage(optimizer, config.optimizer.average_over)
    average.swap()  # a checkpoint has them the other way round

    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "config.yaml", write_config(config))
    tokenizer.save(folder / "tokenizer.json")
    _write_environment(folder, device, precision)
    metrics_file = folder / "metrics.jsonl"
    rewind_metrics(metrics_file, state.step)
    session = Session(
        config=config,
        folder=folder,
        device=device,
        tokenizer=tokenizer,
        train_tokens=train_tokens,
        valid_tokens=valid_tokens,
        model=model,
        loss_of=choose_loss(
            model,
            optimizer,
            products,
            kernels=config.training.kernels,
            as_one_function=config.training.as_one_function,
            compiled=config.training.compile,
        ),
        optimizer=optimizer,
        average=average,
        state=state,
        metrics=Metrics(metrics_file, [*sinks, *foreign]),
        started=time.monotonic(),
        seconds_before=state.seconds,
        saved_step=state.step if source is not None and _is_within(source, folder) else None,
    )
    if source is not None:
        log.info("resumed %s at step %d", folder, state.step)
        session.record("resumed")
    return session


class Signals:
    """While this context is open, SIGTERM and SIGINT ask the session to stop after the update under way.

    A second signal interrupts at once. Outside the main thread signals cannot be taken; then nothing changes.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._before: dict[int, Any] = {}

    def __enter__(self) -> None:
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                self._before[number] = signal.signal(number, self._stop)
        except ValueError:
            log.debug("not in the main thread: signals are left alone")

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._session.stop_signal is not None:
            raise KeyboardInterrupt
        self._session.stop_signal = number
        log.info("%s: writing a checkpoint, then stopping", signal.Signals(number).name)


def _find_resume(folder: Path, resume: str) -> Path | None:
    """The checkpoint to go on from, if any; an existing run is never overwritten by accident."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"out is {str(folder)!r}, which is a file; give a folder")
    exists = (folder / "checkpoints" / "latest").exists() or any(folder.glob("checkpoints/step-*"))
    if exists and resume == "never":
        raise ConfigError(
            f"{str(folder)!r} already holds a run; go on with --resume auto, or give another folder with --out"
        )
    if resume in ("auto", "never"):
        return find_checkpoint(folder) if exists else None
    source = find_checkpoint(resume)
    if exists and source.resolve() != find_checkpoint(folder).resolve():
        raise ConfigError(
            f"{str(folder)!r} holds a run that is further than {str(source)!r}; give another folder with --out"
        )
    return source


def _is_within(checkpoint: Path, folder: Path) -> bool:
    """Whether it is a checkpoint of this run: one of another run must be written here before it counts as saved."""
    return checkpoint.resolve().parent == (folder / "checkpoints").resolve()


def _open_data(config: RunConfig) -> tuple[Tokenizer, Any, Any]:
    if not config.data.path:
        raise ConfigError("data.path is empty; give the folder that `groundup data prepare` wrote")
    manifest = read_manifest(config.data.path)
    tokenizer = Tokenizer.load(config.data.path)
    check_tokenizer(manifest, tokenizer)
    train_tokens = open_tokens(config.data.path, "train")
    valid_tokens = open_tokens(config.data.path, "valid") if "valid" in manifest.splits else None
    if valid_tokens is not None and len(valid_tokens) < 2:
        valid_tokens = None
    return tokenizer, train_tokens, valid_tokens


def _start_from(path: str, model: TransformerLM, tokenizer: Tokenizer) -> None:
    source = find_checkpoint(path, "best")
    _require_same_tokenizer(f"init_from {path!r}", source, tokenizer)
    try:
        load_weights(model, source)
    except CheckpointError as error:
        raise ConfigError(f"init_from {path!r} has another model shape: {error}") from None


def _require_same_tokenizer(what: str, checkpoint: Path, tokenizer: Tokenizer) -> None:
    """The same number of entries is not enough: another tokenizer's ids mean other text."""
    theirs = Tokenizer.load(checkpoint / "tokenizer.json")
    if theirs.fingerprint != tokenizer.fingerprint:
        raise ConfigError(
            f"{what} was trained with tokenizer {theirs.fingerprint[:12]}, "
            f"the data was prepared with {tokenizer.fingerprint[:12]}; prepare it with the run's tokenizer.json"
        )


def _write_environment(folder: Path, device: str, precision: str) -> None:
    facts = {
        **describe(),
        "device": device,
        "precision": precision,
        "threads": torch.get_num_threads(),
        "command": spelled(shlex.join(["groundup", *sys.argv[1:]])),
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
    }
    if device.startswith("cuda"):
        facts["accelerator"] = torch.cuda.get_device_name(device)
    try:
        write_json(folder / "environment.json", facts)
    except OSError as error:
        raise TrainingError(f"the run folder {str(folder)!r} cannot be written: {error.strerror}") from None
