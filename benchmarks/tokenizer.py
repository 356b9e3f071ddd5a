"""Our tokenizer against gigatoken, gigabpe, fastokens, tiktoken, tokenizers and rustbpe.

    python benchmarks/tokenizer.py                       everything; writes benchmarks/results/
    python benchmarks/tokenizer.py --quick               about a minute on toy stories: does it all work?
    python benchmarks/tokenizer.py --only encode load    some parts
    python benchmarks/tokenizer.py --corpus FILE ...     another text

Everyone runs in a process and an environment of its own, in rounds that take turns; a fresh process for each
first call. Ids are compared with tiktoken's, merges with the pair counts of the text, and times count only
where they are right. More: README.md beside this file.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.plot import plot_measures
from bench.results import FOLDER, keep_results
from bench.table import measures_table
from bench.tokenizer_groups import GROUPS, Contest
from bench.tokenizer_inputs import FULL, QUICK, default_sources, prepare_inputs
from bench.tokenizer_peers import TOKENIZERS, make_entrants

from groundup.environment import describe, usable_cores


def main() -> None:
    """Run the parts asked for, print the table of each, and write what came of it."""
    options = _parser().parse_args()
    rounds = options.rounds or (1 if options.quick else 5)
    scale = QUICK if options.quick else FULL
    sources = options.corpus or ([] if options.quick else default_sources())
    entrants = make_entrants(TOKENIZERS)
    with tempfile.TemporaryDirectory(prefix="groundup-bench-") as folder:
        inputs = prepare_inputs(Path(folder), sources, scale)
        contest = Contest(inputs, scale, entrants, usable_cores(), rounds)
        record: dict[str, Any] = {
            "benchmark": "tokenizer",
            "date": time.strftime("%Y-%m-%d"),
            "machine": describe(),
            "threads": contest.threads,
            "rounds": rounds,
            "corpus": [path.name for path in sources] or ["toy stories"],
            "corpus_bytes": inputs.corpus_bytes,
            "vocabulary": inputs.vocabulary,
            "missing": {name: one.problem for name, one in entrants.items() if one.problem},
            "groups": {},
        }
        print(f"corpus of {inputs.corpus_bytes / 1e6:.1f} MB, vocabulary: {inputs.vocabulary}, {rounds} rounds")
        for name in options.only:
            record["groups"][name] = GROUPS[name](contest)
            print(f"\n{measures_table(name, record['groups'][name]['measures'])}", flush=True)
    for name, problem in record["missing"].items():
        print(f"{name} is missing: {problem}")
    folder = options.out or (None if options.quick else FOLDER)
    print(f"\n{keep_results(record, plot_measures, folder)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="The tokenizer: groundup against its peers.")
    parser.add_argument("--only", nargs="+", choices=list(GROUPS), default=list(GROUPS), help="parts (default: all)")
    parser.add_argument("--rounds", type=int, default=None, help="measurements of each (default: 5)")
    parser.add_argument(
        "--corpus", nargs="+", type=Path, default=None, help="text to use (default: ../shared/data, else toy stories)"
    )
    parser.add_argument("--quick", action="store_true", help="toy stories, 1 round; keeps nothing without --out")
    parser.add_argument("--out", type=Path, default=None, help="folder of the results (default: benchmarks/results)")
    return parser


if __name__ == "__main__":
    main()
