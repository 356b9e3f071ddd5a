"""What a run measured, one JSON object a line in `metrics.jsonl`; and the optional other places it goes.

Every record has `kind` (train, eval, norms, skipped, resumed, moved), `step`, `tokens` and `seconds`.
The file is the record; TensorBoard and W&B are fed from a thread of their own that may lag, lose
records or die without the training noticing.
"""

import contextlib
import json
import logging
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from groundup.errors import ConfigError
from groundup.files import StrPath, write_atomic

log = logging.getLogger(__name__)
Record = Mapping[str, Any]


@runtime_checkable
class Sink(Protocol):
    """A place that records go to."""

    def write(self, record: Record) -> None: ...

    def close(self) -> None: ...


class Metrics:
    """Hands each record to `metrics.jsonl` and to every further sink."""

    def __init__(self, path: StrPath, sinks: Sequence[Sink] = ()) -> None:
        self.sinks: list[Sink] = [JsonLines(path), *sinks]

    def write(self, kind: str, **values: Any) -> None:
        record = {"kind": kind, **values}
        for sink in self.sinks:
            sink.write(record)

    def close(self) -> None:
        for sink in self.sinks:
            sink.close()


class JsonLines:
    """Appends records to a file, each line flushed; a full disk costs lines, never the run."""

    def __init__(self, path: StrPath) -> None:
        self.path = Path(path)
        self._file = self.path.open("a", encoding="utf-8")
        self._failed = False

    def write(self, record: Record) -> None:
        try:
            self._file.write(json.dumps(_finite(record)) + "\n")
            self._file.flush()
        except OSError as error:
            if not self._failed:
                log.error("metrics can no longer be written to %s: %s", self.path, error.strerror)
            self._failed = True

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._file.close()


class Background:
    """Feeds a slow or unreliable sink from a thread: `write` never waits and never raises.

    `start` makes the function that takes records and the one that ends the service; it runs in the
    thread as well, which begins with the first record. When the queue is full, records are dropped;
    `close` waits `patience_s` at most.
    """

    def __init__(
        self,
        name: str,
        start: Callable[[], tuple[Callable[[Record], None], Callable[[], None]]],
        *,
        capacity: int = 1000,
        patience_s: float = 5.0,
    ) -> None:
        self._name, self._start, self._patience_s = name, start, patience_s
        self._queue: queue.Queue[Record | None] = queue.Queue(capacity)
        self._thread = threading.Thread(target=self._work, name=f"metrics-{name}", daemon=True)

    def write(self, record: Record) -> None:
        if self._thread.ident is None:
            self._thread.start()
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(record)

    def close(self) -> None:
        if self._thread.ident is None:
            return
        with contextlib.suppress(queue.Full):
            self._queue.put_nowait(None)
        self._thread.join(self._patience_s)
        if self._thread.is_alive():
            log.warning(
                "%s did not take its last records within %g s; training does not wait",
                self._name,
                self._patience_s,
            )

    def _work(self) -> None:
        try:
            take, finish = self._start()
            while (record := self._queue.get()) is not None:
                take(record)
            finish()
        except Exception as error:  # any failure of a foreign service ends the service, not the run
            log.warning("%s stopped taking metrics: %s", self._name, error)


def open_sinks(names: Sequence[str], folder: StrPath, settings: Mapping[str, Any]) -> list[Sink]:
    """The optional sinks by name; ConfigError if a package is missing."""
    makers = {"tensorboard": _tensorboard, "wandb": _wandb}
    return [makers[name](Path(folder), settings) for name in names]


def _tensorboard(folder: Path, settings: Mapping[str, Any]) -> Sink:
    try:
        from torch.utils.tensorboard.writer import SummaryWriter
    except ImportError:
        raise ConfigError("training.sinks has tensorboard, which is not installed; pip install tensorboard") from None

    def start() -> tuple[Callable[[Record], None], Callable[[], None]]:
        writer = SummaryWriter(str(folder / "tensorboard"))

        def take(record: Record) -> None:
            for name, value in numbers(record):
                writer.add_scalar(name, value, record["step"])

        return take, writer.close

    return Background("TensorBoard", start)


def _wandb(folder: Path, settings: Mapping[str, Any]) -> Sink:
    try:
        import wandb  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ConfigError("training.sinks has wandb, which is not installed; pip install wandb") from None

    def start() -> tuple[Callable[[Record], None], Callable[[], None]]:
        # Without a key W&B would ask for one on the terminal: then it records offline, for `wandb sync`.
        mode = "online" if wandb.api.api_key else "offline"
        run = wandb.init(
            project="groundup",
            name=folder.name,
            dir=str(folder),
            config=dict(settings),
            mode=mode,
            settings=wandb.Settings(silent=True, init_timeout=30),
        )

        def take(record: Record) -> None:
            run.log(dict(numbers(record)), step=record["step"])

        return take, run.finish

    return Background("W&B", start)


def numbers(record: Record) -> Iterator[tuple[str, float]]:
    """The numeric values of a record as `kind/name`, nested ones as `kind/name/part`."""

    def walk(prefix: str, value: Any) -> Iterator[tuple[str, float]]:
        if isinstance(value, Mapping):
            for key, part in value.items():
                yield from walk(f"{prefix}/{key}", part)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield prefix, float(value)

    for key, value in record.items():
        if key not in ("kind", "step"):
            yield from walk(f"{record['kind']}/{key}", value)


def read_metrics(path: StrPath) -> list[dict[str, Any]]:
    """The records of a metrics file; a last line cut short by a kill is left out."""
    records = []
    with contextlib.suppress(FileNotFoundError):
        for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                records.append(json.loads(line))
    return [record for record in records if isinstance(record, dict) and "kind" in record]


def rewind_metrics(path: StrPath, step: int) -> None:
    """Drop the records after `step`: a resumed run measures those steps again."""
    kept = [record for record in read_metrics(path) if record.get("step", 0) <= step]
    write_atomic(path, "".join(json.dumps(record) + "\n" for record in kept))


def _finite(value: Any) -> Any:
    """NaN and infinities as text, which JSON has no numbers for."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, float) and value not in (float("inf"), float("-inf")) and value == value:
        return value
    return str(value) if isinstance(value, float) else value
