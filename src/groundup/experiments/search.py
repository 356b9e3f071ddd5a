"""A search for the best settings of a recipe by optuna, which learns from each run which values to try next.

Trials are kept in `search.db` (SQLite), so that a search goes on where it stopped, also in the middle of a run. A run
whose validation loss is worse than the median of the earlier ones at the same step is given up.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from groundup.config import RunConfig
from groundup.errors import ConfigError
from groundup.experiments.lab import run_name
from groundup.experiments.outcome import Outcome
from groundup.experiments.records import number
from groundup.experiments.runner import Say, Train, run_trial, spare_disk
from groundup.experiments.sweep import Choice, Range, label
from groundup.files import write_atomic
from groundup.recipe import changed, override, setting, write_config
from groundup.training.metrics import read_metrics

DATABASE = "search.db"
BEST = "best.yaml"
MIN_TRIALS = 3  # that run to their end before one may be given up


def search(
    recipe: RunConfig,
    settings: Sequence[Choice | Range],
    *,
    out: Path,
    num_trials: int,
    train: Train | None = None,
    say: Say,
) -> RunConfig | None:
    """Make trials until there are `num_trials`, those of earlier calls included; returns the best configuration.

    It is also written to `best.yaml`, a recipe. None if no run came to its end without diverging.
    Raises ConfigError without optuna, or for a folder that holds a search over other settings.
    """
    optuna = _optuna()
    out.mkdir(parents=True, exist_ok=True)
    storage = f"sqlite:///{out / DATABASE}"
    pruner = optuna.pruners.MedianPruner(n_startup_trials=MIN_TRIALS)
    study = optuna.create_study(study_name="search", storage=storage, pruner=pruner, load_if_exists=True)
    _require_same(study, recipe, settings, out)
    # A sampler that began with the same seed again would propose the same first values again.
    study.sampler = optuna.samplers.TPESampler(seed=len(study.trials))
    _take_up_again(optuna, study)
    if train is None:
        from groundup.training.loop import train
    finished = (optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.PRUNED)
    while (done := len(study.get_trials(states=finished))) < num_trials:
        trial = study.ask()
        point = {one.name: _suggest(trial, recipe, one) for one in settings}
        config = changed(recipe, point)
        config = changed(config, {"out": str(out / "runs" / run_name(config, list(point)))})
        say(f"trial {done + 1} of {num_trials}: {label(point)}")
        trial.set_user_attr("run", Path(config.out).name)
        outcome = _run(config, trial, train)
        if outcome is None or outcome.diverged:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            say("  given up: worse than the median at this step" if outcome is None else f"  {outcome.diverged}")
        else:
            study.tell(trial, outcome.loss)
            say(f"  loss {outcome.loss:.4f}")
    best = min(study.get_trials(states=finished[:1]), key=lambda one: one.value, default=None)
    if best is None:
        return None
    config = changed(recipe, {one.name: _value(recipe, one.name, best.params[one.name]) for one in settings})
    write_atomic(out / BEST, write_config(config))
    return config


class GivenUp(Exception):
    """Raised in a run whose validation loss is not worth going on for."""


class Reporter:
    """A sink that tells optuna each validation loss, and ends the run when optuna would give it up."""

    def __init__(self, trial: Any) -> None:
        self._trial = trial

    def write(self, record: Mapping[str, Any]) -> None:
        """Report a validation pass. Raises GivenUp."""
        if record["kind"] == "eval" and (loss := number(record, "loss")) == loss:
            self._trial.report(loss, int(record["step"]))
            if self._trial.should_prune():
                raise GivenUp

    def close(self) -> None:
        """Nothing is open."""


def _run(config: RunConfig, trial: Any, train: Train) -> Outcome | None:
    """The outcome of a trial's run; None if it was given up."""
    reporter = Reporter(trial)
    try:
        for record in read_metrics(Path(config.out) / "metrics.jsonl"):  # of a run that goes on
            reporter.write(record)
        return run_trial(config, train=functools.partial(train, sinks=[reporter]))
    except GivenUp:
        spare_disk(config.out, keeps_weights=False)
        return None


def _suggest(trial: Any, recipe: RunConfig, one: Choice | Range) -> Any:
    if isinstance(one, Choice):
        return _value(recipe, one.name, trial.suggest_categorical(one.name, one.values))
    if _is_whole(recipe, one.name):
        return trial.suggest_int(one.name, round(one.low), round(one.high), log=one.is_log)
    return trial.suggest_float(one.name, one.low, one.high, log=one.is_log)


def _value(recipe: RunConfig, name: str, value: Any) -> Any:
    """A value as the recipe's type has it."""
    return setting(override(recipe, [f"--{name}={value}"]), name)


def _is_whole(recipe: RunConfig, name: str) -> bool:
    """Whether a setting is a whole number, or one or null; ConfigError if there is none of this name."""
    _value(recipe, name, "1")
    group, _, field = name.rpartition(".")
    return get_type_hints(type(setting(recipe, group)))[field] in (int, int | None)


def _require_same(study: Any, recipe: RunConfig, settings: Sequence[Choice | Range], out: Path) -> None:
    """A database of trials over other settings, or of another recipe, would mix what cannot be compared."""
    asked = {"settings": [repr(one) for one in settings], "recipe": write_config(changed(recipe, {"out": ""}))}
    before = study.user_attrs
    if before and before != asked:
        raise ConfigError(f"{str(out)!r} holds a search over other settings or another recipe; give another --out")
    for key, value in asked.items():
        study.set_user_attr(key, value)


def _take_up_again(optuna: Any, study: Any) -> None:
    """Trials that a kill left running are asked for again: their run folders go on from their checkpoints."""
    for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        study.enqueue_trial(trial.params)
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)


def _optuna() -> Any:
    try:
        import optuna  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ConfigError("a search needs optuna; pip install 'groundup[sweep]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna
