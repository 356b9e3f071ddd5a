"""Carries out a study: makes the runs that are missing, goes on with those that were stopped, gathers outcomes.

A run that came to its end, or diverged, leaves `outcome.json` in its folder and is never made again. What training
itself must do for this (continue bit for bit, stop at a signal) is in the room of training.
"""

import dataclasses
import json
import logging
import math
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from groundup.config import RunConfig
from groundup.data.manifest import read_manifest
from groundup.environment import describe
from groundup.errors import DivergenceError
from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Outcome, Results, read_outcome
from groundup.experiments.quantities import duration
from groundup.experiments.study import Study
from groundup.files import StrPath, write_json
from groundup.model.accounting import num_parameters
from groundup.recipe import changed
from groundup.training.metrics import Sink

log = logging.getLogger(__name__)
OUTCOME_FILE = "outcome.json"
_MACHINE = ("processor", "cores", "torch", "groundup", "revision")


@runtime_checkable
class Train(Protocol):
    """`groundup.training.loop.train`, or something that leaves the same files."""

    def __call__(self, config: RunConfig, *, resume: str, sinks: Sequence[Sink] = ()) -> Any: ...


Say = Callable[[str], None]
RunOnce = Callable[[RunConfig], Outcome]


def run_study(study: Study, lab: Lab, *, command: str, train: Train | None = None, say: Say = log.info) -> Results:
    """Make every run of the study that has not been made, in order, and measure; returns the results.

    All variants get their first seed before any gets its second, so that an experiment that is stopped early has
    seen every variant. `command` is what the page says to repeat it with. Raises KeyboardInterrupt when a run was
    stopped by a signal: the next call goes on there.
    """
    total = len(planned_runs(study, lab))
    done = 0
    times: list[float] = []  # of the runs made now

    def run_once(config: RunConfig) -> Outcome:
        nonlocal done
        is_new = _recorded(Path(config.out) / OUTCOME_FILE) is None
        start = time.monotonic()
        say(f"run {done + 1} of {max(done + 1, total)}: {Path(config.out).name}{'' if is_new else ', made before'}")
        outcome = run_trial(config, train=train)
        done += 1
        if is_new:
            times.append(time.monotonic() - start)
            end = f"diverged: {outcome.diverged}" if outcome.diverged else f"loss {outcome.loss:.4f}"
            left = statistics.fmean(times) * (total - done)
            rest = f"; about {duration(left)} left if none of the rest was made before" if left > 0 else ""
            say(f"  {end}, {duration(times[-1])}{rest}")
        return outcome

    results = carry_out(study, lab, run_once)
    common = facts(lab.base, lab.data, tokens=lab.tokens, num_seeds=lab.num_seeds, minutes=lab.minutes)
    results = dataclasses.replace(results, facts={**common, "command": command})
    measured = study.measure(lab, results) if study.measure is not None else {}
    return dataclasses.replace(results, measured=measured)


def planned_runs(study: Study, lab: Lab) -> list[RunConfig]:
    """The runs of the study, if each turned out the better the nearer its rate is to that of the base."""
    found: list[RunConfig] = []

    def imagine(config: RunConfig) -> Outcome:
        found.append(config)
        distance = abs(math.log(config.optimizer.lr / lab.base.optimizer.lr))
        return Outcome(config.training.seed, Path(config.out).name, "", distance, distance, 1, 1, 1.0, 1.0)

    carry_out(study, lab, imagine)
    return found


def carry_out(study: Study, lab: Lab, run_once: RunOnce) -> Results:
    """Ask the study for variants and make their runs until it names none that is new; the results have no facts yet."""
    results = Results({})
    outcomes: dict[str, Outcome] = {}
    while True:
        variants = study.variants(lab, results)
        configs = {(v.name, seed): lab.config(v, seed) for v in variants for seed in range(v.num_seeds)}
        missing = [config for config in configs.values() if config.out not in outcomes]
        for config in sorted(missing, key=lambda config: config.training.seed):
            if config.out not in outcomes:
                outcomes[config.out] = run_once(config)
        results = dataclasses.replace(results, groups=_groups(variants, configs, outcomes))
        if not missing:
            return results


def run_trial(config: RunConfig, *, train: Train | None = None) -> Outcome:
    """The outcome of one run, made now unless it was made before.

    Of its checkpoints a finished run keeps the weights of the last one, a diverged run nothing.
    """
    folder = Path(config.out)
    diverged = _recorded(folder / OUTCOME_FILE)
    if diverged is None:
        if train is None:
            from groundup.training.loop import train
        diverged = ""
        try:
            if train(config, resume="auto").stopped_by is not None:
                raise KeyboardInterrupt
        except DivergenceError:
            diverged = "loss or gradients were not finite"
        write_json(folder / OUTCOME_FILE, {"diverged": diverged})
    spare_disk(folder, keeps_weights=not diverged)
    vocab_size = config.model.vocab_size or read_manifest(config.data.path).vocab_size
    return read_outcome(folder, seed=config.training.seed, diverged=diverged, vocab_size=vocab_size)


def spare_disk(folder: StrPath, *, keeps_weights: bool) -> None:
    """Remove a finished run's checkpoints: all, or all but the last, of which the optimizer's state goes."""
    checkpoints = sorted(Path(folder).glob("checkpoints/step-*"))
    if not keeps_weights:
        shutil.rmtree(Path(folder) / "checkpoints", ignore_errors=True)
    elif checkpoints:
        (Path(folder) / "checkpoints" / "best").unlink(missing_ok=True)  # the last one counts
        for old in checkpoints[:-1]:
            shutil.rmtree(old)
        (checkpoints[-1] / "optimizer.safetensors").unlink(missing_ok=True)


def facts(
    base: RunConfig, data: Sequence[str], *, tokens: int, num_seeds: int, minutes: float | int = 0
) -> dict[str, Any]:
    """What the runs have in common, for the page: JSON data, without names of this machine's folders."""
    machine = {key: value for key, value in describe().items() if key in _MACHINE}
    if not data:
        return {"machine": machine}
    texts = []
    for path in data:
        manifest = read_manifest(path)
        texts.append(
            {
                "name": Path(path).name,
                "vocab_size": manifest.vocab_size,
                **{f"{split}_tokens": part.tokens for split, part in manifest.splits.items()},
            }
        )
    model = changed(base.model, {"vocab_size": base.model.vocab_size or texts[0]["vocab_size"]})
    return {
        "tokens": tokens,
        **({"minutes": minutes} if minutes else {}),
        "seeds": num_seeds,
        "steps": max(1, round(tokens / (base.training.batch_size * model.context_length))),
        "model": dataclasses.asdict(dataclasses.replace(model, d_ff=model.ffn_width)),
        "parameters": num_parameters(model).total,
        "optimizer": dataclasses.asdict(base.optimizer),
        "batch_size": base.training.batch_size,
        "precision": base.training.precision,
        "texts": texts,
        "machine": machine,
    }


def _groups(
    variants: Any, configs: Mapping[tuple[str, int], RunConfig], outcomes: Mapping[str, Outcome]
) -> tuple[Group, ...]:
    def of(variant: Variant) -> Iterator[Outcome]:
        for seed in range(variant.num_seeds):
            yield outcomes[configs[variant.name, seed].out]

    return tuple(Group(variant, tuple(of(variant))) for variant in variants)


def _recorded(path: Path) -> str | None:
    """Why a finished run diverged, empty if it did not; None if it has not finished."""
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["diverged"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
