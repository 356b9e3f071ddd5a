"""The training step of the base configuration against others' of the same shape: tokens per second, and their ratios.

    python benchmarks/train.py                     an hour or so; writes benchmarks/results/
    python benchmarks/train.py --sweep context     the cost against context, batch or width; the same and more
    python benchmarks/train.py --quick             a few minutes with a toy model: does it all work?

Ours, readable and fast, Hugging Face's Llama, litgpt, and the best that torch alone allows: eager and compiled, each in
a process of its own, on the same weights and batch. Losses and gradients are compared before times count, and everyone
takes turns. More: README.md beside this file.
"""

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.contest import ALLOCATORS, SIDES, Limits, Task, contestants, run_contest
from bench.results import FOLDER, keep_results
from bench.training_plot import plot_sweep, plot_training
from bench.training_sizes import BASE, QUICK, SWEEPS, Size
from bench.training_table import sweep_table, training_table

from groundup.environment import available_memory_bytes, describe, has_fast_bf16, usable_cores

MAX_STEPS = 10  # of one measurement, on a machine so fast that the time does not end it
PRECISIONS = ("float32", "bf16")
MEMORY_PART = 0.85  # of what is free now: the most that contestants may take


def main() -> None:
    """Run the contests that were asked for, print their tables, and write what came of them."""
    options = _parser().parse_args()
    has_bf16 = has_fast_bf16("cpu")
    precisions = options.precision or (PRECISIONS if has_bf16 else ("float32",))
    folder = options.out or (None if options.quick else FOLDER)
    if options.sweep:
        precision = precisions[-1]
        for sweep in options.sweep:
            print(f"\n{keep_results(run_sweep(sweep, precision, options), plot_sweep, folder)}", flush=True)
        return
    size = QUICK if options.quick else BASE
    record = _record("train", options) | _size(size) | {"bf16_in_hardware": has_bf16, "precisions": {}}
    for precision in precisions:
        everyone = contestants(precision, sides=options.only)
        group = run_contest(precision, _task(size, options), _limits(options, ways=options.ways), everyone)
        record["precisions"][precision] = group
        print(f"\n{training_table(precision, group)}", flush=True)
    if not has_bf16 and "bf16" in precisions:
        print("This processor has no bf16 instructions and imitates them: few steps, and no guide to one that has.")
    print(f"\n{keep_results(record, plot_training, folder)}")


def run_sweep(sweep: str, precision: str, options: argparse.Namespace) -> dict[str, Any]:
    """A contest at each size. All ways compete at the first; at the others only the best one of each side there."""
    sizes = SWEEPS[sweep].quick if options.quick else SWEEPS[sweep].sizes
    record = _record(f"train-{sweep}", options)
    record |= {"sweep": sweep, "meaning": SWEEPS[sweep].meaning, "precision": precision, "points": []}
    ways: Sequence[str] | None = None
    for value, size in sizes.items():
        print(f"\n{sweep} {value:,}: batch {size.batch_size} x {size.shape['context_length']}", flush=True)
        everyone = contestants(precision, ways, options.only)
        group = run_contest(precision, _task(size, options), _limits(options, ways=1), everyone)
        record["points"].append({"value": value, **_size(size), "group": group})
        print(training_table(precision, group), flush=True)
        ways = ways or [name for name in group["best"].values() if name]
    print(f"\n{sweep_table(record)}")
    return record


def make_ids(vocab_size: int, batch_size: int, context_length: int) -> list[list[int]]:
    """The one batch of all contestants: rows of context_length + 1 random ids, always the same."""
    generator = random.Random(0)
    return [[generator.randrange(vocab_size) for _ in range(context_length + 1)] for _ in range(batch_size)]


def _task(size: Size, options: argparse.Namespace) -> Task:
    ids = make_ids(size.shape["vocab_size"], size.batch_size, size.shape["context_length"])
    memory_bytes = int(MEMORY_PART * available_memory_bytes())
    return Task(size.shape, ids, usable_cores(), memory_bytes, options.allocator)


def _limits(options: argparse.Namespace, ways: int) -> Limits:
    rounds = options.rounds or (2 if options.quick else 5)
    return Limits(rounds, min(options.seconds, 1.0) if options.quick else options.seconds, MAX_STEPS, ways)


def _record(benchmark: str, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "benchmark": benchmark,
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe(),
        "threads": usable_cores(),
        "allocator": {"setting": options.allocator, **ALLOCATORS[options.allocator]},
        "limits": vars(_limits(options, ways=1 if options.sweep else options.ways)),
    }


def _size(size: Size) -> dict[str, Any]:
    return {"shape": dict(size.shape), "batch_size": size.batch_size}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Training step: groundup against others.")
    parser.add_argument("--rounds", type=int, default=None, help="measurements of each (default: 5)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=8.0,
        help="time of one measurement; a slow step that began is finished (default: 8)",
    )
    parser.add_argument(
        "--precision",
        nargs="+",
        choices=PRECISIONS,
        default=None,
        help="default: float32, and bf16 where the processor has it; a sweep runs the last one",
    )
    parser.add_argument("--sweep", nargs="+", choices=SWEEPS, default=(), help="the cost against one or more of these")
    parser.add_argument("--only", nargs="+", choices=SIDES, default=None, help="these sides alone (default: all)")
    parser.add_argument("--ways", type=int, default=2, help="ways of each side that are in the rounds (default: 2)")
    parser.add_argument(
        "--allocator", choices=ALLOCATORS, default="tuned", help="malloc's settings, the same for all (default: tuned)"
    )
    parser.add_argument("--quick", action="store_true", help="a toy model, 2 rounds; keeps nothing without --out")
    parser.add_argument("--out", type=Path, default=None, help="folder of the results (default: benchmarks/results)")
    return parser


if __name__ == "__main__":
    main()
