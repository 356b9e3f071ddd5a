"""`groundup eval`: loss, perplexity and bits per byte of a run on text it was not trained on."""

import argparse
import dataclasses
import json

from groundup.cli.parser import Parser
from groundup.cli.progress import Counter
from groundup.errors import ConfigError


def main(arguments: list[str]) -> int:
    """Score the run on its own held-out split, on another prepared folder, or on text files."""
    options = _parser().parse_args(arguments)
    if options.batch_size < 1:
        raise ConfigError(f"--batch_size is {options.batch_size}; it must be at least 1")

    from groundup.checkpoint import load_run
    from groundup.device import choose_device
    from groundup.evaluation.likelihood import evaluate

    run = load_run(options.run, which=options.which, device=choose_device(options.device))
    source = options.text or options.data or run.config.data.path
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
    if options.json:
        print(json.dumps({"checkpoint": str(run.folder), "source": source, **dataclasses.asdict(result)}))
        return 0
    print(f"checkpoint     {run.folder}")
    print(f"text           {source if isinstance(source, str) else ' '.join(source)}")
    print(f"targets        {result.num_targets:,} tokens, {result.num_bytes:,} bytes")
    print(f"loss           {result.nats_per_token:.4f} nats per token")
    print(f"perplexity     {result.perplexity:.3f}")
    if result.bits_per_byte is not None:
        print(f"bits per byte  {result.bits_per_byte:.4f}")
    print(f"speed          {result.num_targets / max(result.seconds, 1e-9):,.0f} tokens per second")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup eval",
        description="Score a model: every token of the text but the first is predicted once.",
        example="groundup eval runs/tinystories --text valid.txt",
    )
    parser.add_argument("run", metavar="RUN", help="run folder or checkpoint folder")
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
    return parser
