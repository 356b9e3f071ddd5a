"""`groundup sweep`: a recipe at every combination of some settings, or a search for the best of them."""

import argparse
import json
import logging
import shlex
import sys
from pathlib import Path

from groundup.cli.overrides import split_overrides
from groundup.cli.parser import Parser
from groundup.cli.progress import log_from
from groundup.errors import ConfigError
from groundup.recipe import read_config


def main(arguments: list[str]) -> int:
    """Make the runs that are missing; a grid leaves a page, a search best.yaml."""
    typed = arguments
    arguments, overrides = split_overrides(arguments)
    options = _parser().parse_args(arguments)
    for name in ("seeds", "trials"):
        if (value := getattr(options, name)) is not None and value < 1:
            raise ConfigError(f"--{name} is {value}; it must be at least 1")
    if options.redraw:
        return _redraw(Path(options.out), as_json=options.json)
    if not options.set:
        raise ConfigError("nothing is varied; give at least one --set NAME=VALUES")
    recipe = read_config(options.recipe, overrides)
    with log_from(logging.WARNING), log_from(logging.ERROR, "groundup.training.loop"):
        return _grid(recipe, options, typed) if options.trials is None else _search(recipe, options)


def _grid(recipe, options: argparse.Namespace, typed: list[str]) -> int:
    from groundup.experiments.study_page import write_page
    from groundup.experiments.sweep import grid, parse_setting, run_grid

    points = grid(recipe, [parse_setting(text) for text in options.set])
    command = shlex.join(["groundup", "sweep", *typed])
    study, results = run_grid(
        recipe, points, out=Path(options.out), num_seeds=options.seeds or 1, command=command, say=_say
    )
    page = write_page(study, results, Path(options.out))
    if options.json:
        rows = [
            {"settings": g.variant.settings, "losses": g.losses, "diverged": g.num_diverged} for g in results.groups
        ]
        print(json.dumps({"page": str(page), "points": rows}))
    else:
        print(f"page: {page}")
    return 0


def _redraw(out: Path, *, as_json: bool) -> int:
    """Page and pictures of a grid from what is kept beside them."""
    from groundup.experiments.outcome import read_results
    from groundup.experiments.study_page import write_page
    from groundup.experiments.sweep import grid_study

    name, results = read_results(out)
    if name != "sweep":
        raise ConfigError(f"{str(out)!r} holds the experiment {name} and no sweep")
    page = write_page(grid_study([group.variant.settings for group in results.groups]), results, out)
    print(json.dumps({"page": str(page)}) if as_json else f"page: {page}")
    return 0


def _search(recipe, options: argparse.Namespace) -> int:
    from groundup.experiments.search import BEST, search
    from groundup.experiments.sweep import parse_setting

    if options.seeds is not None:
        raise ConfigError("--seeds is for grids; a search makes each run once")
    settings = [parse_setting(text) for text in options.set]
    best = search(recipe, settings, out=Path(options.out), num_trials=options.trials, say=_say)
    path = Path(options.out) / BEST
    if options.json:
        print(json.dumps({"best": None if best is None else str(path)}))
    else:
        print("no run came to its end without diverging" if best is None else f"best: {path}")
    return 0 if best is not None else 1


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup sweep",
        description="Train a recipe at every combination of the values given with --set; or, with --trials, search for "
        "the best ones with optuna. Runs that are made are not made again, a stopped one goes on.",
        example="groundup sweep recipes/quickstart.yaml --set optimizer.lr=1e-3,3e-3 --set training.batch_size=8,16\n"
        "  groundup sweep recipes/quickstart.yaml --set optimizer.lr=1e-4..1e-2 --trials 20",
    )
    parser.add_argument("recipe", nargs="?", help="YAML file; without one the defaults are the recipe")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUES", help="a,b,c or, for a search, low..high"
    )
    parser.add_argument("--trials", type=int, metavar="N", help="search until there are this many trials")
    parser.add_argument("--seeds", type=int, metavar="N", help="runs of each combination (default: 1)")
    parser.add_argument("--out", default="runs/sweep", metavar="FOLDER", help="runs and page (default: runs/sweep)")
    parser.add_argument("--redraw", action="store_true", help="make the page of a grid anew from what lies in --out")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")
    return parser
