"""`groundup eval`: loss, perplexity and bits per byte of runs on text they were not trained on, whole or in parts."""

import argparse
import dataclasses
import json
from typing import Any

from groundup.cli.parser import Parser
from groundup.cli.progress import Counter
from groundup.errors import ConfigError

_SHOWN_TEXT_CHARS = 60


def main(arguments: list[str]) -> int:
    """Score each run on its own held-out split, on another prepared folder, on text files, or on tasks."""
    options = _parser().parse_args(arguments)
    _check(options)

    from groundup.checkpoint import load_run
    from groundup.device import choose_device

    device = choose_device(options.device)
    if len(options.runs) > 1:
        return _side_by_side(options, [load_run(run, which=options.which, device=device) for run in options.runs])
    run = load_run(options.runs[0], which=options.which, device=device)
    if options.tasks:
        return _tasks(options, run)
    if options.by:
        return _by_part(options, run)
    result = _score(options, run)
    source = _source(options, run)
    if options.json:
        print(json.dumps({"checkpoint": str(run.folder), "source": source, **dataclasses.asdict(result)}))
        return 0
    _print_origin(options, run)
    print(f"targets        {result.num_targets:,} tokens, {result.num_bytes:,} bytes")
    print(f"loss           {result.nats_per_token:.4f} nats per token")
    print(f"perplexity     {result.perplexity:.3f}")
    if result.bits_per_byte is not None:
        print(f"bits per byte  {result.bits_per_byte:.4f}")
    print(f"speed          {result.num_targets / max(result.seconds, 1e-9):,.0f} tokens per second")
    return 0


def _check(options: argparse.Namespace) -> None:
    """Raise ConfigError for options that do not go together."""
    for name in ("batch_size", "limit", "show", "min_tokens"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name} is {value}; it must be at least 1")
    if len(options.runs) > 1 and (options.by or options.tasks):
        raise ConfigError(f"{'--by' if options.by else '--tasks'} takes one run, and {len(options.runs)} are named")
    if options.tasks and (options.by or options.text or options.data or options.weights):
        raise ConfigError("--tasks brings its own text; leave --by, --text, --data and --weights out")


def _source(options: argparse.Namespace, run: Any) -> Any:
    return options.text or options.data or run.config.data.path


def _score(options: argparse.Namespace, run: Any) -> Any:
    from groundup.evaluation.likelihood import evaluate

    return _counted(options, run, evaluate, _source(options, run))


def _counted(options: argparse.Namespace, run: Any, evaluate: Any, source: Any) -> Any:
    """What one of the functions of the evaluation says, with a progress line meanwhile."""
    shown = Counter("scoring", unit="{:,.0f} tokens".format)
    result = evaluate(
        run,
        source,
        split=options.split,
        batch_size=options.batch_size,
        weights=options.weights,
        progress=shown,
    )
    shown.close()
    return result


def _print_origin(options: argparse.Namespace, run: Any) -> None:
    source = _source(options, run)
    print(f"checkpoint     {run.folder}")
    print(f"text           {source if isinstance(source, str) else ' '.join(source)}")


def _side_by_side(options: argparse.Namespace, runs: list[Any]) -> int:
    """A row for each run. Tokens differ with the tokenizer, bytes do not."""
    from groundup.experiments.comparison import text_table

    results = [_score(options, run) for run in runs]
    if options.json:
        records = [
            {"checkpoint": str(run.folder), "source": _source(options, run), **dataclasses.asdict(result)}
            for run, result in zip(runs, results, strict=True)
        ]
        print(json.dumps(records))
        return 0
    rows = [
        {
            "run": name,
            "vocabulary": run.tokenizer.vocab_size,
            "tokens": result.num_targets,
            "bytes": result.num_bytes,
            "loss": result.nats_per_token,
            "perplexity": round(result.perplexity, 3),
            "bits/byte": result.bits_per_byte,
        }
        for name, run, result in zip(options.runs, runs, results, strict=True)
    ]
    print(text_table(rows))
    if len({run.tokenizer.fingerprint for run in runs}) > 1:
        print("the tokenizers differ: loss and perplexity are of other tokens, bits per byte can be compared")
    if len({str(_source(options, run)) for run in runs}) > 1:
        print("each run was scored on its own held-out text; --text FILE takes the same for all")
    return 0


def _by_part(options: argparse.Namespace, run: Any) -> int:
    """The parts of the loss: documents, or positions in the context."""
    from groundup.evaluation.breakdown import evaluate_by_document, evaluate_by_position, total
    from groundup.evaluation.likelihood import read_ids

    is_document = options.by == "document"
    tokens = read_ids(_source(options, run), options.split, run.tokenizer)
    scores = _counted(options, run, evaluate_by_document if is_document else evaluate_by_position, tokens)
    whole = total(scores)
    if options.json:
        parts = [{**dataclasses.asdict(score), **_derived(score)} for score in scores]
        record = {"checkpoint": str(run.folder), "source": _source(options, run), **dataclasses.asdict(whole)}
        print(json.dumps({**record, **_derived(whole), f"{options.by}s": parts}))
        return 0
    _print_origin(options, run)
    bits = f", {whole.bits_per_byte:.4f} bits per byte" if whole.bits_per_byte is not None else ""
    print(f"all            {whole.num_targets:,} tokens, {whole.nats_per_token:.4f} nats per token{bits}")
    if is_document:
        _print_documents(options, run, scores, tokens)
    else:
        _print_positions(scores)
    return 0


def _derived(score: Any) -> dict[str, float | None]:
    return {"nats_per_token": score.nats_per_token, "bits_per_byte": score.bits_per_byte}


def _print_documents(options: argparse.Namespace, run: Any, documents: list[Any], tokens: Any) -> None:
    import numpy

    from groundup.evaluation.breakdown import beginning, ranked

    listed = ranked(documents, min_targets=options.min_tokens)
    print(f"documents      {len(documents):,}, {len(listed):,} of them of at least {options.min_tokens} tokens")
    if not listed:
        return
    low, middle, high = numpy.percentile(numpy.array([document.bits_per_byte for document in listed]), [5, 50, 95])
    print(f"bits per byte  {low:.3f} at the easiest 5 %, {middle:.3f} in the middle, {high:.3f} at the hardest 5 %")
    for title, some in (("hardest", listed[: options.show]), ("easiest", listed[::-1][: options.show])):
        print(f"\n{title:<10} tokens    bytes  nats/token  bits/byte  begins")
        for document in some:
            text = " ".join(beginning(tokens, document, run.tokenizer).split())[:_SHOWN_TEXT_CHARS]
            print(
                f"{document.index:>8,} {document.num_targets:>8,} {document.num_bytes:>8,}  "
                f"{document.nats_per_token:>10.4f} {document.bits_per_byte:>10.4f}  {text}"
            )


def _print_positions(positions: list[Any]) -> None:
    from groundup.evaluation.breakdown import by_octave

    print("\ntokens before   targets  nats/token  bits/byte")
    for group in by_octave(positions):
        name = f"{group.first:,}" if group.first == group.last else f"{group.first:,} to {group.last:,}"
        bits = f"{group.bits_per_byte:>10.4f}" if group.bits_per_byte is not None else f"{'–':>10}"
        print(f"{name:<13} {group.num_targets:>9,}  {group.nats_per_token:>10.4f} {bits}")


def _tasks(options: argparse.Namespace, run: Any) -> int:
    """What lm-evaluation-harness says of the run."""
    from groundup.interop.harness import evaluate_tasks

    results = evaluate_tasks(
        run,
        options.tasks.split(","),
        batch_size=options.batch_size,
        limit=options.limit,
        num_fewshot=options.num_fewshot,
        include_path=options.include_path,
    )
    if options.json:
        print(json.dumps({"checkpoint": str(run.folder), "results": results}, default=str))
        return 0
    print(f"checkpoint     {run.folder}")
    for task, figures in results.items():
        for name, value in figures.items():
            print(f"{task}  {name}  {value:.4f}" if isinstance(value, float) else f"{task}  {name}  {value}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup eval",
        description="Score a model: every token of the text but the first is predicted once. Several runs: a table.",
        example="groundup eval runs/tinystories --text valid.txt\n"
        "  groundup eval runs/tinystories --by document\n"
        "  groundup eval runs/small runs/large --text valid.txt\n"
        "  groundup eval runs/tinystories --tasks arc_easy,hellaswag --limit 100",
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder or checkpoint folder")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--text", nargs="+", metavar="FILE", help="score these text files")
    source.add_argument("--data", metavar="FOLDER", help="score a folder written by `groundup data prepare`")
    parser.add_argument("--split", default="valid", help="split of a prepared folder (default: valid)")
    parser.add_argument("--which", choices=("best", "latest"), default="best", help="checkpoint of a run folder")
    parser.add_argument("--batch_size", type=int, default=32, help="sequences at once; the result is the same")
    parser.add_argument(
        "--weights",
        choices=("float32", "bf16", "int8"),
        default=None,
        help="score what `generate --weights` writes with (default: the model itself)",
    )
    parser.add_argument("--device", default="auto", help="auto (cuda, then mps, then cpu) or a name that torch knows")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    parts = parser.add_argument_group("parts of the loss")
    parts.add_argument("--by", choices=("document", "position"), help="apart for each document, or place in context")
    parts.add_argument("--show", type=int, default=5, help="documents at either end that are shown (5)")
    parts.add_argument("--min_tokens", type=int, default=16, help="shortest document that is ranked (16)")
    tasks = parser.add_argument_group("lm-evaluation-harness (pip install 'groundup[eval]')")
    tasks.add_argument("--tasks", metavar="NAME,NAME", help="tasks of the harness, instead of a text")
    tasks.add_argument("--limit", type=int, help="only the first so many questions of each task")
    tasks.add_argument("--num_fewshot", type=int, help="worked examples before each question (default: the task's)")
    tasks.add_argument("--include_path", metavar="FOLDER", help="tasks of your own (YAML)")
    return parser
