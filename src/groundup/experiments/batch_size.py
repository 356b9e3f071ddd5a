"""batch-size: the same tokens in batches from one sequence to what fits in memory, each size at its own rate."""

from groundup.experiments.commentary import best_of, compare, count_of, with_spread
from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Results
from groundup.experiments.quantities import count, size
from groundup.experiments.study import Study
from groundup.experiments.tuning import Tuned, rates_around
from groundup.recipe import changed
from groundup.training.memory import peak_memory

MIN_STEPS = 10  # a run of fewer updates would be all warm-up


def variants(lab: Lab, results: Results) -> list[Variant]:
    """Three rates or more for each size, around the base's rate times the root of the ratio of the sizes.

    The root is where Adam's rate is expected (Malladi et al. 2022, On the SDEs and Scaling Rules for Adaptive
    Gradient Algorithms, arXiv:2205.10287); that it is tuned again makes this a starting point and no assumption.
    """
    return [variant for tuned in _sizes(lab) for variant in tuned.variants(lab, results)]


def measure(lab: Lab, results: Results) -> dict[str, int]:
    """The memory limit: the largest power of two whose estimate stays within what the lab may use."""
    largest = 1
    while _needs(lab, 2 * largest) <= lab.memory_bytes:
        largest *= 2
    return {"memory_bytes": lab.memory_bytes, "largest_batch": largest, "largest_bytes": _needs(lab, largest)}


def comment(results: Results) -> list[str]:
    best = _best_of_each(results)
    if not best:
        return ["Every run diverged, so nothing can be said about the sizes."]
    speed = [_speed(best)] if len(best) > 1 else []
    return [_losses(best), _rates(best), *speed, _limit(results, best)]


def _losses(groups: list[Group]) -> str:
    overall = best_of(groups)
    assert overall is not None
    text = (
        f"With the same tokens, each size at its own best rate, the lowest loss is that of {overall.label}: "
        f"{with_spread(overall.loss, overall.spread)} nats per token."
    )
    return " ".join([text, *(compare(group, overall) for group in groups if group is not overall)])


def _rates(groups: list[Group]) -> str:
    listed = ", ".join(f"{_size(group)}: {group.variant.settings['optimizer.lr']:g}" for group in groups)
    return (
        f"The best rates by size are {listed}; they are known to a factor of three, which is how far apart the rates "
        "lie that were tried, with one seed."
    )


def _speed(groups: list[Group]) -> str:
    fastest = max(groups, key=_tokens_per_s)
    slowest = min(groups, key=_tokens_per_s)
    return (
        f"The tokens cost least time in batches of {_size(fastest)}, {count(_tokens_per_s(fastest))} tokens a second, "
        f"and most in batches of {_size(slowest)}, {count(_tokens_per_s(slowest))}. A batch of {_size(groups[0])} "
        f"makes {count_of(groups[0].outcomes[0].steps, 'update')} of these tokens, one of {_size(groups[-1])} "
        f"{count_of(groups[-1].outcomes[0].steps, 'update')}."
    )


def _limit(results: Results, groups: list[Group]) -> str:
    limit = results.measured
    needed, free = size(limit["largest_bytes"]), size(limit["memory_bytes"])
    text = (
        "By the account of what training holds (`groundup account`) the memory limit was a batch of "
        f"{limit['largest_batch']:,} sequences: {needed} of the {free} that a run could have."
    )
    if _size(groups[-1]) * 2 > limit["largest_batch"]:
        return text + " The sweep goes up to it."
    updates = count_of(groups[-1].outcomes[0].steps, "update")
    return text + f" The sweep ends below it, at {_size(groups[-1]):,}, of which the tokens make {updates}."


def _sizes(lab: Lab) -> list[Tuned]:
    tuned = []
    for batch_size in lab.batch_sizes:
        config = changed(lab.base, {"training.batch_size": batch_size, "training.micro_batch_size": None})
        fits = _needs(lab, batch_size) <= lab.memory_bytes
        if batch_size == 1 or (fits and lab.steps(config) >= MIN_STEPS):
            rate = lab.base.optimizer.lr * (batch_size / lab.base.training.batch_size) ** 0.5
            settings = {"training.batch_size": batch_size, "training.micro_batch_size": None}
            label = f"batch {batch_size}"
            tuned.append(Tuned(label, label, settings, rates_around(rate), x=batch_size))
    return tuned


def _best_of_each(results: Results) -> list[Group]:
    """For each size the rate that was repeated, or the best where none was."""
    found = []
    for batch_size in dict.fromkeys(_size(group) for group in results.groups):
        label = f"batch {batch_size}"
        if best := Tuned(label, label, {}, ()).best(results):
            found.append(best)
    return found


def _size(group: Group) -> int:
    return int(group.variant.settings["training.batch_size"])


def _tokens_per_s(group: Group) -> float:
    return max(outcome.tokens_per_s for outcome in group.outcomes)


def _needs(lab: Lab, batch_size: int) -> int:
    """Bytes of a run whose batches have so many sequences."""
    settings = {"model.vocab_size": lab.vocab_size, "training.batch_size": batch_size}
    return peak_memory(changed(lab.base, settings)).total_bytes


STUDY = Study(
    name="batch-size",
    title="The batch size, from one sequence to the memory limit",
    question="How do loss and speed depend on the number of sequences in a batch, if every run sees the same tokens?",
    method="Batches of one sequence up to the memory limit, or as far as the tokens still make ten updates. A larger "
    "batch makes fewer updates, so each size has its learning rate tuned again: three rates with one seed, more where "
    "the best one is at an edge, and the best with all seeds.",
    variants=variants,
    comment=comment,
    measure=measure,
    x_name="batch size, sequences",
    curve_x="tokens",
    shown=_best_of_each,
)
