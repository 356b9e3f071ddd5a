"""Sets up the laboratory for a study: text, base run, tokens and seeds, from what was asked for.

What was measured to decide it (how many tokens fit into the minutes, how much memory is free) is kept in `plan.json`
beside the page, so that an experiment that goes on later goes on with the same runs.
"""

import contextlib
import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundup.data.manifest import read_manifest
from groundup.environment import available_memory_bytes
from groundup.errors import ConfigError
from groundup.experiments.lab import NUM_EVALS, Lab
from groundup.experiments.presets import Preset, find_preset
from groundup.experiments.runner import planned_runs
from groundup.experiments.study import Study
from groundup.experiments.texts import OWN_TEXTS, own_text, prepared_text
from groundup.files import write_json
from groundup.recipe import changed, override

PLAN_FILE = "plan.json"


@dataclass(frozen=True)
class Wishes:
    """What was asked for.

    Attributes:
        preset: Name of a preset.
        data: Prepared folders or text files; empty for texts that every machine has.
        tokens: Target tokens of a run; None for those of the preset.
        minutes: Time for all runs together, instead of `tokens`; of a study of equal times, for each run.
        num_seeds: None for those of the preset.
        overrides: Settings of the base run, as of a recipe.
    """

    preset: str = "cpu"
    data: tuple[str, ...] = ()
    tokens: int | None = None
    minutes: float | None = None
    num_seeds: int | None = None
    overrides: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.tokens is not None and self.tokens < 1:
            raise ConfigError(f"--tokens is {self.tokens}; it must be at least 1")
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise ConfigError(f"--minutes is {self.minutes:g}; it must be positive")
        if self.num_seeds is not None and self.num_seeds < 1:
            raise ConfigError(f"--seeds is {self.num_seeds}; it must be at least 1")


def open_lab(study: Study, wishes: Wishes, *, out: Path, runs: Path) -> Lab:
    """The lab for a study, its text prepared below `runs` and its plan kept in `out`.

    Raises ConfigError or DataError for what cannot work, before any run.
    """
    if study.is_timed and wishes.tokens is not None:
        raise ConfigError(f"{study.name} compares runs of equal time; give --minutes, for each run, and not --tokens")
    preset = find_preset(wishes.preset)
    data = _texts(study, wishes.data, runs / "data", preset)
    settings = {"data.path": data[0]} if data else {}
    base = override(changed(preset.base, settings), wishes.overrides)
    if base.optimizer.lr <= 0:
        raise ConfigError(f"optimizer.lr is {base.optimizer.lr:g}; the base run of an experiment needs a positive one")
    earlier = _read_plan(out / PLAN_FILE)
    lab = Lab(
        base=base,
        tokens=wishes.tokens or preset.tokens,
        num_seeds=wishes.num_seeds or preset.num_seeds,
        data=data,
        runs=runs,
        vocab_size=read_manifest(data[0]).vocab_size if data else 0,
        rates=preset.rates,
        batch_sizes=preset.batch_sizes,
        memory_bytes=earlier.get("memory_bytes") or _usable_memory(base.training.device),
    )
    minutes = wishes.minutes or (preset.minutes if study.is_timed else None)
    if minutes is not None and data:
        same = earlier.get("minutes") == minutes and earlier.get("preset") == wishes.preset
        tokens = earlier["tokens"] if same else _tokens_for(study, lab, minutes)
        lab = dataclasses.replace(lab, tokens=tokens, minutes=minutes if study.is_timed else 0.0)
    if not study.num_texts:
        return lab
    plan = {"preset": wishes.preset, "minutes": minutes, "tokens": lab.tokens, "memory_bytes": lab.memory_bytes}
    write_json(out / PLAN_FILE, plan)
    return lab


def require_texts(study: Study, data: Sequence[str]) -> None:
    """Raises ConfigError if texts are given, and fewer than the study needs."""
    if data and len(data) < study.num_texts:
        raise ConfigError(f"{study.name} compares {study.num_texts} texts; give --data {study.num_texts} times")


def _texts(study: Study, data: Sequence[str], folder: Path, preset: Preset) -> tuple[str, ...]:
    """The prepared folders that the study needs: those asked for, or of our own texts."""
    require_texts(study, data)
    wanted = data[: study.num_texts] or [
        own_text(name, folder, preset.text_bytes) for name in OWN_TEXTS[: study.num_texts]
    ]
    prepared = tuple(prepared_text(source, folder, preset) for source in wanted)
    if len({Path(path).name for path in prepared}) < len(prepared):
        raise ConfigError(f"the texts {', '.join(wanted)} have the same name; the page could not tell them apart")
    return prepared


def _tokens_for(study: Study, lab: Lab, minutes: float) -> int:
    """Tokens a run so that all runs of the study end in the time, at the speed of the base measured now.

    Of a study of equal times, tokens of the base run in the time that each run gets.
    """
    from groundup.training.plan import steps_for

    seconds = 60 * minutes / (1 if study.is_timed else len(planned_runs(study, lab)))
    steps = steps_for(lab.base, seconds=seconds, validation_passes=NUM_EVALS)
    return steps * lab.base.training.batch_size * lab.base.model.context_length


def _usable_memory(device: str) -> int:
    """What is free where the runs will be; half of a machine's own memory is left to the others on it."""
    import torch

    if device.startswith("cuda") or (device == "auto" and torch.cuda.is_available()):
        return torch.cuda.mem_get_info()[0]
    return available_memory_bytes() // 2


def _read_plan(path: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError):
        plan = json.loads(path.read_text(encoding="utf-8"))
        return plan if isinstance(plan, dict) else {}
    return {}
