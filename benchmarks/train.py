"""Our training step against Hugging Face's Llama of the same shape: tokens per second, and their ratio.

    python benchmarks/train.py            some 20 minutes, more where bf16 is imitated; writes benchmarks/results/
    python benchmarks/train.py --quick    a few minutes with a toy model: does it all work?

Both sides, eager and compiled, in float32 and bf16, each in a process of its own, take turns on the same
batch. Before times count, losses and gradients are checked. More: README.md beside this file.
"""

import argparse
import random
import time
from pathlib import Path
from typing import Any

from bench.contest import Limits, Task, run_contest
from bench.plot import plot_training
from bench.results import FOLDER, keep_results
from bench.table import training_table

from groundup.environment import describe, has_fast_bf16, usable_cores

# The base configuration of the specification, 22.7 M parameters.
SHAPE = {
    "vocab_size": 10_000,
    "context_length": 256,
    "d_model": 512,
    "d_ff": 1344,
    "num_layers": 4,
    "num_heads": 16,
}
QUICK_SHAPE = {
    "vocab_size": 500,
    "context_length": 32,
    "d_model": 64,
    "d_ff": 192,
    "num_layers": 2,
    "num_heads": 4,
}
MAX_STEPS = 10  # of one measurement, on a machine so fast that the time does not end it
PRECISIONS = ("float32", "bf16")


def main() -> None:
    """Run the contest of each precision, print its table, and write what came of it."""
    options = _parser().parse_args()
    shape, batch_size = (QUICK_SHAPE, 2) if options.quick else (SHAPE, 8)
    limits = Limits(options.rounds or (2 if options.quick else 5), options.seconds, MAX_STEPS)
    task = Task(shape, make_ids(shape["vocab_size"], batch_size, shape["context_length"]), usable_cores())
    print(f"batch {batch_size} x {shape['context_length']}, {task.threads} threads, {limits.rounds} rounds")
    record: dict[str, Any] = {
        "benchmark": "train",
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe(),
        "threads": task.threads,
        "shape": shape,
        "batch_size": batch_size,
        "limits": vars(limits),
        "bf16_in_hardware": has_fast_bf16("cpu"),
        "precisions": {},
    }
    for precision in options.precision:
        group = run_contest(precision, task, limits)
        record["precisions"][precision] = group
        print(f"\n{training_table(precision, group)}", flush=True)
        if precision == "bf16" and not record["bf16_in_hardware"]:
            print("This processor has no bf16 instructions and imitates them: few steps, and no guide to one that has.")
    folder = options.out or (None if options.quick else FOLDER)
    print(f"\n{keep_results(record, plot_training, folder)}")


def make_ids(vocab_size: int, batch_size: int, context_length: int) -> list[list[int]]:
    """The one batch of all contestants: rows of context_length + 1 random ids, always the same."""
    generator = random.Random(0)
    return [[generator.randrange(vocab_size) for _ in range(context_length + 1)] for _ in range(batch_size)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Training step: groundup against Hugging Face's Llama.")
    parser.add_argument("--rounds", type=int, default=None, help="measurements of each (default: 5)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=8.0,
        help="time of one measurement; a slow step that began is finished (default: 8)",
    )
    parser.add_argument("--precision", nargs="+", choices=PRECISIONS, default=PRECISIONS)
    parser.add_argument("--quick", action="store_true", help="a toy model, 2 rounds; keeps nothing without --out")
    parser.add_argument("--out", type=Path, default=None, help="folder of the results (default: benchmarks/results)")
    return parser


if __name__ == "__main__":
    main()
