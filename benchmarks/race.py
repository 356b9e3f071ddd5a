"""Our training against Hugging Face's Llama for the same time: how soon is ours as good as theirs is at the end?

    python benchmarks/race.py                 an hour or so (20 minutes for each side); writes benchmarks/results/
    python benchmarks/race.py --minutes 1     does it all work?

Both train the base configuration on TinyStories: the same shards, batches and order, AdamW with the same numbers, each
with a schedule that ends when its time does. They take turns of half a minute, so that a slow spell of the machine
strikes both. Stopped, it goes on where it was. More: README.md beside this file.
"""

import argparse
import contextlib
import json
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.contest import ALLOCATORS, HUGGING_FACE, OURS, Contestant
from bench.notes import say
from bench.peers import interpreter
from bench.race_course import Leg, Rules, Runner, Text, describe_plan, plan_leg, update_time, verdict
from bench.results import FOLDER, keep_results
from bench.table import columns
from bench.tokenizer_inputs import SHARED
from bench.training_plot import plot_race
from bench.training_sizes import BASE
from bench.worker import Worker, WorkerError

from groundup.data.shards import open_tokens, prepare, read_manifest
from groundup.environment import describe, has_fast_bf16, usable_cores
from groundup.files import write_atomic
from groundup.tokenizer.bpe import Tokenizer, train_bpe

ROOT = Path(__file__).resolve().parent
GOAL = 0.65  # of their time: by then ours should be where theirs ends
VALID_FRACTION = 0.05
PILOT_S = 15.0  # of measuring, for each way to train
WAYS = {
    "float32": {OURS.name: ("float32",), HUGGING_FACE.name: ("float32", "float32 oneDNN")},
    "bf16": {OURS.name: ("bf16",), HUGGING_FACE.name: ("bf16 autocast",)},
}
SET_UP_S = 1800.0


def main() -> None:
    """Prepare the text, plan, race, and write what came of it."""
    options = _parser().parse_args()
    rules = Rules(
        shape=BASE.shape,
        minutes=options.minutes,
        batch_size=options.batch_size,
        lr=options.lr,
        max_norm=1.0,
        seed=0,
        same_start=options.same_start,
        validations=max(4, min(20, round(options.minutes))),
        validation_windows=options.validation_windows,
        turn_s=30.0,
        threads=usable_cores(),
    )
    precision = options.precision or ("bf16" if has_fast_bf16("cpu") else "float32")
    folder = options.folder / f"{precision}-{options.minutes:g}-minutes"
    if options.anew:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    text = prepare_text(options.text, options.folder / f"data-{options.text.stem}", rules.shape["vocab_size"])
    legs = read_or_make_plan(rules, text, precision, folder)
    record = {
        "benchmark": "race",
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe(),
        "threads": rules.threads,
        "precision": precision,
        "allocator": ALLOCATORS["tuned"],
        "num_ids": dict(text.num_ids),
        **describe_plan(rules, legs),
        "sides": run_race(rules, text, legs, folder),
    }
    sides = record["sides"]
    record["verdict"] = verdict(sides[OURS.name]["curve"], sides[HUGGING_FACE.name]["curve"])
    print(f"\n{race_table(record)}")
    print(f"\n{keep_results(record, plot_race, options.out)}")


def prepare_text(file: Path, folder: Path, vocab_size: int) -> Text:
    """The shards of a text file, a part of it held out, with a tokenizer of its own; made if they are not there."""
    if not (folder / "manifest.json").exists():
        say(f"preparing {file.name}: {vocab_size:,} entries, {VALID_FRACTION:.0%} held out")
        vocab, merges = train_bpe(file, vocab_size, ["<|endoftext|>"])
        tokenizer = Tokenizer(vocab, merges, special_tokens=["<|endoftext|>"])
        prepare(file, tokenizer, folder, valid_fraction=VALID_FRACTION)
    splits = read_manifest(folder).splits
    assert all(len(split.shards) == 1 for split in splits.values()), "a side reads one file of each"
    files = {name: str(folder / split.shards[0].file) for name, split in splits.items()}
    return Text(files, {name: len(open_tokens(folder, name)) for name in splits})


def read_or_make_plan(rules: Rules, text: Text, precision: str, folder: Path) -> dict[str, Leg]:
    """The legs of the plan that the folder holds, or of a new one: each way to train is measured, the fastest races."""
    file = folder / "plan.json"
    if file.exists():
        plan = json.loads(file.read_text(encoding="utf-8"))
        if plan["rules"] != describe_plan(rules, {})["rules"]:
            raise SystemExit(f"{folder} holds a race under other rules; give --anew to begin again")
        return {name: Leg(**leg) for name, leg in plan["legs"].items()}
    legs: dict[str, Leg] = {}
    for peer in (OURS, HUGGING_FACE):
        ways = {
            way.name: way
            for word in WAYS[precision][peer.name]
            for way in (Contestant(peer, word, compiled=False), Contestant(peer, word, compiled=True))
        }
        times: dict[str, float] = {}
        for name, way in ways.items():
            say(f"{name}: measuring an update")
            with contextlib.ExitStack() as stack:
                try:
                    worker, _ = _start(way, rules, text, folder / "none.pt", stack)
                    times[name] = update_time(worker.request, rules, text, PILOT_S)
                    say(f"{name}: {times[name]:.2f} s")
                except WorkerError as error:
                    say(f"{name}: cannot race, {error}")
        if not times:
            raise SystemExit(f"no way of {peer.name} can race")
        legs[peer.name] = plan_leg(rules.minutes, times, ways)
    write_atomic(file, json.dumps(describe_plan(rules, legs), indent=1) + "\n")
    return legs


def run_race(rules: Rules, text: Text, legs: Mapping[str, Leg], folder: Path) -> dict[str, Any]:
    """Train both sides in turns until each has made its updates; returns what there is to tell of each."""
    with contextlib.ExitStack() as stack:
        runners: dict[str, Runner] = {}
        told: dict[str, dict[str, Any]] = {}
        for peer in (OURS, HUGGING_FACE):
            leg = legs[peer.name]
            way = Contestant(peer, leg.precision, leg.compiled)
            worker, facts = _start(way, rules, text, folder / f"{peer.name}.pt", stack)
            runner = Runner(peer.name, worker.request, rules, text, leg)
            runner.resume(facts.pop("memory"))
            runners[peer.name], told[peer.name] = runner, {"way": way.name, **facts}
        sizes = {facts["num_parameters"] for facts in told.values()}
        assert len(sizes) == 1, f"the models have different sizes: {sizes}"
        while not all(runner.is_done for runner in runners.values()):
            for runner in runners.values():
                if not runner.is_done:
                    runner.take_turn()
        return {
            name: {**told[name], "curve": runner.curve, "losses": runner.losses} for name, runner in runners.items()
        }


def race_table(record: Mapping[str, Any]) -> str:
    """A row for each side, and who was how soon where."""
    rows = [["side", "way", "updates", "tokens", "minutes", "validation loss"]]
    rules = record["rules"]
    per_update = rules["batch_size"] * rules["shape"]["context_length"]
    for side, told in record["sides"].items():
        last = told["curve"][-1]
        numbers = [f"{last['step']:,}", f"{last['step'] * per_update:,}", f"{last['seconds'] / 60:.2f}"]
        rows.append([side, told["way"], *numbers, f"{last['loss']:.4f}"])
    found = record["verdict"]
    if found["reached_s"] is None:
        return "\n".join([*columns(rows), f"ours never came down to {found['their_loss']:.4f}"])
    return "\n".join(
        [
            *columns(rows),
            f"ours came down to {found['their_loss']:.4f} after {found['reached_s'] / 60:.2f} minutes, "
            f"{found['part_of_time']:.0%} of their time (goal: at most {GOAL:.0%})",
        ]
    )


def _start(
    way: Contestant, rules: Rules, text: Text, state_file: Path, stack: contextlib.ExitStack
) -> tuple[Worker, dict[str, Any]]:
    worker = Worker([interpreter(way.peer), way.peer.script], way.name, ALLOCATORS["tuned"])
    stack.enter_context(worker)
    facts = worker.request(
        "race_set_up",
        shape=dict(rules.shape),
        precision=way.precision,
        compiled=way.compiled,
        threads=rules.threads,
        seed=rules.seed,
        same_start=rules.same_start,
        max_norm=rules.max_norm,
        files=dict(text.files),
        state_file=str(state_file),
        timeout_s=SET_UP_S,
    )
    return worker, facts


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Twenty minutes of training: groundup against Hugging Face's Llama.")
    parser.add_argument("--minutes", type=float, default=20.0, help="of training, for each side (default: 20)")
    parser.add_argument("--batch-size", type=int, default=BASE.batch_size, help="sequences of an update (default: 8)")
    parser.add_argument("--lr", type=float, default=2e-3, help="peak rate, of both (default: 2e-3)")
    parser.add_argument(
        "--precision", choices=WAYS, default=None, help="default: bf16 where the processor has it, else float32"
    )
    parser.add_argument("--validation-windows", type=int, default=128, help="windows of a validation (default: 128)")
    parser.add_argument("--same-start", action="store_true", help="both begin with the same weights")
    parser.add_argument(
        "--text", type=Path, default=SHARED / "tinystories" / "train.txt", help="default: TinyStories of ../shared/data"
    )
    parser.add_argument("--folder", type=Path, default=ROOT / ".race", help="where data, plan and states are kept")
    parser.add_argument("--anew", action="store_true", help="forget a race of these minutes that is there")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the results (default: benchmarks/results)")
    return parser


if __name__ == "__main__":
    main()
