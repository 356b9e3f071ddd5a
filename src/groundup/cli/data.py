"""`groundup data`: download public text, prepare text for training, and look at what was prepared."""

import argparse
import dataclasses
import json
import time
from shlex import quote
from typing import Any

from groundup.cli.parser import Parser, typed_text
from groundup.cli.progress import Counter
from groundup.corpus import END_OF_TEXT
from groundup.data.sources import CORPORA
from groundup.experiments.quantities import duration, size


def main(arguments: list[str]) -> int:
    """Run the subcommand that was named."""
    options = _parser().parse_args(arguments)
    return options.run(options)


def download(options: argparse.Namespace) -> int:
    """Download a public corpus and say how to go on."""
    from groundup.data.download import download

    shown: dict[str, Counter] = {}

    def close() -> None:
        for counter in shown.values():
            counter.close()

    def progress(name: str, done: int, total: int | None) -> None:
        if name not in shown:
            close()
            shown[name] = Counter(f"downloading {name}", unit=size, start=done)
        shown[name](done, total)

    out = options.out or f"data/{options.corpus}"
    done = download(options.corpus, out, endpoint=options.endpoint, progress=progress)
    close()
    files = {"train": done.train, "valid": done.valid}
    if options.json:
        figures = {name: None if path is None else str(path) for name, path in files.items()}
        print(json.dumps({"corpus": done.corpus.name, "licence": done.corpus.licence, **figures}))
        return 0
    print(f"corpus   {done.corpus.title}")
    print(f"licence  {done.corpus.licence} ({done.corpus.page})")
    for name, path in files.items():
        if path is not None:
            print(f"{name:<8} {path}, {size(path.stat().st_size)}" + (", was there already" if done.was_there else ""))
    valid = f" --valid {quote(str(done.valid))}" if done.valid is not None else ""
    words, ids = (quote(f"{out}/{name}") for name in ("tokenizer.json", "ids"))
    print(f"go on    groundup tokenizer train {quote(str(done.train))} --vocab_size 10000 --out {words}")
    print(f"         groundup data prepare {quote(str(done.train))}{valid} --tokenizer {words} --out {ids}")
    return 0


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
        weights=options.weights,
        mix_until=options.mix_until,
        dedup=options.dedup,
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
    _print_origins(manifest)
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
    _print_origins(summary)
    print(f"distinct ids   {summary.distinct_tokens:,} in the first {summary.counted_tokens:,}")
    print("commonest      " + "  ".join(f"{token.text!r} {100 * token.share:.1f}%" for token in summary.top_tokens))
    whole = "first document" if summary.first_document_is_whole else "first document, its beginning"
    print(f"\n--- {whole} ---\n{summary.first_document.strip()}")
    return 0


def _print_origins(data: Any) -> None:
    """What was mixed, and what was left out, of a manifest or a summary of one."""
    total = sum(corpus.bytes for corpus in data.mixture)
    for corpus in data.mixture:
        print(
            f"{100 * corpus.bytes / total:5.1f}% {corpus.documents:>9,} documents  {size(corpus.bytes):>9}  "
            f"of {corpus.source}, weight {corpus.weight:g}, begun {corpus.passes:,} x"
        )
    if data.left_out is not None:
        print(f"left out {data.left_out.documents:,} copies of documents, {size(data.left_out.bytes)}")


def _weights(text: str) -> list[float]:
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers, such as 3,1") from None


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup data",
        description="From documents to token ids on disk.",
        example="groundup data prepare stories.txt --tokenizer tokenizer.json --out data/stories",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="download|prepare|inspect")
    _add_download(commands)
    _add_prepare(commands)
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


def _add_download(commands: Any) -> None:
    listed = "\n".join(f"  {corpus.name:<12} {corpus.title}; {corpus.licence}" for corpus in CORPORA.values())
    sub = commands.add_parser(
        "download",
        help="fetch a public corpus",
        description=f"Fetch a public corpus; broken off, the same command goes on.\n\n{listed}",
        example="groundup data download tinystories --out data/tinystories",
    )
    sub.add_argument("corpus", choices=CORPORA, metavar="|".join(CORPORA))
    sub.add_argument("--out", metavar="FOLDER", help="default: data/ and the name of the corpus")
    sub.add_argument("--endpoint", metavar="URL", help="another Hub (default: the public one, or HF_ENDPOINT)")
    sub.add_argument("--json", action="store_true", help="print where the files are as JSON")
    sub.set_defaults(run=download)


def _add_prepare(commands: Any) -> None:
    sub = commands.add_parser(
        "prepare",
        help="tokenise documents into shards",
        description="Tokenise documents (.txt .jsonl .parquet, also .gz .zst; globs) into shards and a manifest.",
        example="groundup data prepare train.txt --valid valid.txt --tokenizer tokenizer.json --out data/stories\n"
        "  groundup data prepare web.jsonl books.txt --weights 3,1 --dedup --tokenizer tokenizer.json --out data/mix",
    )
    sub.add_argument("files", nargs="+", metavar="FILE")
    sub.add_argument("--tokenizer", required=True, metavar="FILE", help="tokenizer.json")
    sub.add_argument("--out", required=True, metavar="FOLDER")
    sub.add_argument("--valid", nargs="+", metavar="FILE", help="held-out text; without it a part is split off")
    sub.add_argument("--valid_fraction", type=float, default=0.05, help="part of the documents held out (0.05)")
    sub.add_argument(
        "--weights", type=_weights, metavar="W,W", help="share of each FILE in the training text: 3,1 for three to one"
    )
    sub.add_argument(
        "--mix_until",
        choices=("all", "first"),
        default="all",
        help="mix until all are used up, repeating the others (all), or until the first is",
    )
    sub.add_argument("--dedup", action="store_true", help="leave out documents that are copies, byte for byte")
    sub.add_argument(
        "--separator", type=typed_text, default=END_OF_TEXT, help=f"between documents in plain text ({END_OF_TEXT})"
    )
    sub.add_argument("--text_field", type=typed_text, default="text", help="field of .jsonl, column of .parquet (text)")
    sub.add_argument("--threads", type=int, default=None, help="default: all usable cores; the result is the same")
    sub.add_argument("--json", action="store_true", help="print the manifest as JSON")
    sub.set_defaults(run=prepare)
