"""`groundup experiment`: a question of the specification, answered with figures or by runs made here, as a page."""

import argparse
import json
import logging
import shlex
import sys
from pathlib import Path
from typing import Any

from groundup.cli.overrides import split_overrides
from groundup.cli.parser import Parser, nearest
from groundup.cli.progress import log_from
from groundup.errors import ConfigError
from groundup.experiments.answers import ANSWERS, LANGUAGES, AnswerOptions, find_answer, write_answer
from groundup.experiments.catalog import IN_TURN, STUDIES, find_study

ALL = "all"


def main(arguments: list[str]) -> int:
    """Make the runs that are missing and write the page; with `all`, of every experiment by runs in turn."""
    arguments, overrides = split_overrides(arguments)
    options = _parser().parse_args(arguments)
    if options.name in ANSWERS:
        return _answer(options)
    if options.name not in (*STUDIES, ALL):
        raise ConfigError(f"there is no experiment {options.name!r}{nearest(options.name, [*ANSWERS, *STUDIES, ALL])}")
    names = IN_TURN if options.name == ALL else (options.name,)
    studies = [find_study(name) for name in names]
    if not options.redraw:
        from groundup.experiments.laboratory import require_texts

        for study in studies:  # all of them before the first run
            require_texts(study, options.data)
    # A run that diverges is a result here: its skipped updates are no news.
    with log_from(logging.WARNING), log_from(logging.ERROR, "groundup.training.loop"):
        for study in studies:
            folder = _folder(options, study.name)
            page = _redraw(study, folder) if options.redraw else _experiment(study, folder, options, overrides)
            if options.json:
                print(json.dumps({"experiment": study.name, "page": str(page), "result": str(folder / "result.json")}))
            else:
                print(f"page: {page}")
    return 0


def _answer(options: argparse.Namespace) -> int:
    """Compute the figures of a question that needs no runs, and write its pages."""
    answer = find_answer(options.name, AnswerOptions(tuple(options.data), options.rounds))
    out = options.out or "runs"
    page = write_answer(answer, out)
    if options.json:
        print(json.dumps({"experiment": options.name, "page": str(page), "figures": answer.figures}))
    else:
        print(f"page: {page}\nChinese: {Path(out, LANGUAGES['zh'], page.name)}")
    return 0


def _experiment(study: Any, folder: Path, options: argparse.Namespace, overrides: list[str]) -> Path:
    from groundup.experiments.laboratory import Wishes, open_lab
    from groundup.experiments.runner import run_study
    from groundup.experiments.study_page import write_page

    wishes = Wishes(
        preset=options.preset,
        data=tuple(options.data),
        tokens=options.tokens,
        minutes=options.minutes,
        num_seeds=options.seeds,
        overrides=tuple(overrides),
    )
    lab = open_lab(study, wishes, out=folder, runs=Path(options.runs))
    results = run_study(study, lab, command=_command(study.name, options, overrides), say=_say)
    return write_page(study, results, folder)


def _redraw(study: Any, folder: Path) -> Path:
    from groundup.experiments.outcome import read_results
    from groundup.experiments.study_page import write_page

    name, results = read_results(folder)
    if name != study.name:
        raise ConfigError(f"{str(folder)!r} holds the experiment {name}, not {study.name}")
    return write_page(study, results, folder)


def _folder(options: argparse.Namespace, name: str) -> Path:
    """Where the page goes: --out itself for one experiment, a folder in it for each of all."""
    if options.name == ALL:
        return Path(options.out or "runs/experiments") / name
    return Path(options.out or f"runs/experiments/{name}")


def _command(name: str, options: argparse.Namespace, overrides: list[str]) -> str:
    """The command that repeats one experiment; of texts the names alone, which mean something elsewhere too."""
    words = ["groundup", "experiment", name, "--preset", options.preset]
    for option in ("tokens", "minutes", "seeds"):
        if (value := getattr(options, option)) is not None:
            words += [f"--{option}", f"{value:g}" if isinstance(value, float) else str(value)]
    for source in options.data:
        words += ["--data", Path(source).name]
    return shlex.join([*words, *overrides])


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup experiment",
        description="Answer a question of the specification: make the runs it needs (those already made are not made "
        "again, a stopped one goes on), then write tables, pictures and the page. Settings of the base run can be "
        "overridden by their dotted names.\n\nby runs: " + ", ".join(STUDIES) + f"; {ALL} for each but the last\n"
        "without: " + ", ".join(ANSWERS),
        example="groundup experiment learning-rate --data stories.txt --minutes 20",
    )
    parser.add_argument("name", metavar="NAME", help=f"an experiment, or {ALL}")
    parser.add_argument("--preset", default="cpu", help="cpu (default), course (a GPU) or smoke (seconds; no meaning)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--tokens", type=int, help="tokens that each run sees (default: of the preset)")
    length.add_argument(
        "--minutes",
        type=float,
        help="time for all runs together, at the speed measured now; for leaderboard of each run (default: 3)",
    )
    parser.add_argument("--seeds", type=int, help="repetitions where a comparison is claimed (default: of the preset)")
    parser.add_argument(
        "--data", action="append", default=[], metavar="FOLDER_OR_TEXT",
        help="prepared folder, or text to learn a vocabulary from; for main-text, bpe-web and tokenizer twice, stories "
        "and then text as of the web (default for runs: texts of our own)",
    )  # fmt: skip
    parser.add_argument(
        "--rounds", type=int, default=5, metavar="N", help="without runs: how often a timing is taken (default: 5)"
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="folder of the page (default: runs/experiments/NAME; without runs, runs/answers)",
    )
    parser.add_argument(
        "--runs", default="runs/lab", metavar="FOLDER", help="folder of the runs, shared by experiments"
    )
    parser.add_argument("--redraw", action="store_true", help="make page and pictures anew from what is kept beside it")
    parser.add_argument("--json", action="store_true", help="print where the results are as JSON")
    return parser
