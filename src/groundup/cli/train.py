"""`groundup train`: a model from a recipe, with dotted overrides, resumable."""

import argparse
import dataclasses
import json
import sys

from groundup.cli.overrides import split_overrides
from groundup.cli.parser import Parser, typed_text
from groundup.recipe import read_config, write_config


def main(arguments: list[str]) -> int:
    """Train, write samples and the report, and say where they are; 130 or 143 when stopped by a signal."""
    arguments, overrides = split_overrides(arguments, also=("--out", "--init_from"))
    options = _parser().parse_args(arguments)
    config = read_config(options.recipe, overrides)
    if options.print_config:
        print(write_config(config), end="")
        return 0

    from groundup.cli.progress import TrainingProgress
    from groundup.cli.results import finish_run
    from groundup.training.loop import train

    run = train(config, resume=options.resume, sinks=[TrainingProgress()])
    if run.stopped_by is not None:
        print(f"stopped at step {run.state.step}; go on with --resume auto", file=sys.stderr)
        return 128 + run.stopped_by
    results = finish_run(run, prompts=options.sample or [""], keep_stdout=options.json)
    if options.json:
        print(json.dumps(results | {"state": dataclasses.asdict(run.state)}))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup train",
        description="Train a model by a recipe. Any setting of the recipe can be overridden by its dotted name.",
        example="groundup train recipes/tinystories-cpu.yaml --data.path data/tinystories --optimizer.lr 1e-3",
    )
    parser.add_argument("recipe", nargs="?", help="YAML file; without one the defaults are the recipe")
    parser.add_argument("--out", metavar="FOLDER", help="folder of the run (the recipe's `out`)")
    parser.add_argument("--init_from", metavar="RUN", help="start from the weights of another run")
    parser.add_argument(
        "--resume",
        default="never",
        metavar="auto|never|PATH",
        help="auto: go on from the run's latest checkpoint if there is one (default: never)",
    )
    parser.add_argument("--print_config", action="store_true", help="print the recipe with the overrides and stop")
    parser.add_argument(
        "--sample", type=typed_text, action="append", metavar="PROMPT", help="prompt of a sample text at the end"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    return parser
