"""`groundup experiment`: a question of the specification, answered with figures from here, as a page."""

import argparse
import json
from pathlib import Path

from groundup.cli.parser import Parser, nearest
from groundup.errors import ConfigError
from groundup.experiments.answers import ANSWERS, LANGUAGES, AnswerOptions, find_answer, write_answer


def main(arguments: list[str]) -> int:
    """Compute the figures of the question that is named and write its pages."""
    options = _parser().parse_args(arguments)
    if options.name not in ANSWERS:
        raise ConfigError(f"there is no experiment {options.name!r}{nearest(options.name, ANSWERS)}")
    answer = find_answer(options.name, AnswerOptions(tuple(options.data), options.rounds))
    page = write_answer(answer, options.out)
    if options.json:
        print(json.dumps({"experiment": options.name, "page": str(page), "figures": answer.figures}))
    else:
        print(f"page: {page}\nChinese: {Path(options.out, LANGUAGES['zh'], page.name)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup experiment",
        description="Answer a question of the specification: compute its figures and write the page.\n\n"
        "experiments: " + ", ".join(ANSWERS),
        example="groundup experiment bpe-tinystories --data stories.txt",
    )
    parser.add_argument("name", metavar="NAME", help="an experiment")
    parser.add_argument(
        "--data", action="append", default=[], metavar="TEXT",
        help="text to learn a vocabulary from; for bpe-web and tokenizer twice, stories and then text as of the web",
    )  # fmt: skip
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often a timing is taken (default: 5)")
    parser.add_argument("--out", default="runs", metavar="FOLDER", help="pages go to FOLDER/answers (default: runs)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    return parser
