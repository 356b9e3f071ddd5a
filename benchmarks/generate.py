"""Writing text: ours, readable and native, against Hugging Face and llama.cpp on the same weights; tokens per second.

    python benchmarks/generate.py            some 15 minutes; writes benchmarks/results/
    python benchmarks/generate.py --quick    a toy model: does it all work?

Greedy text after a prompt of one token, a full context of it, one text at a time and sixteen side by side.
Everyone in a process of its own, in turns; what they wrote is checked before times count. More: README.md beside
this file.
"""

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from bench.generation import Task, run_contest
from bench.generation_report import generation_table, plot_generation
from bench.generation_weights import make_model, write_weights
from bench.results import FOLDER, keep_results
from bench.training_sizes import BASE, QUICK

from groundup.environment import describe, has_fast_bf16, usable_cores


def main() -> None:
    """Run the contest, print its tables, and write what came of it."""
    options = _parser().parse_args()
    shape = (QUICK if options.quick else BASE).shape
    rounds = options.rounds or (2 if options.quick else 5)
    threads = options.threads or usable_cores()
    print(f"1 + {shape['context_length'] - 1} tokens, {threads} threads, {rounds} rounds")
    record: dict[str, Any] = {
        "benchmark": "generate",
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe(),
        "threads": threads,
        "shape": dict(shape),
        "rounds": rounds,
        "bf16_in_hardware": has_fast_bf16("cpu"),
        "batches": {},
    }
    torch.set_num_threads(threads)
    model = make_model(shape)
    with tempfile.TemporaryDirectory() as folder:
        weights = write_weights(model, Path(folder) / "weights.npz")
        task = Task(shape, str(weights), threads, shape["context_length"] - 1)
        batches = [make_prompts(shape["vocab_size"], size) for size in options.batch]
        for prompts, group in run_contest(model, task, batches, rounds, bf16=record["bf16_in_hardware"]):
            record["batches"][str(len(prompts))] = group
            print(f"\n{generation_table(len(prompts), group)}", flush=True)
    folder = options.out or (None if options.quick else FOLDER)
    print(f"\n{keep_results(record, plot_generation, folder)}")


def make_prompts(vocab_size: int, batch_size: int) -> list[list[int]]:
    """A random id for each text, always the same: no two texts are alike."""
    return [[id] for id in random.Random(0).sample(range(vocab_size), batch_size)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Writing text: groundup against Hugging Face and llama.cpp.")
    parser.add_argument("--rounds", type=int, default=None, help="measurements of each (default: 5)")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16], help="texts side by side (default: 1 16)")
    parser.add_argument("--threads", type=int, default=None, help="of everyone (default: the cores we may use)")
    parser.add_argument("--quick", action="store_true", help="a toy model, 2 rounds; keeps nothing without --out")
    parser.add_argument("--out", type=Path, default=None, help="folder of the results (default: benchmarks/results)")
    return parser


if __name__ == "__main__":
    main()
