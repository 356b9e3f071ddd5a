"""From what a recipe says to what a run does: defaults filled in, and checks that need more than one field."""

import dataclasses
import logging
from pathlib import Path

from torch.optim import Optimizer

from groundup.config import OptimizerConfig, Precision, RunConfig
from groundup.environment import available_memory_bytes
from groundup.errors import ConfigError, TrainingError
from groundup.model.transformer import TransformerLM
from groundup.optim.adamw import AdamW
from groundup.optim.fast import FastAdamW
from groundup.optim.gradients import parameter_groups
from groundup.optim.muon import FastMuon, Muon, muon_groups
from groundup.optim.sgd import SGD
from groundup.recipe import differences, read_config
from groundup.tokenizer.bpe import Tokenizer
from groundup.training.memory import Held, peak_memory

log = logging.getLogger(__name__)

# Fields that may differ between a run and its continuation: they change what is shown and kept, and where and
# in which parts it is computed, not the course of the training.
FREE = {"out", "init_from", "data.path", "optimizer.decay_steps"} | {
    f"training.{name}"
    for name in (
        "max_steps",
        "minutes",
        "micro_batch_size",
        "checkpoint_activations",
        "device",
        "compile",
        "kernels",
        "as_one_function",
        "log_every",
        "log_norms",
        "eval_every",
        "eval_batch_size",
        "patience",
        "save_every",
        "keep_last",
        "max_skipped",
        "sinks",
    )
}


def resolve(config: RunConfig, tokenizer: Tokenizer) -> RunConfig:
    """The configuration with every open default filled in from the others and from the tokenizer."""
    vocab_size = config.model.vocab_size or tokenizer.vocab_size
    if vocab_size < tokenizer.vocab_size:
        raise ConfigError(
            f"model.vocab_size is {vocab_size}, but the tokenizer of the data has {tokenizer.vocab_size} entries; "
            "leave it out or give at least that"
        )
    optimizer, training = config.optimizer, config.training
    warmup = optimizer.warmup_steps
    if warmup is None:
        warmup = min(1000, max(1, training.max_steps // 50))
    if optimizer.decay_steps is not None and optimizer.decay_steps < warmup:
        raise ConfigError(
            f"optimizer.decay_steps is {optimizer.decay_steps}; the schedule cannot end before the {warmup} updates of "
            "optimizer.warmup_steps"
        )
    return dataclasses.replace(
        config,
        model=dataclasses.replace(config.model, vocab_size=vocab_size),
        optimizer=dataclasses.replace(
            optimizer,
            min_lr=_lowest_rate(optimizer) if optimizer.min_lr is None else optimizer.min_lr,
            warmup_steps=warmup,
            decay_steps=max(warmup, training.max_steps if optimizer.decay_steps is None else optimizer.decay_steps),
        ),
        training=dataclasses.replace(training, micro_batch_size=training.micro_batch_size or training.batch_size),
    )


def _lowest_rate(optimizer: OptimizerConfig) -> float:
    return optimizer.lr / 10 if optimizer.schedule == "cosine" else 0.0


def check_resumable(config: RunConfig, asked: RunConfig, checkpoint: Path) -> RunConfig:
    """The configuration to go on with: that of the checkpoint, with the free fields as in `config` now.

    `asked` is `config` before it was resolved. The warm-up and the end of the cosine stay as they were, also
    for a longer or shorter run, unless they are given. Raises ConfigError that names the other fields in
    which the two differ.
    """
    saved = read_config(checkpoint / "config.yaml")
    kept = {
        name: getattr(saved.optimizer, name)
        for name in ("warmup_steps", "decay_steps")
        if getattr(asked.optimizer, name) is None
    }
    config = dataclasses.replace(config, optimizer=dataclasses.replace(config.optimizer, **kept))
    changed = {name: pair for name, pair in differences(saved, config).items() if name not in FREE}
    if changed:
        listed = ", ".join(f"{name} {was!r} -> {now!r}" for name, (was, now) in list(changed.items())[:3])
        raise ConfigError(
            f"the run in {str(checkpoint.parent.parent)!r} was made with other settings ({listed}); "
            "resume with the same, or start another run with --out and --init_from"
        )
    return config


def make_optimizer(config: RunConfig, model: TransformerLM) -> Optimizer:
    """The optimizer that the configuration names, over the model's parameters."""
    settings = config.optimizer
    if settings.name == "sgd":
        return SGD(model.parameters(), lr=settings.lr)
    is_plain = config.training.kernels == "reference"
    if settings.name == "muon":
        kind, groups = Muon if is_plain else FastMuon, muon_groups(model, settings.weight_decay)
        return kind(groups, lr=settings.lr, betas=settings.betas, eps=settings.eps, momentum=settings.momentum)
    kind, groups = AdamW if is_plain else FastAdamW, parameter_groups(model, settings.weight_decay)
    return kind(groups, lr=settings.lr, betas=settings.betas, eps=settings.eps)


def check_memory(config: RunConfig, device: str, precision: Precision) -> None:
    """Estimate what the run needs, and refuse in one sentence if the machine has less. Logs the estimate."""
    free, peak = _free_bytes(device), peak_memory(config, precision=precision)
    needed = _still_needed(peak)
    log.info("memory: about %.2f GB needed, at most in %s, %.2f GB free", needed / 1e9, peak.moment, free / 1e9)
    if needed > free:
        raise TrainingError(
            f"the run needs about {needed / 1e9:.1f} GB with {config.training.micro_batch_size} sequences at once in "
            f"training and {config.training.eval_batch_size} in validation, and {free / 1e9:.1f} GB are free; "
            f"{_what_fits(config, precision, free)}"
        )


def _what_fits(config: RunConfig, precision: Precision, free: int) -> str:
    """The advice: the settings that decide the peak, halved until it fits; they do not change the result."""
    smaller = config
    while _still_needed(peak := peak_memory(smaller, precision=precision)) > free:
        name = "eval_batch_size" if peak.moment == "validation" else "micro_batch_size"
        rows = getattr(smaller.training, name) or smaller.training.batch_size
        if rows == 1:
            return "take a smaller model or a shorter context"
        smaller = dataclasses.replace(smaller, training=dataclasses.replace(smaller.training, **{name: rows // 2}))
    settings = [
        f"training.{name} {getattr(smaller.training, name)}"
        for name in ("micro_batch_size", "eval_batch_size")
        if getattr(smaller.training, name) != getattr(config.training, name)
    ]
    return f"{' and '.join(settings)} would fit (the result stays the same)"


def _still_needed(peak: Held) -> int:
    """Without what this process, which has loaded torch, holds already."""
    return peak.total_bytes - peak.runtime_bytes


def _free_bytes(device: str) -> int:
    if device.startswith("cuda"):
        import torch

        return torch.cuda.mem_get_info(device)[0]
    return available_memory_bytes()
