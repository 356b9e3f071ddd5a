"""`groundup report`: pages of experiments and runs gathered into one static site."""

import argparse

from groundup.cli.parser import Parser


def main(arguments: list[str]) -> int:
    """Write the site and say where it is."""
    options = _parser().parse_args(arguments)

    from groundup.experiments.site import write_site

    print(f"site: {write_site(options.folders, options.out)}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup report",
        description="Gather the pages of experiments and the runs found below the folders into one site that opens in "
        "a browser without a server.",
        example="groundup report docs/experiments runs --out site",
    )
    parser.add_argument("folders", nargs="+", metavar="FOLDER", help="folder of pages or runs, searched to its depth")
    parser.add_argument("--out", default="site", metavar="FOLDER", help="folder of the site (default: site)")
    return parser
