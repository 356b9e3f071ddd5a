"""Is each choice of `groundup run` better than its neighbours? The planned run and others, each in the same time.

    python benchmarks/planner.py TEXT --minutes 1      minutes for each of some 16 runs; writes benchmarks/results/
    python benchmarks/planner.py TEXT --only width batch
    python benchmarks/planner.py TEXT --quick          seconds: does it all work?

A neighbour is the plan with one choice halved, doubled, or left out. It gets as many updates as the cost model says fit
into the same time, so that what else the machine does decides nothing. Losses are in bits per byte, on the same
held-out text for all, so that vocabularies can be compared. docs/planner.md tells what came of it.
"""

import argparse
import dataclasses
import logging
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.notes import say
from bench.plot import plot_neighbours
from bench.results import FOLDER, keep_results
from bench.table import columns

from groundup.config import DataConfig, ModelConfig, OptimizerConfig, RunConfig, TrainingConfig
from groundup.corpus import END_OF_TEXT
from groundup.data.excerpt import survey, take_text
from groundup.data.shards import prepare
from groundup.environment import describe
from groundup.tokenizer.bpe import Tokenizer, train_bpe
from groundup.training.loop import train
from groundup.training.measure import measure_machine
from groundup.training.metrics import read_metrics
from groundup.training.planner import Machine, Plan, learning_rate, plan_run

CHOICES = ("width", "depth", "batch", "rate", "vocabulary", "context", "dropout", "decay")


class Neighbour(NamedTuple):
    """A run: the choice in which it differs, by how much, and the plan for it."""

    choice: str
    value: str
    plan: Plan


def main() -> None:
    """Plan, run the plan and its neighbours, print the table, and write what came of it."""
    options = _parser().parse_args()
    logging.disable(logging.WARNING)
    seconds = 60 * (0.1 if options.quick else options.minutes)
    corpus = survey(options.text)
    machine = measure_machine(seconds=2.0 if options.quick else 10.0)
    plan = plan_run(corpus, machine, seconds=seconds)
    runs = [run for run in neighbours(plan, machine, corpus.bytes_per_token) if run.choice in ("plan", *options.only)]
    record: dict[str, Any] = {
        "benchmark": "planner",
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe(),
        "corpus": [Path(text).name for text in options.text],
        "seconds": seconds,
        "packed_bits_per_byte": corpus.packed_bits_per_byte,
        "predicted_bits_per_byte": plan.bits_per_byte,
        "runs": [],
    }
    with tempfile.TemporaryDirectory(prefix="groundup-planner-") as name:
        folder = Path(name)
        sizes = {"valid_fraction": plan.valid_fraction, "every": plan.every}
        take_text(options.text, folder / "train.jsonl", folder / "valid.jsonl", **sizes)
        for number, run in enumerate(runs, 1):
            say(f"{number} of {len(runs)}: {run.choice} {run.value}, {run.plan.steps:,} updates")
            record["runs"].append(measure(run, folder, options.seed))
    print("\n".join(columns(_table(record["runs"]))))
    print(keep_results(record, plot_neighbours, options.out or (None if options.quick else FOLDER)))


def neighbours(plan: Plan, machine: Machine, vocabularies: tuple[tuple[int, float], ...]) -> Iterator[Neighbour]:
    """The plan, then each choice changed alone, with the updates that the same time pays for."""
    model = plan.model
    budget_s = plan.steps * machine.cost.update_s(model, plan.batch_size)

    def changed(choice: str, value: Any, **fields: Any) -> Neighbour:
        new = dataclasses.replace(plan, **fields)
        steps = max(10, round(budget_s / machine.cost.update_s(new.model, new.batch_size)))
        return Neighbour(choice, str(value), dataclasses.replace(new, steps=steps))

    def shape(choice: str, value: Any, batch_size: int = plan.batch_size, **fields: Any) -> Neighbour:
        return changed(choice, value, model=dataclasses.replace(model, **fields), batch_size=batch_size)

    yield Neighbour("plan", "as planned", plan)
    for width in (model.d_model // 2 // 32 * 32, model.d_model * 2):
        if width:
            rate = learning_rate(width, plan.batch_size * model.context_length)
            wide = dataclasses.replace(model, d_model=width, num_heads=width // 32)
            yield changed("width", width, model=wide, lr=rate)
    for layers in {max(1, model.num_layers // 2), model.num_layers * 2}:
        yield shape("depth", layers, num_layers=layers)
    for batch_size in {max(1, plan.batch_size // 2), plan.batch_size * 2}:
        if batch_size != plan.batch_size:
            rate = learning_rate(model.d_model, batch_size * model.context_length)
            yield changed("batch", batch_size, batch_size=batch_size, lr=rate)
    for factor in (0.5, 2.0):
        yield changed("rate", f"{plan.lr * factor:.2g}", lr=plan.lr * factor)
    sizes = [size for size, _ in vocabularies]
    at = sizes.index(model.vocab_size)
    for vocab_size in sizes[max(0, at - 1) : at + 2]:
        if vocab_size != model.vocab_size:
            yield shape("vocabulary", vocab_size, vocab_size=vocab_size)
    for context in (model.context_length // 2, model.context_length * 2):
        rows = max(1, plan.batch_size * model.context_length // context)
        yield shape("context", context, batch_size=rows, context_length=context)
    for dropout in {0.0, 0.1, 0.2} - {model.dropout}:
        yield shape("dropout", dropout, dropout=dropout)
    for decay in (0.0, 0.5):
        yield changed("decay", decay, weight_decay=decay)


def measure(run: Neighbour, folder: Path, seed: int) -> dict[str, Any]:
    """Train it; the losses on the held-out text, at the end and at best."""
    plan = run.plan
    data = folder / f"data-{plan.model.vocab_size}"
    if not data.exists():
        vocab, merges = train_bpe(folder / "train.jsonl", plan.model.vocab_size, [END_OF_TEXT])
        tokenizer = Tokenizer(vocab, merges, [END_OF_TEXT])
        prepare(folder / "train.jsonl", tokenizer, data, valid_paths=folder / "valid.jsonl")
    out = folder / f"{run.choice}-{run.value}"
    started = time.monotonic()
    train(_config(plan, plan.model, data, out, seed))
    evals = [record for record in read_metrics(out / "metrics.jsonl") if record["kind"] == "eval"]
    return {
        "choice": run.choice,
        "value": run.value,
        "bits_per_byte": evals[-1]["bits_per_byte"],
        "best_bits_per_byte": min(record["bits_per_byte"] for record in evals),
        "steps": plan.steps,
        "tokens": plan.tokens,
        "lr": plan.lr,
        "batch_size": plan.batch_size,
        "model": dataclasses.asdict(plan.model),
        "elapsed_s": round(time.monotonic() - started, 1),
    }


def _config(plan: Plan, model: ModelConfig, data: Path, out: Path, seed: int) -> RunConfig:
    return RunConfig(
        out=str(out),
        model=dataclasses.replace(model, vocab_size=0),
        data=DataConfig(path=str(data)),
        optimizer=OptimizerConfig(
            lr=plan.lr, min_lr=plan.min_lr, warmup_steps=plan.warmup_steps, weight_decay=plan.weight_decay
        ),
        training=TrainingConfig(
            max_steps=plan.steps,
            batch_size=plan.batch_size,
            seed=seed,
            log_every=max(1, plan.steps // 50),
            eval_every=max(1, plan.steps // plan.passes),
            save_every=0,
            keep_last=1,
        ),
    )


def _table(runs: list[dict[str, Any]]) -> list[list[str]]:
    base = runs[0]["bits_per_byte"]
    rows = [["choice", "value", "bits per byte", "than the plan", "updates", "M tokens"]]
    for run in runs:
        loss = run["bits_per_byte"]
        change = f"{100 * (loss / base - 1):+.1f} %"
        rows.append(
            [run["choice"], run["value"], f"{loss:.3f}", change, f"{run['steps']:,}", f"{run['tokens'] / 1e6:.2f}"]
        )
    return rows


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", nargs="+")
    parser.add_argument("--minutes", type=float, default=1.0, help="that each run is planned for (default: 1)")
    parser.add_argument("--only", nargs="+", choices=CHOICES, default=CHOICES)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="a few seconds, to see that it works")
    parser.add_argument("--out", type=Path, default=None, help="folder for the results")
    return parser


if __name__ == "__main__":
    main()
