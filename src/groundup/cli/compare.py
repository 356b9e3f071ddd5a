"""`groundup compare`: several runs in a table, with the settings in which they differ, and their curves."""

import argparse
import json

from groundup.cli.parser import Parser


def main(arguments: list[str]) -> int:
    """Print the table; with --out draw the curves as well."""
    options = _parser().parse_args(arguments)

    from groundup.experiments.comparison import compare_runs, picture, text_table

    comparison = compare_runs(options.runs)
    rows = comparison.rows()
    if options.out:
        picture(comparison, options.out)
    if options.json:
        # NaN stands for what a run has not; JSON has null for that.
        print(json.dumps([{key: value if value == value else None for key, value in row.items()} for row in rows]))
        return 0
    print(text_table(rows))
    if "model.vocab_size" in comparison.settings:
        print("the vocabularies differ: losses are of other tokens, bits/byte can be compared (groundup eval RUN RUN)")
    if options.out:
        print(f"picture: {options.out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup compare",
        description="What several runs reached, side by side, with the settings in which they differ.",
        example="groundup compare runs/a runs/b --out curves.png",
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder")
    parser.add_argument("--out", metavar="PICTURE", help="draw the validation curves (.png, .svg, .pdf)")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    return parser
