"""sgd-rates: ten steps of SGD on a small quadratic at four learning rates; no model, no text, a second."""

import math
from typing import Any

from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Results
from groundup.experiments.study import Picture, Study

RATES = (1.0, 10.0, 100.0, 1000.0)
NUM_STEPS = 10
SIDE = 10  # of the square of weights


def variants(lab: Lab, results: Results) -> list[Variant]:
    """None: nothing is trained."""
    return []


def measure(lab: Lab, results: Results) -> dict[str, Any]:
    """The loss before and after each step, at each rate, from the same start."""
    return {"losses": {f"{rate:g}": losses(rate) for rate in RATES}}


def losses(rate: float, num_steps: int = NUM_STEPS) -> list[float]:
    """The mean of the squares of 10 x 10 weights, begun at 5 times a normal draw, under SGD at this rate."""
    import torch

    from groundup.optim.sgd import SGD

    generator = torch.Generator().manual_seed(0)
    weights = torch.nn.Parameter(5 * torch.randn(SIDE, SIDE, generator=generator))
    optimizer = SGD([weights], lr=rate)
    found = []
    for _ in range(num_steps):
        optimizer.zero_grad()
        loss = (weights**2).mean()
        found.append(loss.item())
        loss.backward()
        optimizer.step()
    return [*found, (weights.detach() ** 2).mean().item()]


def predicted(rate: float, num_steps: int = NUM_STEPS) -> list[float]:
    """The loss as a multiple of that at the start, by hand.

    The gradient of the mean of n squares is 2 w / n, so that step t takes w to (1 - 2 rate / (n sqrt(t + 1))) w,
    and the loss to the square of that factor.

    >>> predicted(50.0, 1)
    [1.0, 0.0]
    """
    found = [1.0]
    for step in range(num_steps):
        found.append(found[-1] * (1 - 2 * rate / (SIDE * SIDE * math.sqrt(step + 1))) ** 2)
    return found


def comment(results: Results) -> list[str]:
    measured = {float(rate): values for rate, values in results.measured["losses"].items()}
    lines = [_course(rate, values) for rate, values in measured.items()]
    return [
        " ".join(lines),
        f"All of it can be foretold. The gradient of the mean of {SIDE * SIDE} squares is w / {SIDE * SIDE // 2}, so "
        f"step t = 0, 1, ... multiplies every weight by 1 - lr / ({SIDE * SIDE // 2} sqrt(t + 1)) and the loss by the "
        f"square of that; the start does not matter. {_agreement(measured)}",
        "A factor between -1 and 1 shrinks the weights, and is best near 0; beyond, they grow, their sign turning with "
        f"each step. At the first step the edge is lr = {SIDE * SIDE}; as the rate falls with the root of t, so does "
        "the factor's distance from 1, and a run that begins by growing shrinks once t + 1 is above "
        f"(lr / {SIDE * SIDE}) squared.",
    ]


def tables(results: Results) -> list[str]:
    columns = results.measured["losses"]
    rows = ["| step | " + " | ".join(f"lr {rate}" for rate in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for step, values in enumerate(zip(*columns.values(), strict=True)):
        rows.append(f"| {step} | " + " | ".join(f"{value:.4g}" for value in values) + " |")
    return ["\n".join(rows)]


def draw(figure: Any, results: Results) -> None:
    from groundup.experiments.study_plots import draw_lines, new_axes

    axes = new_axes(figure, x_name="step", y_name="mean of the squares, log scale")
    axes.set_yscale("log")
    # An exact 0 has no place on a logarithmic axis; what rounding leaves of it stands far below all others.
    floor = 1e-12
    curves = [
        (f"lr {rate}", list(range(len(values))), [max(value, floor) for value in values])
        for rate, values in results.measured["losses"].items()
    ]
    draw_lines(axes, curves)


def _course(rate: float, values: list[float]) -> str:
    ratio = values[-1] / values[0]
    if ratio > 1:
        return f"At {rate:g} the loss diverges: it grows {ratio:.2g} times in {len(values) - 1} steps."
    return f"At {rate:g} it falls to {ratio:.2g} of its start."


def _agreement(measured: dict[float, list[float]]) -> str:
    """How well the hand-made prediction fits, over all values that are not rounding noise."""
    worst = 0.0
    for rate, values in measured.items():
        for value, foretold in zip(values, predicted(rate, len(values) - 1), strict=True):
            if foretold > 1e-9:
                worst = max(worst, abs(value / values[0] / foretold - 1))
    return f"The largest relative difference between this and what was measured is {worst:.1e}."


STUDY = Study(
    name="sgd-rates",
    title="SGD at four learning rates",
    question="On a quadratic, does SGD get faster, slower, or diverge as its learning rate goes from 1 to 1,000?",
    method="A 10 x 10 matrix, begun at 5 times a normal draw, is led towards zero: the loss is the mean of its "
    "squares. The optimizer is SGD with lr / sqrt(t + 1), ten steps, the same start for each rate.",
    variants=variants,
    comment=comment,
    measure=measure,
    tables=tables,
    num_texts=0,
    pictures=(Picture("loss", "Loss over steps. A loss that reached zero is drawn at 1e-12.", draw),),
)
