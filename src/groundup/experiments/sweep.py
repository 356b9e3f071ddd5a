"""A sweep over settings of a recipe: every combination of the values given, each with its seeds, as an experiment.

The settings are as typed: `optimizer.lr=1e-4,3e-4` for values, `optimizer.lr=1e-4..1e-2` for a range, which only a
search (search.py) can use. A grid leaves the page that an experiment leaves, with the same pictures.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from groundup.config import RunConfig
from groundup.errors import ConfigError
from groundup.experiments.commentary import best_of, compare, divergence, with_spread
from groundup.experiments.lab import Variant, run_name
from groundup.experiments.outcome import Group, Results
from groundup.experiments.runner import Say, Train, facts, run_trial
from groundup.experiments.study import Study
from groundup.recipe import changed, override, setting

MOST_COMPARED = 5  # combinations that the page compares with the best in words


@dataclass(frozen=True)
class Choice:
    """A setting and the values it takes, as typed."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Range:
    """A setting that may take any value between two; on a logarithmic scale if they span a factor of ten."""

    name: str
    low: float
    high: float

    @property
    def is_log(self) -> bool:
        return self.low > 0 and self.high / self.low >= 10


def parse_setting(text: str) -> Choice | Range:
    """What `name=a,b,c` or `name=low..high` means; ConfigError for anything else.

    >>> parse_setting("optimizer.betas=[0.9,0.95],[0.9,0.99]")
    Choice(name='optimizer.betas', values=('[0.9,0.95]', '[0.9,0.99]'))
    >>> parse_setting("optimizer.lr=1e-4..1e-2")
    Range(name='optimizer.lr', low=0.0001, high=0.01)
    """
    name, equals, values = text.partition("=")
    if not (name and equals and values):
        raise ConfigError(f"--set {text!r} cannot be used; write name=value,value or name=low..high")
    if found := re.fullmatch(r"(.+)\.\.(.+)", values):
        try:
            low, high = map(float, found.groups())
        except ValueError:
            raise ConfigError(f"--set {text!r} is no range; both ends must be numbers") from None
        if not low < high:
            raise ConfigError(f"--set {text!r} is no range; the lower end must come first")
        return Range(name, low, high)
    return Choice(name, tuple(re.split(r",(?![^\[]*\])", values)))


def grid(recipe: RunConfig, choices: Sequence[Choice | Range]) -> list[dict[str, Any]]:
    """Every combination, as values by dotted names; each is checked now, so that no run fails after hours.

    Raises ConfigError for a range, a setting given twice, or values that cannot work.
    """
    for choice in choices:
        if isinstance(choice, Range):
            raise ConfigError(f"{choice.name} has a range; a grid needs values, and a range a search (--trials)")
    names = [choice.name for choice in choices]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"{min(repeated)} is given twice; put all its values into one --set")
    points = []
    for values in itertools.product(*(choice.values for choice in choices if isinstance(choice, Choice))):
        config = override(recipe, [f"--{name}={value}" for name, value in zip(names, values, strict=True)])
        points.append({name: setting(config, name) for name in names})
    return points


def run_grid(
    recipe: RunConfig,
    points: Sequence[dict[str, Any]],
    *,
    out: Path,
    num_seeds: int,
    command: str,
    train: Train | None = None,
    say: Say,
) -> tuple[Study, Results]:
    """Make the runs that are missing; returns the study, for its page, and the results.

    Seeds are those of the recipe and the ones after it.
    """
    groups = []
    for number, point in enumerate(points, 1):
        outcomes = []
        for seed in range(num_seeds):
            config = changed(recipe, {**point, "training.seed": recipe.training.seed + seed})
            config = changed(config, {"out": str(out / "runs" / run_name(config, list(point)))})
            say(f"point {number} of {len(points)}, seed {config.training.seed}: {label(point)}")
            outcome = run_trial(config, train=train)
            say(f"  diverged: {outcome.diverged}" if outcome.diverged else f"  loss {outcome.loss:.4f}")
            outcomes.append(outcome)
        varied = _varied(points)
        x = float(point[varied]) if varied else None
        groups.append(Group(Variant(label(point), label(point), point, num_seeds, x), tuple(outcomes)))
    tokens = recipe.training.max_steps * recipe.training.batch_size * recipe.model.context_length
    common = facts(recipe, (recipe.data.path,), tokens=tokens, num_seeds=num_seeds, minutes=recipe.training.minutes)
    return grid_study(points), Results({**common, "command": command}, tuple(groups))


def grid_study(points: Sequence[Mapping[str, Any]]) -> Study:
    """The page of a sweep: what is asked, and what is said of the results."""
    names = " and ".join(points[0])
    return Study(
        name="sweep",
        title=f"A sweep over {names}",
        question=f"Which value of {names} gives the lowest validation loss?",
        method=f"Every combination of the values of {names} below; all other settings are those of the recipe.",
        variants=lambda lab, results: [],
        comment=comment,
        x_name=_varied(points),
        command="groundup sweep",
    )


def comment(results: Results) -> list[str]:
    """The best combination, and how the next ones stand to it."""
    best = best_of(results.groups)
    if best is None:
        return ["Every run diverged."]
    others = sorted((group for group in results.sound if group is not best), key=lambda group: group.loss)
    text = f"The lowest loss, {with_spread(best.loss, best.spread)} nats per token, is that of {best.label}."
    compared = [compare(group, best) for group in others[:MOST_COMPARED]]
    broken = [divergence(group) for group in results.groups if not group.sound]
    return list(filter(None, [" ".join([text, *compared]), " ".join(broken)]))


def label(point: dict[str, Any]) -> str:
    """A combination in a few words.

    >>> label({"optimizer.lr": 0.001, "model.norm": "none"})
    'lr 0.001, norm none'
    """
    return ", ".join(
        f"{name.rpartition('.')[2]} {value:g}" if isinstance(value, float) else f"{name.rpartition('.')[2]} {value}"
        for name, value in point.items()
    )


def _varied(points: Sequence[Mapping[str, Any]]) -> str:
    """The one setting that is varied, if it is a positive number in every combination: it makes an axis."""
    names = list(points[0])
    values = [point[names[0]] for point in points]
    is_axis = len(names) == 1 and all(
        isinstance(value, int | float) and not isinstance(value, bool) and value > 0 for value in values
    )
    return names[0] if is_axis and len(points) > 1 else ""
