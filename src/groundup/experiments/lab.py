"""What is run: a variant of a base configuration, with a seed, as the run folder that a lab gives it.

The lab sees to it that runs can be compared: the same tokens whatever the batch size, the same text, validation
passes and seeds. What is asked of them is a study (study.py).
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundup.config import RunConfig
from groundup.recipe import changed, differences, setting

NUM_EVALS = 8  # validation passes of a run: enough for a curve, about a tenth of the time
NUM_LINES = 50  # lines of training loss in a run's metrics


@dataclass(frozen=True)
class Variant:
    """One configuration of a study, run once with each of its seeds.

    Attributes:
        name: Short and unique in the study.
        label: What tables and legends call it.
        settings: What it changes in the base configuration, by dotted names.
        num_seeds: Seeds 0 .. num_seeds - 1; a seed decides initial weights and order of the batches.
        x: The varied quantity, where the study draws the loss against one.
    """

    name: str
    label: str
    settings: Mapping[str, Any]
    num_seeds: int
    x: float | int | None = None


@dataclass(frozen=True)
class Lab:
    """Where a study is carried out.

    Attributes:
        base: What all variants start from, with its data.
        tokens: Target tokens that every run sees, whatever its batch size; with `minutes` a first guess.
        minutes: Time that every run gets instead, however far it comes; 0 for none.
        num_seeds: Repetitions where a comparison is claimed.
        data: Prepared folders, the one of `base` first.
        runs: Folder of the run folders. Experiments that share it share their equal runs.
        vocab_size: Entries of the tokenizer of that folder.
        rates, batch_sizes: What the sweeps go through.
        memory_bytes: What a run may use.
    """

    base: RunConfig
    tokens: int
    num_seeds: int
    data: tuple[str, ...]
    runs: Path
    vocab_size: int
    rates: tuple[float, ...] = ()
    batch_sizes: tuple[int, ...] = ()
    memory_bytes: int = 0
    minutes: float = 0.0

    def config(self, variant: Variant, seed: int) -> RunConfig:
        """The run of a variant with a seed. Equal settings give the equal configuration, `out` included."""
        config = changed(self.base, variant.settings)
        if "training.max_steps" not in variant.settings:
            config = changed(config, {"training.max_steps": self.steps(config)})
        steps = config.training.max_steps
        config = changed(
            config,
            {
                "out": "",
                "training.seed": seed,
                "training.log_every": max(1, steps // NUM_LINES),
                "training.eval_every": max(1, -(-steps // NUM_EVALS)),
                "training.save_every": max(1, -(-steps // 4)),
                "training.keep_last": 1,
                "training.minutes": self.minutes,
            },
        )
        return changed(config, {"out": str(self.runs / run_name(config, self._changes(config)))})

    def steps(self, config: RunConfig) -> int:
        """Updates in which a run of this batch size sees the tokens of the lab; at least 1."""
        return max(1, round(self.tokens / (config.training.batch_size * config.model.context_length)))

    def _changes(self, config: RunConfig) -> list[str]:
        """Names of the settings in which a run differs from the base, but for those that every run gets."""
        given = {"training.seed", "out", "data.path"}
        given |= {f"training.{name}_every" for name in ("log", "eval", "save")}
        given |= {"training.keep_last", "training.minutes"}
        changes = sorted(name for name in differences(self.base, config) if name not in given)
        if config.training.max_steps == self.steps(config):
            changes = [name for name in changes if name != "training.max_steps"]
        return changes


def run_name(config: RunConfig, changes: Sequence[str]) -> str:
    """`lr-0.01_norm-none-seed0-1f6ad0c2`: the changed settings, the seed, and a digest of all but `out`.

    The digest makes it safe to take a folder of this name for this run: equal names, equal runs.
    """
    words = [f"{name.rpartition('.')[2]}-{_short(setting(config, name))}" for name in changes]
    digest = hashlib.sha256(repr(changed(config, {"out": ""})).encode()).hexdigest()[:8]
    return f"{'_'.join(words) or 'base'}-seed{config.training.seed}-{digest}"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value).replace("/", "-")
