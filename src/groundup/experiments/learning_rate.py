"""learning-rate: the loss against the learning rate, up to where training diverges."""

from groundup.experiments.commentary import best_of, compare, count_of, difference, divergence, with_spread
from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Results
from groundup.experiments.study import Study


def variants(lab: Lab, results: Results) -> list[Variant]:
    """Every rate of the preset, with every seed."""
    return [
        Variant(f"lr {rate:g}", f"learning rate {rate:g}", {"optimizer.lr": rate}, lab.num_seeds, x=rate)
        for rate in lab.rates
    ]


def comment(results: Results) -> list[str]:
    best = best_of(results.groups)
    if best is None:
        return ["Every run diverged: the sweep lies beyond the edge of stability and has to begin lower."]
    return [_optimum(results, best), _low_side(results, best), *_edge(results, best)]


def _optimum(results: Results, best: Group) -> str:
    loss = with_spread(best.loss, best.spread)
    text = f"The lowest loss, {loss} nats per token ({count_of(len(best.sound), 'seed')}), is reached at {best.label}."
    at = results.groups.index(best)
    neighbours = [
        group for group in (*results.groups[max(0, at - 1) : at], *results.groups[at + 1 : at + 2]) if group.sound
    ]
    text = " ".join([text, *(compare(group, best) for group in neighbours)])
    if at in (0, len(results.groups) - 1):
        text += " It stands at an end of the sweep, so the optimum may lie beyond it."
    return text


def _low_side(results: Results, best: Group) -> str:
    lowest = results.groups[0]
    if lowest is best or not lowest.sound:
        return f"No rate below {best.label} was tried." if lowest is best else divergence(lowest)
    factor = _rate(best) / _rate(lowest)
    return (
        f"Too low a rate wastes the run rather than breaking it: at {_rate(lowest):g}, {factor:,.0f} times below the "
        f"best, the same tokens lead to {with_spread(lowest.loss, lowest.spread)}."
    )


def _edge(results: Results, best: Group) -> list[str]:
    """Where training begins to diverge, and how the best rate stands to that."""
    broken = [group for group in results.groups if group.num_diverged]
    if not broken:
        return ["No run diverged, so the sweep does not show where the edge of stability is."]
    edge = broken[0]
    stable = [group for group in results.groups if not group.num_diverged and _rate(group) < _rate(edge)]
    paragraphs = [" ".join(divergence(group) for group in broken)]
    if not stable:
        return [*paragraphs, "The edge of stability lies below every rate that was tried."]
    last = stable[-1]
    text = (
        f"So the edge of stability, as far as these rates can place it, lies between {_rate(last):g} and "
        f"{_rate(edge):g}. The best rate is {_factor(_rate(edge) / _rate(best))} the first one that diverged"
    )
    if last is best:
        text += ": it is the last stable rate of the sweep, as the saying goes that the best rate is at the edge."
    else:
        found = difference(last, best)
        price = with_spread(found.mean, found.spread)
        text += (
            f" and {_factor(_rate(last) / _rate(best))} the last that stayed stable, which costs {price} nats per "
            "token against the best. A rate can be stable and still too high: here the best one keeps a distance "
            "from the edge."
            if found.is_clear and found.mean > 0
            else f"; the last stable one, {_rate(last):g}, cannot be told from it by these runs."
        )
    return [*paragraphs, text]


def _rate(group: Group) -> float:
    return float(group.variant.settings["optimizer.lr"])


def _factor(value: float) -> str:
    """`10 times below`, for a factor of at least 1."""
    return f"{value:.2g} times below"


STUDY = Study(
    name="learning-rate",
    title="The learning rate, and the edge of stability",
    question="Which peak learning rate gives the lowest validation loss after a fixed number of tokens, from which "
    "rate on does training diverge, and how does the best rate stand to that edge?",
    method="The peak of the cosine schedule is varied; warm-up, its end at a tenth of the peak, batches and number of "
    "tokens are the same for all. The rates go up by a factor of about three, and at the end far beyond what can work, "
    "so that the sweep holds a run that diverges.",
    variants=variants,
    comment=comment,
    x_name="learning rate",
)
