"""`groundup run`: the whole path for a text of one's own, planned so that it ends when it was asked to.

A folder holds it: `plan.json` (what was asked, planned and used), `text/`, `tokenizer.json`, `data/` and the training
run in `run/`. The same command again goes on with a run that was stopped, in the time that it has left.
"""

import argparse
import dataclasses
import functools
import importlib.util
import json
import logging
import shutil
import sys
import time
from pathlib import Path
from typing import Any

from groundup.cli.parser import Parser
from groundup.cli.progress import log_from, say_more, say_step
from groundup.config import DataConfig, OptimizerConfig, RunConfig, TrainingConfig
from groundup.corpus import END_OF_TEXT, expand_paths
from groundup.errors import ConfigError
from groundup.experiments.quantities import duration, size
from groundup.files import spelled, write_json

MARK = "plan.json"
DEFAULT_MINUTES = 10.0
MEASURE_SHARE, MEASURE_S = 0.06, 6.0  # of the time; seconds at most
SURVEY_BYTES_PER_S = 1_000_000  # of text is looked at for each second of the run: reading takes a few per cent
LOOKS = 60  # at the speed, to see whether the end must be moved
TOLERANCE = 0.03  # a deviation of this share of the time is no reason to

_say = functools.partial(say_step, of=6)


def main(arguments: list[str]) -> int:
    """Plan, print the plan and why, do it; 130 or 143 when stopped by a signal."""
    started = time.monotonic()
    options = _parser().parse_args(arguments)
    if options.minutes is not None and not 0 < options.minutes < 1e6:
        raise ConfigError(
            f"--minutes is {options.minutes:g}; it must be positive and below a million, for example --minutes 10"
        )
    sources = [_identity(source) for source in expand_paths(options.text)]
    folder = Path(options.out or Path("runs") / _name(options.text[0]))
    earlier = _read_mark(folder)
    if earlier is not None:
        _require_same(folder, earlier, sources)
    can_go_on = earlier is not None and any((folder / "run" / "checkpoints").glob("step-*"))
    if options.resume and not can_go_on:
        raise ConfigError(
            f"--resume: {str(folder)!r} holds no run with a checkpoint; leave the option out to start one"
        )
    with log_from(logging.WARNING):
        if can_go_on and not options.plan_only:
            assert earlier is not None
            return _go_on(folder, earlier, options, started)
        return _start(folder, sources, options, started)


def _start(folder: Path, sources: list[list[Any]], options: argparse.Namespace, started: float) -> int:
    seconds = 60 * (options.minutes or DEFAULT_MINUTES)
    out = sys.stderr if options.json else sys.stdout

    from groundup.data.excerpt import survey

    _say(1, "Looking at the text")
    corpus = survey(options.text, limit_bytes=max(4_000_000, int(SURVEY_BYTES_PER_S * seconds)))
    more = "" if corpus.is_whole else " and more"
    say_more(f"{size(corpus.size_bytes)}{more}, bzip2 needs {corpus.packed_bits_per_byte:.2f} bits per byte")

    from groundup.training.measure import measure_machine, measure_update
    from groundup.training.plan_reasons import explain
    from groundup.training.planner import paid_by_measure, plan_run

    measure_s = min(MEASURE_S, MEASURE_SHARE * seconds)
    _say(2, f"Measuring this machine, for about {duration(measure_s)}")
    machine = measure_machine(seconds=0.7 * measure_s)
    plan = plan_run(corpus, machine, seconds=seconds, spent_s=time.monotonic() - started)
    update_s = measure_update(plan, seconds=0.3 * measure_s)
    spent_s = time.monotonic() - started
    plan = paid_by_measure(plan, update_s, spent_s=spent_s)
    reasons = [dataclasses.asdict(choice) for choice in explain(plan, corpus, spent_s=spent_s)]
    _print_plan(reasons, out)
    facts = {"plan": dataclasses.asdict(plan), "reasons": reasons}
    if options.plan_only:
        if options.json:
            print(json.dumps(facts))
        return 0

    _require_disk(folder, plan)
    _make_room(folder)
    mark = {"made_by": "groundup run", "text": sources, "minutes": seconds / 60, **facts}
    write_json(folder / MARK, mark)
    _prepare(folder, plan, options.text, corpus.size_bytes if not corpus.is_whole else None)
    config = _config(folder, plan, options.seed)
    write_json(folder / "run" / MARK, mark)
    mark["prepared_s"] = time.monotonic() - started
    write_json(folder / MARK, mark)
    return _train(folder, config, mark, options, started=started)


def _go_on(folder: Path, mark: dict[str, Any], options: argparse.Namespace, started: float) -> int:
    """Continue from the latest checkpoint, in what is left of the time."""
    from groundup.checkpoint import find_checkpoint
    from groundup.recipe import read_config

    state = json.loads((find_checkpoint(folder / "run") / "state.json").read_text(encoding="utf-8"))["state"]
    used_s = mark["prepared_s"] + state["seconds"]
    mark["minutes"] = options.minutes or mark["minutes"]
    left_s = 60 * mark["minutes"] - used_s
    _say(5, f"Going on from step {state['step']:,}: {duration(max(0.0, left_s))} of {mark['minutes']:g} min are left")
    config = read_config(folder / "run" / "config.yaml")
    config = dataclasses.replace(config, out=str(folder / "run"), data=DataConfig(path=str(folder / "data")))
    return _train(folder, config, mark, options, started=started - used_s)


def _train(
    folder: Path, config: RunConfig, mark: dict[str, Any], options: argparse.Namespace, *, started: float
) -> int:
    """Train until the deadline, then evaluate, write and compare with what was predicted."""
    from groundup.cli.progress import TrainingProgress
    from groundup.cli.results import finish_run
    from groundup.training.deadline import Deadline
    from groundup.training.loop import train

    if importlib.util.find_spec("matplotlib") is not None:
        importlib.import_module("groundup.experiments.plots")  # takes its time now, and not after the deadline
    seconds, plan = 60 * mark["minutes"], mark["plan"]
    deadline = Deadline(
        started + seconds - plan["finish_s"],
        check_s=seconds / LOOKS,
        tolerance_s=TOLERANCE * seconds,
        pause_s=plan["pause_s"],
    )
    run = train(config, resume="auto", sinks=[TrainingProgress()], deadline=deadline)
    if run.stopped_by is not None:
        say_more(f"stopped at step {run.state.step:,}; the same command goes on in the time that is left")
        return 128 + run.stopped_by
    _say(6, "Writing samples and the report")
    prompts = ["", *_prompts(folder / "text" / "valid.jsonl")]
    results = finish_run(run, prompts=prompts, keep_stdout=options.json, sample_tokens=plan["sample_tokens"])
    used_s = time.monotonic() - started
    reached = _reached(run.folder)
    results |= {"asked_s": seconds, "used_s": used_s, "predicted": plan["bits_per_byte"], "reached": reached}
    write_json(folder / MARK, mark | {"finished": {"used_s": used_s, "bits_per_byte": reached}})
    _print_end(results, plan, sys.stderr if options.json else sys.stdout)
    if options.json:
        print(json.dumps(results))
    return 0


def _prepare(folder: Path, plan: Any, text: list[str], limit_bytes: int | None) -> None:
    """Held-out split, tokenizer, shards."""
    from groundup.data.excerpt import take_text
    from groundup.data.shards import prepare
    from groundup.tokenizer.bpe import Tokenizer, train_bpe

    train_file, valid_file = folder / "text" / "train.jsonl", folder / "text" / "valid.jsonl"
    _say(3, "Holding out a part of the text, and learning the vocabulary from the rest")
    train_bytes, valid_bytes = take_text(
        text, train_file, valid_file, valid_fraction=plan.valid_fraction, every=plan.every, limit_bytes=limit_bytes
    )
    vocab, merges = train_bpe(train_file, plan.model.vocab_size, [END_OF_TEXT])
    tokenizer = Tokenizer(vocab, merges, [END_OF_TEXT])
    tokenizer.save(folder / "tokenizer.json")
    say_more(f"{size(train_bytes)} to train on, {size(valid_bytes)} held out, {tokenizer.vocab_size:,} entries")
    _say(4, "Turning the text into token ids")
    manifest = prepare(train_file, tokenizer, folder / "data", valid_paths=valid_file)
    say_more(", ".join(f"{name} {split.tokens:,} tokens" for name, split in manifest.splits.items()))
    _say(5, f"Training for {plan.steps:,} updates, about {duration(plan.train_s)}")


def _config(folder: Path, plan: Any, seed: int) -> RunConfig:
    every = max(1, plan.steps // plan.passes)
    return RunConfig(
        out=str(folder / "run"),
        model=dataclasses.replace(plan.model, vocab_size=0),  # as many as the tokenizer got from the text
        data=DataConfig(path=str(folder / "data")),
        optimizer=OptimizerConfig(
            lr=plan.lr, min_lr=plan.min_lr, warmup_steps=plan.warmup_steps, weight_decay=plan.weight_decay
        ),
        training=TrainingConfig(
            max_steps=plan.steps,
            batch_size=plan.batch_size,
            micro_batch_size=plan.micro_batch_size,
            seed=seed,
            log_every=max(1, plan.steps // 100),
            eval_every=every,
            save_every=every,
            keep_last=1,
        ),
    )


def _read_mark(folder: Path) -> dict[str, Any] | None:
    """What an earlier run left in the folder; None for one that is not there or empty. Any other is not touched."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return None
    try:
        mark = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        mark = None
    if not isinstance(mark, dict) or mark.get("made_by") != "groundup run":
        raise ConfigError(
            f"{str(folder)!r} is neither empty nor the folder of a `groundup run`; give another folder with --out"
        )
    return mark


def _require_same(folder: Path, mark: dict[str, Any], sources: list[list[Any]]) -> None:
    if mark["text"] != sources:
        raise ConfigError(
            f"{str(folder)!r} holds a run on {mark['text'][0][0]} as it was then; give another folder with --out"
        )
    if finished := mark.get("finished"):
        reached = finished["bits_per_byte"]
        loss = "" if reached is None else f" ({reached:.3f} bits per byte)"
        raise ConfigError(f"{str(folder)!r} holds a finished run on this text{loss}; give another folder with --out")


def _make_room(folder: Path) -> None:
    """An empty folder; what an earlier run left that got to no checkpoint goes away."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("text", "data", "run"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _require_disk(folder: Path, plan: Any) -> None:
    from groundup.model.accounting import num_parameters

    place = next(parent for parent in (folder.absolute(), *folder.absolute().parents) if parent.exists())
    free = shutil.disk_usage(place).free
    needed = 3 * plan.text_bytes + 4 * 12 * num_parameters(plan.model).total + 5_000_000
    if free < needed:
        raise ConfigError(
            f"the run needs {size(needed)} in {str(folder)!r}, and {size(free)} are free there; "
            "make room, or give a folder on another disk with --out"
        )


def _prompts(valid_file: Path) -> list[str]:
    """The first words of the first and of the last held-out document."""
    texts = [json.loads(line)["text"] for line in valid_file.read_text(encoding="utf-8").splitlines()]
    starts = [" ".join(text.split()[:3])[:40] for text in (texts[0], texts[-1])]
    return list(dict.fromkeys(filter(None, starts)))


def _reached(run: Path) -> float | None:
    """The lowest bits per byte on held-out text, which the best checkpoint has."""
    from groundup.training.metrics import read_metrics

    found = [record["bits_per_byte"] for record in read_metrics(run / "metrics.jsonl") if record["kind"] == "eval"]
    numbers = [value for value in found if isinstance(value, float)]
    return min(numbers, default=None)


def _print_plan(reasons: list[dict[str, str]], out: Any) -> None:
    widths = [max(len(choice[key]) for choice in reasons) for key in ("name", "value")]
    print("\nThe plan", file=out)
    for choice in reasons:
        print(f"  {choice['name']:<{widths[0]}}  {choice['value']:<{widths[1]}}  {choice['why']}", file=out)
    print(file=out, flush=True)


def _print_end(results: dict[str, Any], plan: dict[str, Any], out: Any) -> None:
    low, high = plan["band"]
    reached = "none" if results["reached"] is None else f"{results['reached']:.3f}"
    print(
        f"bits per byte: predicted {plan['bits_per_byte']:.3f} ({low:.2f} to {high:.2f}), reached {reached}", file=out
    )
    share = results["used_s"] / results["asked_s"]
    print(f"time: asked {duration(results['asked_s'])}, used {duration(results['used_s'])} ({share:.0%})", file=out)


def _identity(source: Any) -> list[Any]:
    """Name and size of a file, to know it again; of a URL its name."""
    return [spelled(source.absolute()), source.stat().st_size] if isinstance(source, Path) else [source, None]


def _name(text: str) -> str:
    """A folder name for a text: `books.txt.zst` -> `books`; for a glob or a plain `input.txt` that of its folder."""
    path = Path(text)
    name = path.name.split(".")[0]
    plain = name in ("", "input", "data", "text", "train") or any(sign in path.name for sign in "*?[")
    return path.absolute().parent.name or "text" if plain else name


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup run",
        description="The whole path for a text of your own, in the time you give: measures this machine, plans "
        "vocabulary, model and training, says why, and does it. The same command goes on with a run that was stopped.",
        example="groundup run mine.txt --minutes 5 --out runs/mine",
    )
    parser.add_argument("text", nargs="+", metavar="TEXT", help="files or globs: .txt .jsonl .parquet, also .gz .zst")
    parser.add_argument(
        "--minutes", type=float, default=None, help="for everything, from start to report (default: 10)"
    )
    parser.add_argument("--out", metavar="FOLDER", help="default: runs/ and the name of the text")
    parser.add_argument("--resume", action="store_true", help="only go on with a run that was stopped")
    parser.add_argument(
        "--plan-only", "--plan_only", action="store_true", help="print the plan and stop; writes nothing"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print the results as JSON, all else to stderr")
    return parser
