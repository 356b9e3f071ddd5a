"""What a benchmark says while it runs: on stderr, so that stdout holds the results."""

import sys


def say(text: str) -> None:
    """Print it at once."""
    print(text, file=sys.stderr, flush=True)
