"""leaderboard: what the field's speed-runs found, each against the base in the same time, and all that helped at once.

What an option does and where it stands in the code: docs/leaderboard.md. Its paper or record: `OPTIONS`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from groundup.experiments.commentary import compare, count_of, difference, divergence, with_spread
from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Results, mean
from groundup.experiments.study import Picture, Study
from groundup.experiments.study_plots import COLOURS, new_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BASE = "base"
TOGETHER = "together"
AVERAGED = 0.1  # of the updates of a run, that the average of the weights reaches back over
SHOWN = 3  # options, the best ones, that the learning curves show beside the base and all together


@dataclass(frozen=True)
class Option:
    """Something that a speed-run found.

    Attributes:
        name, label: As of a `Variant`.
        settings: What it changes in the base.
        source: Paper, or public record.
    """

    name: str
    label: str
    settings: Mapping[str, Any]
    source: str


_SPEED_RUN = "the [NanoGPT speed-run](https://github.com/KellerJordan/modded-nanogpt)"
OPTIONS = (
    Option(
        "muon",
        "Muon",
        {"optimizer.name": "muon"},
        "[Jordan et al. 2024](https://kellerjordan.github.io/posts/muon), Liu et al. 2025 (arXiv:2502.16982)",
    ),
    Option(
        "qk-norm",
        "QK-norm",
        {"model.qk_norm": True},
        "Henry et al. 2020 (arXiv:2010.04245)",
    ),
    Option(
        "relu2",
        "the squared ReLU",
        {"model.ffn": "relu2", "model.d_ff": None},
        f"So et al. 2021 (arXiv:2109.08668), {_SPEED_RUN}",
    ),
    Option(
        "value-residual",
        "the value residual",
        {"model.value_residual": True},
        f"Zhou et al. 2024 (arXiv:2410.17897), {_SPEED_RUN}, record 9",
    ),
    Option(
        "embedding-shortcut",
        "the embedding shortcut",
        {"model.embedding_shortcut": True},
        f"{_SPEED_RUN}, record 9",
    ),
    Option(
        "zero-outputs",
        "the zero start of outputs",
        {"model.zero_outputs": True},
        f"Zhang et al. 2019 (arXiv:1901.09321), {_SPEED_RUN}",
    ),
    Option(
        "tied",
        "the tied head",
        {"model.tie_embeddings": True},
        "Press & Wolf 2016 (arXiv:1608.05859)",
    ),
    Option(
        "tied-scaled",
        "the tied head with a scaled embedding",
        {"model.tie_embeddings": True, "model.scale_embeddings": True},
        "Vaswani et al. 2017 (arXiv:1706.03762), section 3.4",
    ),
    Option(
        "logit-cap",
        "the cap of 15 on logits",
        {"model.logit_cap": 15.0},
        f"Gemma Team 2024 (arXiv:2408.00118), {_SPEED_RUN}, record 18",
    ),
    Option(
        "trapezoid",
        "the trapezoid",
        {"optimizer.schedule": "trapezoid"},
        "Zhai et al. 2021 (arXiv:2106.04560), Hägele et al. 2024 (arXiv:2405.18392)",
    ),
    Option(
        "batch-ramp",
        "the batch ramp",
        {"training.batch_ramp": 0.3},
        "Smith et al. 2017 (arXiv:1711.00489), McCandlish et al. 2018 (arXiv:1812.06162)",
    ),
    Option(
        "average",
        "the average of weights",
        {},  # over a share of the run: `settings_of`
        "Izmailov et al. 2018 (arXiv:1803.05407), Sanyal et al. 2023 (arXiv:2306.03241)",
    ),
)


def variants(lab: Lab, results: Results) -> list[Variant]:
    """The base and each option; when all have run, what clearly helped at once, if that is more than one thing."""
    found = [Variant(BASE, "the base", {}, lab.num_seeds)]
    found += [Variant(one.name, one.label, settings_of(one, lab), lab.num_seeds) for one in OPTIONS]
    helped = _without_rivals(ranked(results)[0])
    if len(helped) > 1:
        settings = {name: value for group in helped for name, value in group.variant.settings.items()}
        label = f"all that helped ({', '.join(group.name for group in helped)})"
        found.append(Variant(TOGETHER, label, settings, lab.num_seeds))
    return found


def settings_of(option: Option, lab: Lab) -> dict[str, Any]:
    """What an option changes in the base run of a lab."""
    if option.name == "average":
        return {"optimizer.average_over": max(2, round(AVERAGED * lab.steps(lab.base)))}
    return dict(option.settings)


def ranked(results: Results) -> tuple[list[Group], list[Group], list[Group]]:
    """The options that clearly end below the base, clearly above it, and neither; the lowest loss first.

    Those that diverged with every seed are none of them.
    """
    helped, hurt, unclear = [], [], []
    base = results.group(BASE)
    for group in _options(results):
        found = None if base is None else difference(group, base)
        if found is None or not found.is_clear:
            unclear.append(group)
        else:
            (helped if found.mean < 0 else hurt).append(group)
    return helped, hurt, [group for group in unclear if group.sound]


def comment(results: Results) -> list[str]:
    base = results.group(BASE)
    if base is None or not base.sound:
        return ["The base itself diverged, so there is nothing to compare with."]
    helped, hurt, unclear = ranked(results)
    paragraphs = [_opening(results, base, helped, hurt, unclear)]
    paragraphs += [_listed(word, groups, base) for word, groups in (("below", helped), ("above", hurt))]
    if unclear:
        listed = ", ".join(f"{group.label} ({_amount(group, base)})" for group in unclear)
        paragraphs.append(f"Not told apart from the base, with their differences in nats per token: {listed}.")
    paragraphs.append(" ".join(filter(None, map(divergence, _options(results)))))
    return list(filter(None, [*paragraphs, _all_at_once(results, base, helped)]))


def tables(results: Results) -> list[str]:
    """Each option: its difference to the base, pair by pair, how far it came in the time, and where it is from."""
    base = results.group(BASE)
    if base is None or not base.sound:
        return []
    sources = {option.name: option.source for option in OPTIONS}
    rows = ["| option | against the base, nats per token | seed by seed | updates | from |", "|---|---|---|---|---|"]
    for group in _options(results, also=TOGETHER):
        each = ", ".join(f"{value:+.3f}" for value in difference(group, base).values)
        rows.append(
            f"| {group.label} | {_amount(group, base)} | {each} | {100 * _speed(group, base):.0f} % | "
            f"{sources.get(group.name, 'the options above')} |"
        )
    return ["\n".join(rows)]


def shown(results: Results) -> list[Group]:
    """The base, the best options, and all that helped at once."""
    chosen = [results.group(BASE), *ranked(results)[0][:SHOWN], results.group(TOGETHER)]
    return [group for group in chosen if group is not None]


def draw_differences(figure: "Figure", results: Results) -> None:
    """A line for each option, the best on top: differences to the base of single seeds, their mean and spread."""
    base = results.group(BASE)
    axes = new_axes(figure, x_name="validation loss against the base, nats per token", y_name="")
    if base is None:
        return
    pairs = [(group, difference(group, base)) for group in _options(results, also=TOGETHER)]
    pairs = sorted(((group, found) for group, found in pairs if found.values), key=lambda pair: -pair[1].mean)
    for y, (_, found) in enumerate(pairs):
        colour = COLOURS[2] if found.mean < 0 else COLOURS[1]
        axes.plot(found.values, [y] * len(found.values), ".", color="#999999", markersize=5, zorder=2)
        deviation = found.spread if len(found.values) > 1 else 0.0
        marker = "o" if found.is_clear else "|"  # a bar where the sign is not sure
        axes.errorbar(found.mean, y, xerr=deviation, fmt=marker, color=colour, capsize=3, markersize=7, zorder=3)
    axes.axvline(0, color="#555555", linewidth=1)
    names = ["all that helped" if group.name == TOGETHER else group.label for group, _ in pairs]
    axes.set_yticks(range(len(pairs)), names, fontsize=8)


def _opening(
    results: Results, base: Group, helped: Sequence[Group], hurt: Sequence[Group], unclear: Sequence[Group]
) -> str:
    steps = round(mean([outcome.steps for outcome in base.sound]))
    return (
        f"In its time the base makes {steps:,} updates and ends at {with_spread(base.loss, base.spread)} nats per "
        f"token ({count_of(len(base.sound), 'seed')}). Of {count_of(len(_options(results)), 'option')} {len(helped)} "
        f"clearly end below it, {len(hurt)} clearly above, and {len(unclear)} cannot be told apart from it. All ran at "
        "the learning rate of the base; none was tuned."
    )


def _all_at_once(results: Results, base: Group, helped: Sequence[Group]) -> str:
    """What all options that helped are worth together, and whether that is more than the best one alone."""
    together = results.group(TOGETHER)
    if together is None:
        return ""
    if not together.sound or not helped:
        return divergence(together)
    parts = [difference(group, base).mean for group in _without_rivals(helped)]
    return (
        f"{compare(together, base)} The differences of its parts, each alone, add up to {sum(parts):.3f}. "
        f"{compare(together, helped[0])}"
    )


def _listed(word: str, groups: Sequence[Group], base: Group) -> str:
    """Options with how far they end from the base, and how many updates they made of it."""
    items = "; ".join(
        f"{group.label} by {with_spread(abs(difference(group, base).mean), difference(group, base).spread)} "
        f"({100 * _speed(group, base):.0f} % of the updates)"
        for group in groups
    )
    how = (
        "in nats per token, mean and standard deviation of the differences, with the part of its updates that they made"
    )
    return f"Clearly {word} the base, {how}: {items}." if items else ""


def _speed(group: Group, base: Group) -> float:
    """Updates of a run, as a part of those of the base."""
    ours, theirs = (mean([outcome.steps for outcome in one.sound or one.outcomes]) for one in (group, base))
    return ours / theirs


def _amount(group: Group, base: Group) -> str:
    found = difference(group, base)
    return with_spread(found.mean, found.spread) if found.values else "diverged"


def _options(results: Results, also: str = "") -> list[Group]:
    """Those that have run, the lowest loss first and what diverged last."""
    names = {option.name for option in OPTIONS} | {also}
    found = [group for group in results.groups if group.name in names]
    return sorted(found, key=lambda group: group.loss if group.sound else math.inf)


def _without_rivals(helped: Sequence[Group]) -> list[Group]:
    """Of options that change the same setting the first."""
    found: list[Group] = []
    taken: set[str] = set()
    for group in helped:
        if taken.isdisjoint(group.variant.settings):
            found.append(group)
            taken |= set(group.variant.settings)
    return found


STUDY = Study(
    name="leaderboard",
    title="What the speed-runs found, in equal time",
    question="Of what the field's speed-runs changed in model, optimizer and schedule: what lowers the loss of this "
    "model on this machine in a fixed time, and by how much?",
    method="Every run gets the same time, training and validation together, on the same machine; a slower step makes "
    "fewer updates. Each option is one change to the base, at the learning rate of the base. When all have run, those "
    "that clearly ended below the base are tried at once, under the name *together*; it is chosen by the same seeds "
    "that it is then judged by. Runs with the same seed have the same order of the text, and begin with the same "
    "weights where the option leaves them.",
    variants=variants,
    comment=comment,
    shown=shown,
    tables=tables,
    pictures=(
        Picture(
            "differences",
            "Validation loss in equal time, less that of the base with the same seed. Dots are seeds, bars one "
            "standard deviation around the mean; a round mark where all seeds agree on the sign and the mean is "
            "larger than that.",
            draw_differences,
        ),
    ),
    is_timed=True,
)
