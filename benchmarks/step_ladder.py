"""From a training step as it is often written to ours, one change at a time: what each is worth.

    python benchmarks/step_ladder.py             some 4 minutes; writes results/
    python benchmarks/step_ladder.py --quick     a toy model: does it all work?

The base model of the specification in float32. Every rung begins with the same weights, takes the same batch, and
must come to the losses of the rungs before; then all take turns. Read docs/lessons/training-step.md.
"""

import argparse
import logging
import statistics
import time
from dataclasses import asdict
from typing import Any

import torch
from bench.notes import say
from bench.plot import plot_steps
from bench.results import FOLDER, keep_results
from bench.rounds import interleave, ratio, summarise
from bench.step_rungs import rungs, step_on
from bench.step_ways import PHASES, PRODUCTS, SHAPE, products_of
from bench.table import columns, significant
from bench.training_sizes import QUICK

from groundup.config import ModelConfig
from groundup.environment import describe
from groundup.training.products import fast_products

CHECKED = 2  # updates after which losses are compared; they warm up as well
TOLERANCE = 1e-3  # nats: float32 sums in another order, an update later


def main() -> None:
    options = _parser().parse_args()
    logging.getLogger("groundup").setLevel(logging.ERROR)
    shape, rows, rounds = SHAPE, options.batch_size, options.rounds
    if options.quick:
        shape, rows, rounds = ModelConfig(**QUICK.shape), QUICK.batch_size, 1
    record: dict[str, Any] = {
        "benchmark": "step",
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe(),
        "threads": torch.get_num_threads(),
        "shape": asdict(shape),
        "batch_size": rows,
        **climb(shape, rows, rounds),
    }
    print(step_table(record))
    print(f"\n{keep_results(record, plot_steps, None if options.quick else FOLDER)}")


def climb(shape: ModelConfig, rows: int, rounds: int) -> dict[str, Any]:
    """Seconds of an update on each rung, by phase, and of the products alone. Raises ValueError where losses differ."""
    torch.manual_seed(0)
    ids = torch.randint(shape.vocab_size, (rows, shape.context_length + 1))
    found = rungs()
    steps = {name: step_on(rung, shape, ids) for name, rung in found.items()}

    def seconds(name: str) -> dict[str, float]:
        if name == PRODUCTS:
            start = time.perf_counter()
            with fast_products("cpu", wanted=True):
                products()
            return {PRODUCTS: time.perf_counter() - start}
        with fast_products("cpu", wanted=found[name].fast_products):
            return steps[name].seconds()

    products = products_of(rows * shape.context_length, torch.float32, shape)
    names = [*found, PRODUCTS]
    for name in names:
        for _ in range(CHECKED):
            seconds(name)
    first = list(next(iter(steps.values())).losses)
    for name, step in steps.items():
        if any(abs(one - other) > TOLERANCE for one, other in zip(step.losses, first, strict=True)):
            raise ValueError(f"{name} comes to losses {step.losses}, the first rung to {first}: its time means nothing")

    measured = interleave(names, seconds, rounds, lambda number: say(f"round {number + 1}"))
    totals = {name: [sum(phases.values()) for phases in measured[name]] for name in names}
    before = dict(zip(found, [None, *found], strict=False))
    return {
        "losses": first,
        "rungs": {
            name: {
                "adds": rung.adds,
                "seconds": asdict(summarise(totals[name])) | {"rounds": totals[name]},
                "phases": {phase: statistics.median(one[phase] for one in measured[name]) for phase in PHASES},
                "gain": asdict(ratio(totals[base], totals[name])) if (base := before[name]) else None,
            }
            for name, rung in found.items()
        },
        "products": asdict(summarise(totals[PRODUCTS])),
    }


def step_table(record: dict[str, Any]) -> str:
    """A row for each rung: seconds with their range and phases, and how many times faster than the rung before."""
    rows = [["step", "seconds", "low", "high", *PHASES, "gain"]]
    for name, one in record["rungs"].items():
        times = [significant(one["seconds"][key]) for key in ("median", "low", "high")]
        phases = [significant(one["phases"][phase]) for phase in PHASES]
        rows.append([name, *times, *phases, significant(one["gain"]["median"]) if one["gain"] else ""])
    rows.append(
        [PRODUCTS, *(significant(record["products"][key]) for key in ("median", "low", "high")), "", "", "", ""]
    )
    return "\n".join(columns(rows))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="A training step, one change at a time.")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each (default: 5)")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--quick", action="store_true", help="a toy model; shows that everything works")
    return parser


if __name__ == "__main__":
    main()
