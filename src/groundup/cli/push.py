"""`groundup push FOLDER USER/NAME`: an exported folder to the Hugging Face Hub."""

import argparse
from pathlib import Path

from groundup.cli.parser import Parser


def main(arguments: list[str]) -> int:
    """Upload, and print the address of what was made."""
    options = _parser().parse_args(arguments)

    from groundup.interop.push import push

    print(push(options.folder, options.repository, private=options.private, endpoint=options.endpoint))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup push",
        description="Upload an exported folder to the Hugging Face Hub. Log in with `hf auth login` or set HF_TOKEN.",
        example="groundup push exports/demo somebody/little-stories --private",
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="folder that `groundup export` wrote")
    parser.add_argument("repository", metavar="USER/NAME", help="repository on the Hub, made where there is none")
    parser.add_argument("--private", action="store_true", help="a new repository is seen by its owner only")
    parser.add_argument("--endpoint", metavar="URL", help="another Hub (default: the public one, or HF_ENDPOINT)")
    return parser
