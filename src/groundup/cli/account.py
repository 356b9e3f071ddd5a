"""`groundup account`: parameters, operations, memory and days of a configuration, before anything is trained.

The counting is model/accounting.py and training/memory.py, the shapes are experiments/known_shapes.py; here are the
tables.
"""

import argparse
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from groundup.cli.overrides import split_overrides
from groundup.cli.parser import Parser
from groundup.config import RunConfig
from groundup.environment import available_memory_bytes
from groundup.errors import ConfigError
from groundup.experiments.known_shapes import PRESETS
from groundup.experiments.quantities import count, in_words, significant, size
from groundup.model import accounting
from groundup.recipe import read_config
from groundup.training.memory import memory_by_moment

PART_NAMES = {
    "qkv": "Q, K, V projections",
    "scores": "scores Q K^T",
    "weighted_sum": "weighted sum of V",
    "output": "output projection",
    "feed_forward": "feed-forward",
    "optimizer": "optimizer state",
    "runtime": "Python and torch",
}


def main(arguments: list[str]) -> int:
    """Print what the configuration costs."""
    arguments, overrides = split_overrides(arguments)
    options, unknown = _parser().parse_known_args(arguments)
    config = _read_config(options, [*overrides, *unknown])
    account = account_for(config, options)
    print(json.dumps(account) if options.json else "\n\n".join(_tables(config, account, options)))
    return 0


def account_for(config: RunConfig, options: argparse.Namespace) -> dict[str, Any]:
    """All figures, as `--json` prints them; sizes in bytes, times in days."""
    model, rows = config.model, config.training.micro_batch_size or config.training.batch_size
    parameters, operations = accounting.num_parameters(model), accounting.flops(model)
    moments = memory_by_moment(config)
    peak = max(moments, key=lambda held: held.total_bytes)
    paper = accounting.adamw_memory(model)
    account: dict[str, Any] = {
        "model": dataclasses.asdict(model) | {"d_ff": model.ffn_width, "num_kv_heads": model.kv_heads},
        "batch_size": config.training.batch_size,
        "micro_batch_size": rows,
        "parameters": dataclasses.asdict(parameters) | {"total": parameters.total},
        "forward_flops": dataclasses.asdict(operations) | {"total": operations.total},
        "forward_shares": operations.shares,
        "training_flops_per_token": 3 * operations.total / model.context_length,
        "adamw_flops": accounting.ADAMW_FLOPS_PER_PARAMETER * parameters.total,
        **({"muon_flops": accounting.muon_flops(model)} if config.optimizer.name == "muon" else {}),
        "training_memory": dataclasses.asdict(peak)
        | {
            "total_bytes": peak.total_bytes,
            "moments": {held.moment: held.total_bytes for held in moments},
        },
        "adamw_memory": dataclasses.asdict(paper) | {"largest_batch": paper.largest_batch(options.memory)},
    }
    if options.flops_per_s:
        account["days"] = accounting.training_days(
            model,
            steps=config.training.max_steps,
            batch_size=config.training.batch_size,
            flops_per_s=options.flops_per_s,
            utilization=options.utilization,
        )
    return account


def _read_config(options: argparse.Namespace, overrides: list[str]) -> RunConfig:
    """The recipe, or the preset, with the overrides on top; the vocabulary of the data where none is given."""
    if options.preset and options.recipe:
        raise ConfigError(f"give either a recipe ({options.recipe}) or --preset {options.preset}, not both")
    if options.batch_size is not None:
        overrides = [*overrides, f"--training.batch_size={options.batch_size}"]
    if not options.recipe:
        overrides = [*_preset(options.preset or "base"), *overrides]
    config = read_config(options.recipe, overrides)
    if config.model.vocab_size == 0:
        vocab_size = _vocab_size_of_data(config.data.path)
        config = dataclasses.replace(config, model=dataclasses.replace(config.model, vocab_size=vocab_size))
    return config


def _preset(name: str) -> list[str]:
    return [f"--model.{field}={value}" for field, value in PRESETS[name].items()]


def _vocab_size_of_data(path: str) -> int:
    """What model.vocab_size 0 means: the entries of the tokenizer that the data was prepared with."""
    manifest = Path(path) / "manifest.json"
    if not path or not manifest.is_file():
        raise ConfigError(
            "model.vocab_size is 0, which means that of the prepared data, and there is none at data.path "
            f"{path!r}; give --model.vocab_size 10000, say"
        )
    from groundup.data.shards import read_manifest

    return read_manifest(path).vocab_size


def _tables(config: RunConfig, account: Mapping[str, Any], options: argparse.Namespace) -> list[str]:
    model = config.model
    title = options.recipe or options.preset or "base"
    shape = (
        f"{title}: {model.num_layers} layers, width {model.d_model}, {model.num_heads} heads, "
        f"{model.ffn} {model.ffn_width}, vocabulary {model.vocab_size:,}, context {model.context_length:,}"
    )
    parameters = account["parameters"]
    weights = f"{size(4 * parameters['total'])} in float32, {size(2 * parameters['total'])} in bf16"
    operations = account["forward_flops"]
    per_token = account["training_flops_per_token"]
    per_update = per_token * model.context_length * account["batch_size"]
    optimizer = f"{account['adamw_flops']:.2e} in AdamW"
    if "muon_flops" in account:
        optimizer = f"{account['muon_flops']:.2e} in the matrix products of Muon"
    return [
        shape,
        _table("Parameters", parameters, lambda value: f"{value:,}", [f"to load them: {weights}"]),
        _table(
            f"FLOPs of a forward pass over {model.context_length:,} tokens",
            operations,
            lambda value: f"{value:.4e}",
            [
                f"training, where backward takes twice as many: {per_token:.3e} per token",
                f"per update of {account['batch_size']:,} sequences: {per_update:.3e}, and {optimizer}",
            ],
        ),
        _training_memory(config, account["training_memory"]),
        _paper(account, options),
        *_days(config, account, options),
    ]


def _table(title: str, parts: Mapping[str, int], write: Callable[[int], str], notes: Sequence[str]) -> str:
    """Rows of name, amount and share of the total; the total comes last in `parts`."""
    total = list(parts.values())[-1]
    rows = [(_part_name(key), write(value), f"{100 * value / total:.1f} %") for key, value in parts.items()]
    names, amounts, _ = (max(map(len, cells)) for cells in zip(*rows, strict=True))
    lines = [f"  {name:<{names}}  {amount:>{amounts}}  {share:>7}" for name, amount, share in rows]
    return "\n".join([title, *lines, *(f"  {note}" for note in notes)])


def _part_name(key: str) -> str:
    key = key.removesuffix("_bytes")
    return PART_NAMES.get(key, key.replace("_", " "))


def _training_memory(config: RunConfig, memory: Mapping[str, Any]) -> str:
    training = config.training
    rows = training.micro_batch_size or training.batch_size
    moments = ", ".join(f"{name} {size(total)}" for name, total in memory["moments"].items())
    return _table(
        f"Peak memory of training on a CPU, in {memory['moment']}: {rows:,} sequences at once, "
        f"{training.eval_batch_size:,} in validation, {training.precision}, kernels {training.kernels}",
        {name: value for name, value in memory.items() if name.endswith("_bytes")},
        size,
        [f"by moment: {moments}", f"free on this machine: {size(available_memory_bytes())}"],
    )


def _paper(account: Mapping[str, Any], options: argparse.Namespace) -> str:
    """The specification's estimate: a straight line in the batch size."""
    memory = account["adamw_memory"]
    return (
        "Memory of AdamW by the specification's count, in float32\n"
        f"  {memory['bytes_per_sequence'] / 1e9:.2f} GB * batch + {memory['fixed_bytes'] / 1e9:.2f} GB; "
        f"largest batch in {size(options.memory)}: {memory['largest_batch']:,}"
    )


def _days(config: RunConfig, account: Mapping[str, Any], options: argparse.Namespace) -> list[str]:
    if "days" not in account:
        return []
    tokens = config.training.max_steps * config.training.batch_size * config.model.context_length
    return [
        f"Time for {config.training.max_steps:,} updates of {config.training.batch_size:,} sequences "
        f"({in_words(tokens)} tokens)\n"
        f"  {significant(account['days'], 4)} days at {100 * options.utilization:g} % of "
        f"{count(options.flops_per_s)}FLOP/s"
    ]


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup account",
        description="Parameters, floating-point operations, memory and time of a configuration, from its numbers "
        "alone. Any setting can be overridden by its dotted name.",
        example="groundup account --preset gpt2-xl --model.context_length 16384\n"
        "  groundup account recipes/quickstart.yaml --flops_per_s 200e9",
    )
    parser.add_argument("recipe", nargs="?", help="YAML file; without one the base configuration")
    parser.add_argument("--preset", choices=list(PRESETS), help="a well-known shape instead of a recipe")
    parser.add_argument("--batch_size", type=int, metavar="N", help="sequences an update sees (training.batch_size)")
    parser.add_argument(
        "--flops_per_s", type=_positive, metavar="RATE", help="speed of the hardware: adds the time of the whole run"
    )
    parser.add_argument(
        "--utilization", type=_positive, default=0.5, metavar="PART", help="part of that speed reached (default: 0.5)"
    )
    parser.add_argument(
        "--memory", type=_positive, default=80e9, metavar="BYTES", help="for the largest batch (default: 80e9)"
    )
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    return parser


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number; write it as 19.5e12") from None
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return value
