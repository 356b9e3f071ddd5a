"""Checkpoints: everything a run needs to go on, and what others need to use the model.

A checkpoint is a folder `step-00001000/` with `model.safetensors`, `optimizer.safetensors`,
`state.json`, `config.yaml` and `tokenizer.json`. It is written under another name and renamed when it
is whole; only then does the pointer `latest` name it. A kill at any moment leaves the previous one.
The random streams are functions of (seed, step), so the step stands for their state.

The one-file pair `save_checkpoint` and `load_checkpoint` is that of the course.
"""

import dataclasses
import io
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from groundup.config import RunConfig
from groundup.errors import CheckpointError
from groundup.files import StrPath, folder_aside, write_atomic, write_json
from groundup.model.transformer import TransformerLM
from groundup.model.variants import build_model
from groundup.recipe import read_config, write_config
from groundup.tokenizer.bpe import Tokenizer

FORMAT_VERSION = 1
WRAPPER_PREFIXES = (
    "_orig_mod.",
    "module.",
)  # what torch.compile and DistributedDataParallel put before names


@dataclasses.dataclass
class TrainingState:
    """How far a run is; with the configuration it determines everything that follows.

    Attributes:
        step: Updates done (skipped ones count).
        tokens: Target tokens trained on.
        seconds: Time spent training, over all sittings.
        best_loss: Lowest validation loss so far, in nats per token; None before the first pass.
        best_step: The step it was reached at.
        passes_without_best: Validation passes since then, for early stopping.
        skipped_in_a_row: Updates skipped up to now for values that were not finite.
        recent_losses: Losses of the updates since the last line of metrics, in nats per token.
        moved_ends: Where the end of the run was moved so that it ends in time: at which step, to which.
    """

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0
    best_loss: float | None = None
    best_step: int | None = None
    passes_without_best: int = 0
    skipped_in_a_row: int = 0
    recent_losses: list[float] = dataclasses.field(default_factory=list)
    moved_ends: list[list[int]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Run:
    """A trained model with all that is needed to use it; `stopped_by` is the signal that ended its training early."""

    model: TransformerLM
    tokenizer: Tokenizer
    config: RunConfig
    state: TrainingState
    folder: Path
    stopped_by: int | None = None


def write_step(
    checkpoints: StrPath,
    *,
    model: nn.Module,
    optimizer: Optimizer,
    state: TrainingState,
    config: RunConfig,
    tokenizer: Tokenizer,
) -> Path:
    """Write the checkpoint of `state.step` into the folder `checkpoints`, point `latest` at it, return its path.

    Points `best` at it first if this step's validation loss is the best so far: a run that goes on from
    `latest` must find it marked. Then removes the checkpoints that are neither among the newest `keep_last`
    nor the best. Raises CheckpointError (disk full, say) with the earlier checkpoints untouched.
    """
    checkpoints = Path(checkpoints)
    target = checkpoints / f"step-{state.step:08d}"
    try:
        with folder_aside(target) as folder:
            weights, aliases = _without_aliases(model.state_dict())
            _write_tensors(folder / "model.safetensors", weights)
            moments, settings = _flatten_optimizer(model, optimizer)
            _write_tensors(folder / "optimizer.safetensors", moments)
            write_json(
                folder / "state.json",
                {
                    "format_version": FORMAT_VERSION,
                    "state": dataclasses.asdict(state),
                    "optimizer": settings,
                    "aliases": aliases,
                    "tokenizer": tokenizer.fingerprint,
                },
            )
            write_atomic(folder / "config.yaml", write_config(config))
            tokenizer.save(folder / "tokenizer.json")
        if state.best_step == state.step:
            write_atomic(checkpoints / "best", target.name + "\n")
        write_atomic(checkpoints / "latest", target.name + "\n")
        prune(checkpoints, config.training.keep_last)
    except OSError as error:
        raise CheckpointError(
            f"the checkpoint of step {state.step} could not be written to {str(checkpoints)!r}: "
            f"{error.strerror or error}; the checkpoints before it are whole"
        ) from error
    return target


def prune(checkpoints: StrPath, keep_last: int) -> None:
    """Remove all checkpoints but the newest `keep_last` and the best, and what a kill left half written.

    A copy under a name of its own (`step-00001000-good`) is not ours to remove.
    """
    checkpoints = Path(checkpoints)
    steps = _steps(checkpoints)
    kept = steps[-keep_last:]
    kept += [found for name in ("latest", "best") if (found := _pointed(checkpoints, name))]
    for folder in [*steps, *checkpoints.glob(".step-*.tmp*")]:
        if folder not in kept:
            shutil.rmtree(folder, ignore_errors=True)
    for pointer in [*checkpoints.glob(".latest.*.tmp"), *checkpoints.glob(".best.*.tmp")]:
        pointer.unlink(missing_ok=True)


def find_checkpoint(path: StrPath, which: str = "latest") -> Path:
    """The checkpoint folder meant by `path`: a checkpoint itself, or a run folder's `latest` or `best`.

    Raises CheckpointError if there is none. Where no best one is marked, `best` means the latest; where none
    is marked (killed before the first mark, or the marked one was removed by hand) the newest is the latest.
    """
    path = Path(path)
    if (path / "state.json").is_file():
        return path
    for checkpoints in (path / "checkpoints", path):
        for name in dict.fromkeys((which, "latest")):
            if found := _pointed(checkpoints, name):
                return found
        if whole := [folder for folder in _steps(checkpoints) if (folder / "state.json").is_file()]:
            return whole[-1]
    if not path.exists():
        raise CheckpointError(f"there is no run or checkpoint at {str(path)!r}")
    raise CheckpointError(f"{str(path)!r} holds no checkpoint; give a run folder or one of its checkpoints/step-*")


def read_step(path: StrPath, model: nn.Module, optimizer: Optimizer | None = None) -> TrainingState:
    """Load the checkpoint folder `path` into model (and optimizer); returns the state to go on from."""
    path = Path(path)
    record = _read_record(path)
    load_weights(model, path, record)
    if optimizer is not None:
        moments = _read_tensors(path / "optimizer.safetensors")
        _restore_optimizer(model, optimizer, moments, record["optimizer"], path)
    return TrainingState(**record["state"])


def load_weights(model: nn.Module, path: StrPath, record: Mapping[str, Any] | None = None) -> None:
    """Load only the weights of the checkpoint folder `path`; the model must have the same shape."""
    path = Path(path)
    record = _read_record(path) if record is None else record
    weights = _read_tensors(path / "model.safetensors")
    for alias, name in record["aliases"].items():
        weights[alias] = weights[name]
    load_state_dict(model, weights, path)


def load_run(path: StrPath, *, which: str = "best", device: str = "cpu") -> Run:
    """The trained model of a run folder (its best checkpoint, or `which="latest"`) or of one checkpoint.

    Raises CheckpointError for a missing, damaged or foreign checkpoint.
    """
    folder = find_checkpoint(path, which)
    record = _read_record(folder)
    try:
        config = read_config(folder / "config.yaml")
        tokenizer = Tokenizer.load(folder / "tokenizer.json")
    except ValueError as error:
        raise CheckpointError(f"checkpoint {str(folder)!r} is damaged: {error}") from error
    if tokenizer.fingerprint != record["tokenizer"]:
        raise CheckpointError(
            f"checkpoint {str(folder)!r} was made with tokenizer {record['tokenizer'][:12]}, "
            f"but its tokenizer.json is {tokenizer.fingerprint[:12]}"
        )
    model = build_model(config.model)
    load_weights(model, folder, record)
    return Run(model.to(device).eval(), tokenizer, config, TrainingState(**record["state"]), folder)


def save_checkpoint(
    model: nn.Module, optimizer: Optimizer, iteration: int, out: StrPath | IO[bytes] | io.BytesIO
) -> None:
    """Write model, optimizer and iteration as one file (torch.save), to a path or an open binary file."""
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "iteration": iteration}, out)


def load_checkpoint(src: StrPath | IO[bytes] | io.BytesIO, model: nn.Module, optimizer: Optimizer) -> int:
    """Restore what `save_checkpoint` wrote (read with weights_only=True); returns the iteration."""
    content = torch.load(src, map_location="cpu", weights_only=True)
    load_state_dict(model, content["model"], src)
    optimizer.load_state_dict(content["optimizer"])
    return content["iteration"]


def load_state_dict(model: nn.Module, weights: Mapping[str, Tensor], source: object = "the state dict") -> None:
    """Load weights whose names may carry the prefixes of torch.compile or DDP, or lack the model's own.

    Raises CheckpointError that names the first missing, unexpected or misshapen entries.
    """
    weights = {strip_prefixes(name): tensor for name, tensor in weights.items()}
    wanted = {strip_prefixes(name): name for name in model.state_dict()}
    missing, extra = sorted(set(wanted) - set(weights)), sorted(set(weights) - set(wanted))
    if missing or extra:
        raise CheckpointError(
            f"{str(source)!r} does not fit the model: missing {missing[:3]}, not expected {extra[:3]}"
            " (the configurations differ)"
        )
    try:
        model.load_state_dict({wanted[name]: tensor for name, tensor in weights.items()})
    except RuntimeError as error:
        reason = " ".join(str(error).split())
        raise CheckpointError(f"{str(source)!r} does not fit the model: {reason}") from None


def strip_prefixes(name: str) -> str:
    """A parameter's own name, without what wrappers put before it.

    >>> strip_prefixes("module._orig_mod.ln_final.weight")
    'ln_final.weight'
    """
    while name.startswith(WRAPPER_PREFIXES):
        name = name.partition(".")[2]
    return name


def _flatten_optimizer(model: nn.Module, optimizer: Optimizer) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The optimizer's tensors under `parameter.key`, and the rest (rates, plain numbers) for JSON."""
    names: dict[Tensor, str] = {parameter: strip_prefixes(name) for name, parameter in model.named_parameters()}
    tensors: dict[str, Tensor] = {}
    numbers: dict[str, Any] = {}
    for parameter, entries in optimizer.state.items():
        for key, value in entries.items():
            place = tensors if isinstance(value, Tensor) else numbers
            place[f"{names[parameter]}.{key}"] = value
    groups = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    return tensors, {"groups": groups, "numbers": numbers}


def _restore_optimizer(
    model: nn.Module,
    optimizer: Optimizer,
    tensors: Mapping[str, Tensor],
    settings: Mapping[str, Any],
    path: Path,
) -> None:
    parameters = {strip_prefixes(name): parameter for name, parameter in model.named_parameters()}
    if len(settings["groups"]) != len(optimizer.param_groups):
        raise CheckpointError(f"the optimizer state in {str(path)!r} belongs to another optimizer")
    for group, saved in zip(optimizer.param_groups, settings["groups"], strict=True):
        for key, value in saved.items():
            group[key] = tuple(value) if isinstance(value, list) else value  # JSON has no tuples (betas)
    optimizer.state.clear()
    for full_name, value in [*tensors.items(), *settings["numbers"].items()]:
        name, _, key = full_name.rpartition(".")
        if name not in parameters:
            raise CheckpointError(f"the optimizer state in {str(path)!r} has {name!r}, which the model lacks")
        parameter = parameters[name]
        optimizer.state[parameter][key] = value.to(parameter.device) if isinstance(value, Tensor) else value


def _without_aliases(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Each storage once, which safetensors asks for, and which names share it (tied embeddings)."""
    first: dict[tuple[int, torch.Size], str] = {}
    kept: dict[str, Tensor] = {}
    aliases: dict[str, str] = {}
    for name, tensor in weights.items():
        name = strip_prefixes(name)
        owner = first.setdefault((tensor.data_ptr(), tensor.shape), name)
        if owner == name:
            kept[name] = tensor
        else:
            aliases[name] = owner
    return kept, aliases


def _write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    try:
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:  # carries the system's message, not its number
        raise OSError(None, str(error)) from error


def _read_tensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except FileNotFoundError:
        raise CheckpointError(f"checkpoint {str(path.parent)!r} is damaged: {path.name} is missing") from None
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"checkpoint file {str(path)!r} is damaged: {error}") from error


def _read_record(path: Path) -> dict[str, Any]:
    file = path / "state.json"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(f"{str(path)!r} is not a checkpoint: it has no state.json") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"checkpoint file {str(file)!r} is damaged: {error}") from error
    version = record.get("format_version") if isinstance(record, dict) else None
    if version != FORMAT_VERSION:
        raise CheckpointError(f"checkpoint {str(path)!r} has format {version!r}; this groundup reads {FORMAT_VERSION}")
    if missing := _missing(record, ("state", "optimizer", "aliases", "tokenizer")):
        raise CheckpointError(f"checkpoint file {str(file)!r} is damaged: {missing[0]!r} is missing")
    return record


def _missing(record: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    return [name for name in names if name not in record]


def _steps(checkpoints: Path) -> list[Path]:
    """The folders that `write_step` made, by step."""
    return sorted(folder for folder in checkpoints.glob("step-*") if folder.name.removeprefix("step-").isdigit())


def _pointed(checkpoints: Path, name: str) -> Path | None:
    """The checkpoint that the pointer file `name` names, if both exist."""
    try:
        found = checkpoints / (checkpoints / name).read_text(encoding="utf-8").strip()
    except OSError:
        return None
    return found if (found / "state.json").is_file() else None
