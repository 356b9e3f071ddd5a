"""The command: `python -m fuzz --seconds 60 [--seed 0] [--only encoding ...]` or `--case encoding:0:17`."""

import argparse
import random
import sys

from fuzz import decoding, encoding, loading, storing, streaming, training
from fuzz.runner import LIMIT_S, case_of, run, run_case

TARGETS = [
    target for module in (training, encoding, decoding, streaming, loading, storing) for target in module.TARGETS
]


def main(arguments: list[str] | None = None) -> int:
    """0 if nothing was found, 1 otherwise."""
    names = [target.name for target in TARGETS]
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, help="default: a new one each time, which is printed")
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="TARGET", help=", ".join(names))
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds that one case may take")
    parser.add_argument("--case", help="check one input again, such as encoding:0:17")
    options = parser.parse_args(arguments)
    if options.case:
        return 0 if run_case(case_of(options.case, TARGETS)) else 1
    seed = random.SystemRandom().randrange(10**9) if options.seed is None else options.seed
    chosen = [target for target in TARGETS if target.name in options.only]
    return 0 if run(chosen, seed, options.seconds, limit_s=options.limit) else 1


if __name__ == "__main__":
    sys.exit(main())
