"""The `groundup` command: finds the command asked for, runs it, and turns errors into one sentence.

Only the module of the command that was named is imported, so that `groundup tokenizer encode` starts
without torch. Results go to stdout, progress and notes to stderr. Exit codes: 0 done, 1 failed,
2 the command line could not be used, 130 interrupted.
"""

import importlib
import io
import logging
import os
import sys
from collections.abc import Sequence

from groundup import __version__
from groundup.cli.parser import USAGE, nearest
from groundup.errors import ConfigError, GroundupError

COMMANDS = {
    "demo": "the whole path in minutes, offline: text, tokenizer, model, stories, report",
    "run": "a text of your own, in the time you give: plan, train, report",
    "data": "download public text, prepare text for training, look at what was prepared",
    "tokenizer": "train a vocabulary; encode, decode, inspect",
    "train": "train a model by a recipe",
    "eval": "loss, perplexity and bits per byte on held-out text",
    "generate": "continue a prompt",
    "experiment": "answer a question of the specification by runs: tables, pictures, a page",
    "sweep": "a grid over settings of a recipe, or a search",
    "compare": "several runs in a table and a picture",
    "report": "pages and runs as one site that opens without a server",
    "watch": "a run's curve and newest text in the terminal",
    "export": "a run in the form that other programs load: Hugging Face, GGUF, llama2.c",
    "import": "a model of another program as a run, to generate with and to train on",
    "push": "an exported folder to the Hugging Face Hub",
    "account": "parameters, FLOPs and memory of a configuration",
    "doctor": "what this machine has, what will be used and why",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line `arguments` (default: the process's own); returns the exit code."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in arguments
    arguments = [argument for argument in arguments if argument != "--debug"]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_help())
        return 0 if arguments else USAGE
    if arguments[0] == "--version":
        print(f"groundup {__version__}")
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        print(f"groundup: error: unknown command {name!r}{nearest(name, COMMANDS)}", file=sys.stderr)
        return USAGE
    logging.basicConfig(level=logging.DEBUG if debug else logging.INFO, format="%(message)s", stream=sys.stderr)
    _quiet_others()
    _print_anything()
    # Threads that wait for each other by spinning starve when anything else wants the cores: one busy
    # neighbour on two cores made training seven times slower. To be set before torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        return importlib.import_module(f"groundup.cli.{name}").main(arguments[1:]) or 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 1
    except KeyboardInterrupt:
        print("\ngroundup: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of our output went away (`| head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (GroundupError, OSError, MemoryError) as error:
        if debug:
            raise
        print(f"groundup {name}: error: {_sentence(error)}", file=sys.stderr)
        return USAGE if isinstance(error, ConfigError) else 1
    except RuntimeError as error:  # how torch says that memory ran out
        if debug or "memory" not in str(error):
            raise
        print(f"groundup {name}: error: out of memory; take a smaller batch or fewer samples", file=sys.stderr)
        return 1


def _sentence(error: BaseException) -> str:
    """One line that says what went wrong, for errors of ours and of the system."""
    if isinstance(error, OSError) and error.strerror:
        where = f": {error.filename}" if error.filename else ""
        return f"{error.strerror}{where}"
    if isinstance(error, MemoryError):
        return "out of memory"
    return " ".join(str(error).split())


def _quiet_others() -> None:
    """Other libraries' chatter is not ours to print."""
    for library in ("matplotlib", "fsspec", "urllib3", "torch", "asyncio"):
        logging.getLogger(library).setLevel(logging.ERROR)


def _print_anything() -> None:
    """A terminal that lacks a character (cp1252, say) gets its escape, instead of us an exception.

    Bytes of the input that are no text reach the tokenizer as lone surrogates, and it says where they stand.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")


def _help() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "usage: groundup COMMAND [options]",
            "",
            "Language models from the ground up: raw text to a trained, measured language model.",
            "",
            "commands:",
            *lines,
            "",
            "groundup COMMAND --help explains one; --debug shows the traceback of an error; --version.",
        ]
    )
