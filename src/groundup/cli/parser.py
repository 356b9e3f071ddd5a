"""The parser every command uses: options in full, one-sentence errors, a hint at the nearest name."""

import argparse
import difflib
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

USAGE = 2  # exit code for a command line that cannot be used


class Parser(argparse.ArgumentParser):
    """argparse with no abbreviations, examples kept as typed, and errors of one sentence."""

    def __init__(self, *args, example: str = "", **kwargs) -> None:
        kwargs.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        kwargs.setdefault("allow_abbrev", False)
        if example:
            kwargs["epilog"] = f"example:\n  {example}"
        super().__init__(*args, **kwargs)

    def parse_args(self, args: Sequence[str] | None = None, namespace=None):  # type: ignore[override]
        """Parse; an option that does not exist is answered with the one that is nearest in spelling."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            name = unknown[0].split("=")[0]
            others = [option for option in self._options() if option != name]  # another subcommand may have it
            self.error(f"unknown option {unknown[0]}{nearest(name, others)}")
        return parsed

    def error(self, message: str) -> NoReturn:
        """Print one sentence to stderr and leave with the exit code for usage."""
        print(f"{self.prog}: error: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(USAGE)

    def _options(self) -> list[str]:
        """Every option of this parser and of the subcommands below it."""
        names: list[str] = []
        for action in self._actions:
            names += action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for child in action.choices.values():
                    names += child._options()
        return names


def typed_text(word: str) -> str:
    r"""A text argument as it was typed, for `type=`.

    Where the locale cannot spell UTF-8, Python hands over its bytes as lone surrogates. Bytes that are no UTF-8
    stay so, and the tokenizer says where they stand.

    >>> typed_text("O\udcc3\udcb9 \u00e9")
    'Où é'
    """
    try:
        return word.encode("utf-8", "surrogateescape").decode("utf-8")
    except UnicodeError:
        return word


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint at the closest of `names`, ready to follow a message, or nothing.

    >>> nearest("--promt", ["--prompt", "--seed"])
    '; did you mean --prompt?'
    """
    found = difflib.get_close_matches(name, list(names), n=1, cutoff=0.6)
    return f"; did you mean {found[0]}?" if found else ""
