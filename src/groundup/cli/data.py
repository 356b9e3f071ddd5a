"""`groundup data`: prepare text for training, and look at what was prepared."""

import argparse
import dataclasses
import json
import time

from groundup.cli.parser import Parser, typed_text
from groundup.cli.progress import Counter
from groundup.corpus import END_OF_TEXT
from groundup.experiments.quantities import duration, size


def main(arguments: list[str]) -> int:
    """Run the subcommand that was named."""
    options = _parser().parse_args(arguments)
    return options.run(options)


def prepare(options: argparse.Namespace) -> int:
    """Tokenise documents into shards, with a part held out."""
    from groundup.data.shards import prepare
    from groundup.tokenizer.bpe import Tokenizer

    tokenizer = Tokenizer.load(options.tokenizer)
    start = time.monotonic()
    shown = Counter("tokenising", unit=size)
    manifest = prepare(
        options.files,
        tokenizer,
        options.out,
        valid_paths=options.valid,
        valid_fraction=options.valid_fraction,
        separator=options.separator or None,
        text_field=options.text_field,
        num_workers=options.threads,
        progress=shown,
    )
    shown.close()
    elapsed_s = time.monotonic() - start
    if options.json:
        print(json.dumps({"data": options.out, "seconds": round(elapsed_s, 3), **dataclasses.asdict(manifest)}))
        return 0
    for name, split in manifest.splits.items():
        print(f"{name:<6} {split.documents:>9,} documents  {size(split.bytes):>9}  {split.tokens:>12,} tokens")
    if manifest.held_out == "tail":
        print("the corpus has few documents: its last part is held out (or give a text with --valid)")
    print(f"written to {options.out} in {duration(elapsed_s)}")
    return 0


def inspect(options: argparse.Namespace) -> int:
    """Show what a prepared folder holds."""
    from groundup.data.inspect import summarize

    summary = summarize(options.folder)
    facts = dataclasses.asdict(summary)
    if options.json:
        print(json.dumps(facts, ensure_ascii=False, default=str))
        return 0
    print(f"folder         {summary.folder}")
    print(f"ids            {summary.dtype}, vocabulary of {summary.vocab_size:,}")
    print(f"tokenizer      {summary.tokenizer}")
    print(f"held out by    {summary.held_out}")
    for name, split in summary.splits.items():
        print(
            f"{name:<14} {split.documents:,} documents, {size(split.bytes)}, {split.tokens:,} tokens "
            f"({summary.bytes_per_token[name]:.2f} bytes each), shards: {len(split.shards)}"
        )
    print(f"distinct ids   {summary.distinct_tokens:,} in the first {summary.counted_tokens:,}")
    print("commonest      " + "  ".join(f"{token.text!r} {100 * token.share:.1f}%" for token in summary.top_tokens))
    whole = "first document" if summary.first_document_is_whole else "first document, its beginning"
    print(f"\n--- {whole} ---\n{summary.first_document.strip()}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup data",
        description="From documents to token ids on disk.",
        example="groundup data prepare stories.txt --tokenizer tokenizer.json --out data/stories",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="prepare|inspect")
    sub = commands.add_parser(
        "prepare",
        help="tokenise documents into shards",
        description="Tokenise documents (.txt .jsonl .parquet, also .gz .zst; globs) into shards and a manifest.",
        example="groundup data prepare train.txt --valid valid.txt --tokenizer tokenizer.json --out data/stories",
    )
    sub.add_argument("files", nargs="+", metavar="FILE")
    sub.add_argument("--tokenizer", required=True, metavar="FILE", help="tokenizer.json")
    sub.add_argument("--out", required=True, metavar="FOLDER")
    sub.add_argument("--valid", nargs="+", metavar="FILE", help="held-out text; without it a part is split off")
    sub.add_argument("--valid_fraction", type=float, default=0.05, help="part of the documents held out (0.05)")
    sub.add_argument(
        "--separator", type=typed_text, default=END_OF_TEXT, help=f"between documents in plain text ({END_OF_TEXT})"
    )
    sub.add_argument("--text_field", type=typed_text, default="text", help="field of .jsonl, column of .parquet (text)")
    sub.add_argument("--threads", type=int, default=None, help="default: all usable cores; the result is the same")
    sub.add_argument("--json", action="store_true", help="print the manifest as JSON")
    sub.set_defaults(run=prepare)

    sub = commands.add_parser(
        "inspect",
        help="look at prepared data",
        description="Counts, tokenizer, first document and commonest tokens of a prepared folder.",
        example="groundup data inspect data/stories",
    )
    sub.add_argument("folder", metavar="FOLDER")
    sub.add_argument("--json", action="store_true")
    sub.set_defaults(run=inspect)
    return parser
