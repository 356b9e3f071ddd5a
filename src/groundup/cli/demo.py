"""`groundup demo`: raw text to stories in minutes, offline, with every step shown.

The same steps by hand: `tokenizer train`, `data prepare`, `train`, `eval`, `generate`.
"""

import argparse
import functools
import json
import logging
import math
import shutil
import sys
import time
from pathlib import Path

from groundup.cli.parser import Parser
from groundup.cli.progress import log_from, say_more, say_step
from groundup.config import DataConfig, ModelConfig, OptimizerConfig, RunConfig, TrainingConfig
from groundup.corpus import END_OF_TEXT
from groundup.errors import ConfigError
from groundup.experiments.quantities import duration, size

VOCAB_SIZE = 2048
TRAIN_BYTES = 12_000_000
VALID_STORIES = 64
VALIDATION_PASSES = 6
PROMPTS = ("", "One sunny morning,", "Once upon a time,")

_say = functools.partial(say_step, of=5)


def main(arguments: list[str]) -> int:
    """Corpus, tokenizer, shards, model, evaluation, three stories, report: all under one folder."""
    options = _parser().parse_args(arguments)
    if not 0 < options.minutes < math.inf:
        raise ConfigError(f"--minutes is {options.minutes:g}; it must be positive")
    if options.steps is not None and options.steps < 1:
        raise ConfigError(f"--steps is {options.steps}; it must be at least 1")
    with log_from(logging.WARNING):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    folder = Path(options.out)
    _make_room(folder)
    start = time.monotonic()

    texts = _write_corpus(folder, options.seed)
    tokenizer_file = _train_tokenizer(folder, texts["train"])
    data = _prepare(folder, texts, tokenizer_file)
    run = _train(folder, data, options)

    from groundup.cli.results import finish_run

    _say(5, "Writing stories and the report")
    out = sys.stderr if options.json else sys.stdout
    results = finish_run(run, prompts=PROMPTS, keep_stdout=options.json)
    for number, sample in enumerate(results["samples"], 1):
        print(f"\n--- story {number} ---\n{(sample['prompt'] + sample['text']).strip()}", file=out)
    took = duration(time.monotonic() - start)
    print(f"\nAll of it took {took}. Open {results['report']} in a browser, or write on:", file=out)
    print(f'  groundup generate {run.folder} --prompt "A little fox"', file=out)
    if options.json:
        print(json.dumps(results))
    return 0


def demo_config(data: str, out: str, *, max_steps: int, seed: int = 0) -> RunConfig:
    """The demo's model of a few million parameters; each number with its reason.

    A context of 256 holds nearly every story whole. Small batches give many updates in three minutes, which
    a fresh model needs more than it needs smooth gradients.
    """
    return RunConfig(
        out=out,
        model=ModelConfig(
            vocab_size=0, context_length=256, d_model=192, num_layers=4, num_heads=6, tie_embeddings=False
        ),
        data=DataConfig(path=data),
        optimizer=OptimizerConfig(lr=4e-3, min_lr=2e-4, warmup_steps=max(1, min(50, max_steps // 10))),
        training=TrainingConfig(
            max_steps=max_steps,
            batch_size=8,
            seed=seed,
            log_every=max(1, max_steps // 100),
            eval_every=max(1, max_steps // VALIDATION_PASSES),
            save_every=max(1, max_steps // 4),
            keep_last=1,
        ),
    )


def _make_room(folder: Path) -> None:
    """Start from an empty folder; one that is not an earlier demo is never touched."""
    mark = folder / "demo.json"
    if folder.exists() and any(folder.iterdir()):
        if not mark.exists():
            raise ConfigError(f"{str(folder)!r} is not empty and not an earlier demo; give another folder with --out")
        shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    mark.write_text('{"made_by": "groundup demo"}\n', encoding="utf-8")


def _write_corpus(folder: Path, seed: int) -> dict[str, Path]:
    from groundup.data.toy_stories import write_corpus

    _say(1, "Writing a corpus of little stories")
    paths = {"train": folder / "train.txt", "valid": folder / "valid.txt"}
    write_corpus(paths["train"], size_bytes=TRAIN_BYTES, seed=seed, split="train")
    write_corpus(paths["valid"], num_stories=VALID_STORIES, seed=seed, split="valid")
    for name, path in paths.items():
        say_more(f"{name}: {size(path.stat().st_size)} in {path}")
    return paths


def _train_tokenizer(folder: Path, text: Path) -> Path:
    from groundup.tokenizer.bpe import Tokenizer, train_bpe

    _say(2, f"Learning a vocabulary of {VOCAB_SIZE:,} entries")
    start = time.monotonic()
    vocab, merges = train_bpe(text, VOCAB_SIZE, [END_OF_TEXT])
    tokenizer = Tokenizer(vocab, merges, [END_OF_TEXT])
    path = folder / "tokenizer.json"
    tokenizer.save(path)
    ids = tokenizer.encode("Once upon a time there was a little fox.")
    say_more(f"{len(merges):,} merges in {time.monotonic() - start:.2f} s; a sentence in tokens:")
    say_more("|".join(tokenizer.decode([id]) for id in ids))
    return path


def _prepare(folder: Path, texts: dict[str, Path], tokenizer_file: Path) -> Path:
    from groundup.data.shards import prepare
    from groundup.tokenizer.bpe import Tokenizer

    _say(3, "Turning the text into token ids")
    start = time.monotonic()
    data = folder / "data"
    manifest = prepare(texts["train"], Tokenizer.load(tokenizer_file), data, valid_paths=texts["valid"])
    counts = ", ".join(f"{name} {split.tokens:,} tokens" for name, split in manifest.splits.items())
    say_more(f"{counts} in {time.monotonic() - start:.1f} s")
    return data


def _train(folder: Path, data: Path, options: argparse.Namespace):
    from groundup.cli.progress import TrainingProgress
    from groundup.training.loop import train
    from groundup.training.plan import steps_for

    out = str(folder / "run")
    draft = demo_config(str(data), out, max_steps=1000, seed=options.seed)
    steps = options.steps or steps_for(draft, seconds=60 * options.minutes, validation_passes=VALIDATION_PASSES)
    config = demo_config(str(data), out, max_steps=steps, seed=options.seed)
    expected = "" if options.steps else f", about {options.minutes:g} min at the speed just measured"
    _say(4, f"Training a model for {steps:,} updates{expected}")
    run = train(config, sinks=[TrainingProgress()])
    say_more(f"{run.model.num_parameters():,} parameters")
    if run.stopped_by is not None:
        raise KeyboardInterrupt
    return run


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup demo",
        description="The whole path, offline: stories by a grammar, a tokenizer, a model of a few million "
        "parameters trained for some minutes, its own stories, and report.html.",
        example="groundup demo --minutes 1 --out runs/quick",
    )
    parser.add_argument("--out", default="runs/demo", metavar="FOLDER", help="default: runs/demo")
    parser.add_argument("--minutes", type=float, default=3.0, help="time to train for (default: 3)")
    parser.add_argument("--steps", type=int, default=None, help="updates to train for, instead of --minutes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="print the results as JSON, all else to stderr")
    return parser
