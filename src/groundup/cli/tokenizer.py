"""`groundup tokenizer`: train a vocabulary, encode, decode, and look inside one. Starts without torch."""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from groundup.cli.parser import Parser, typed_text
from groundup.cli.progress import Counter
from groundup.corpus import END_OF_TEXT
from groundup.errors import ConfigError, DataError
from groundup.experiments.quantities import duration, size
from groundup.tokenizer.patterns import GPT2_PATTERN

if TYPE_CHECKING:
    from groundup.tokenizer.bpe import Tokenizer


def main(arguments: list[str]) -> int:
    """Run the subcommand that was named."""
    options = _parser().parse_args(arguments)
    return options.run(options)


def train(options: argparse.Namespace) -> int:
    """Learn a vocabulary from text and write it as tokenizer.json."""
    out = Path(options.out)
    if out.is_dir():
        out = out / "tokenizer.json"
    start = time.monotonic()
    tokenizer = _learn(options)
    tokenizer.save(out)
    elapsed_s = time.monotonic() - start
    facts = {
        "tokenizer": str(out),
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "seconds": round(elapsed_s, 3),
        "fingerprint": tokenizer.fingerprint,
    }
    if options.json:
        print(json.dumps(facts))
        return 0
    if tokenizer.vocab_size < options.vocab_size:
        limits = " within the limits given" if options.min_frequency > 1 or options.max_token_length else ""
        print(f"note: the text supports only {tokenizer.vocab_size:,} entries{limits}", file=sys.stderr)
    print(f"{tokenizer.vocab_size:,} entries, {facts['merges']:,} merges, {duration(elapsed_s)}: {out}")
    return 0


def _learn(options: argparse.Namespace) -> "Tokenizer":
    """A new tokenizer, or the one to continue from with more entries, all others under their old ids."""
    from groundup.tokenizer.bpe import Tokenizer, train_bpe

    base = None
    special = [END_OF_TEXT] if options.special is None else options.special
    num_outside = 0  # entries that are neither bytes nor special tokens nor come from merges
    if options.continue_from is not None:
        if options.special is not None:
            raise ConfigError("--special cannot be given with --continue_from, whose special tokens stay as they are")
        base = _load(options.continue_from)
        if base.normalization:
            raise ConfigError(
                f"{options.continue_from} normalizes text ({base.normalization}), which training does not do: "
                "continue from another tokenizer"
            )
        special = list(base.special_tokens)
        num_outside = len(base.vocab) - 256 - len(special) - len(base.merges)
        if options.vocab_size < len(base.vocab):
            raise ConfigError(
                f"--vocab_size is {options.vocab_size}; {options.continue_from} has {len(base.vocab)} entries "
                "already, so it must be at least as much"
            )
    shown = {"count": Counter("reading", unit=size), "merge": Counter("merging", unit="{:,.0f}".format)}
    try:
        vocab, merges = train_bpe(
            options.files,
            options.vocab_size - num_outside,
            special,
            merges=base.merges if base else (),
            min_frequency=options.min_frequency,
            max_token_length=options.max_token_length,
            pattern=base.pattern if base else GPT2_PATTERN,
            num_threads=options.threads,
            progress=lambda stage, done, total: shown[stage](done, total),
        )
    finally:
        for counter in shown.values():
            counter.close()
    return Tokenizer(vocab, merges, special) if base is None else _with_merges(base, merges)


def _with_merges(base: "Tokenizer", merges: list[tuple[bytes, bytes]]) -> "Tokenizer":
    """The tokenizer with more merges than its own, what they make under the ids after its largest."""
    from groundup.tokenizer.bpe import Tokenizer
    from groundup.tokenizer.vocabulary import make_vocabulary

    vocab = base.vocab
    known = set(vocab.values())
    learned = [left + right for left, right in merges[len(base.merges) :] if left + right not in known]
    vocab.update(enumerate(learned, start=max(vocab) + 1))
    return Tokenizer.from_vocabulary(
        make_vocabulary(vocab, merges, base.special_tokens, base.pattern, ignore_merges=base.ignore_merges)
    )


def encode(options: argparse.Namespace) -> int:
    """Print the ids of a text (the argument, a file, or standard input)."""
    tokenizer = _load(options.tokenizer)
    text = _text(options)
    ids = tokenizer.encode(text, special=options.special)
    if options.json:
        pieces = [tokenizer.token_bytes(id).decode("utf-8", errors="replace") for id in ids]
        print(json.dumps({"ids": ids, "tokens": pieces}, ensure_ascii=False))
    else:
        print(" ".join(map(str, ids)))
    return 0


def decode(options: argparse.Namespace) -> int:
    """Print the text of ids given as arguments or on standard input."""
    tokenizer = _load(options.tokenizer)
    words = options.ids or sys.stdin.read().replace(",", " ").replace("[", " ").replace("]", " ").split()
    try:
        ids = [int(word) for word in words]
    except ValueError as error:
        raise DataError(f"ids must be whole numbers: {error}") from None
    sys.stdout.flush()
    sys.stdout.buffer.write(tokenizer.decode_bytes(ids))
    if sys.stdout.isatty():
        print()
    return 0


def inspect(options: argparse.Namespace) -> int:
    """Show size, fingerprint, longest entries and, for a text, how it is cut."""
    from groundup.tokenizer.patterns import scanner_name

    tokenizer = _load(options.tokenizer)
    entries = sorted(tokenizer.vocab.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    special = set(tokenizer.special_tokens.values())
    longest = [token.decode("utf-8", errors="backslashreplace") for id, token in entries if id not in special][:10]
    facts = {
        "vocab_size": tokenizer.vocab_size,
        "merges": len(tokenizer.merges),
        "special_tokens": tokenizer.special_tokens,
        "pattern": scanner_name(tokenizer.pattern) or tokenizer.pattern,
        "ignore_merges": tokenizer.ignore_merges,
        "normalization": tokenizer.normalization,
        "fingerprint": tokenizer.fingerprint,
        "bytes_per_id": 2 if tokenizer.vocab_size <= 65_536 else 4,
        "longest": longest,
    }
    if options.text is not None:
        ids = tokenizer.encode(options.text)
        facts["tokens"] = [tokenizer.token_bytes(id).decode("utf-8", errors="backslashreplace") for id in ids]
        facts["ids"] = ids
    if options.json:
        print(json.dumps(facts, ensure_ascii=False))
        return 0
    print(f"entries         {facts['vocab_size']:,} ({facts['merges']:,} merges)")
    print(f"special tokens  {' '.join(f'{token}={id}' for token, id in tokenizer.special_tokens.items()) or 'none'}")
    how = [f"after {tokenizer.normalization}"] * bool(tokenizer.normalization)
    how += ["whole words are looked up first"] * tokenizer.ignore_merges
    print(f"cut by          {', '.join([facts['pattern'], *how])}")
    print(f"bytes per id    {facts['bytes_per_id']}")
    print(f"fingerprint     {facts['fingerprint']}")
    print(f"longest         {'  '.join(repr(token) for token in longest)}")
    if options.text is not None:
        print(f"the text        {len(facts['ids'])} tokens: {'|'.join(facts['tokens'])}")
    return 0


def _load(path: str) -> "Tokenizer":
    from groundup.tokenizer.bpe import Tokenizer

    return Tokenizer.load(path)


def _text(options: argparse.Namespace) -> str:
    if options.text is not None and options.file is not None:
        raise ConfigError("give a text or --file, not both")
    if options.text is not None:
        return options.text
    content = sys.stdin.buffer.read() if options.file is None else Path(options.file).read_bytes()
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{options.file or 'standard input'} is not UTF-8 at byte offset {error.start}") from None


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup tokenizer",
        description="Byte-level BPE: text to ids and back.",
        example="groundup tokenizer train stories.txt --vocab_size 10000 --out tokenizer.json",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="train|encode|decode|inspect")
    sub = commands.add_parser(
        "train",
        help="learn a vocabulary from text",
        description="Learn a vocabulary from text files (.txt .jsonl .parquet, also .gz .zst; globs).",
        example="groundup tokenizer train 'stories/*.txt' --vocab_size 10000 --out tokenizer.json",
    )
    sub.add_argument("files", nargs="+", metavar="FILE")
    sub.add_argument("--vocab_size", type=int, required=True, help="256 bytes + special tokens + merges")
    sub.add_argument("--out", required=True, metavar="FILE", help="tokenizer.json to write")
    sub.add_argument(
        "--special", type=typed_text, action="append", metavar="TOKEN", help=f"special token (default: {END_OF_TEXT})"
    )
    sub.add_argument(
        "--continue_from", metavar="TOKENIZER", help="a tokenizer to add entries to; those it has keep their ids"
    )
    sub.add_argument(
        "--min_frequency",
        type=int,
        default=1,
        metavar="N",
        help="never merge a pair that occurs less often (default: 1)",
    )
    sub.add_argument(
        "--max_token_length", type=int, metavar="BYTES", help="never make a longer token (default: any length)"
    )
    sub.add_argument("--threads", type=int, default=None, help="default: all usable cores; the result is the same")
    sub.add_argument("--json", action="store_true")
    sub.set_defaults(run=train)

    sub = commands.add_parser(
        "encode",
        help="text to ids",
        description="Text to ids: the argument, --file, or standard input.",
        example='groundup tokenizer encode tokenizer.json "Once upon a time"',
    )
    sub.add_argument("tokenizer", metavar="TOKENIZER", help="tokenizer.json, or a folder that holds one")
    sub.add_argument("text", type=typed_text, nargs="?")
    sub.add_argument("--file", metavar="FILE")
    sub.add_argument(
        "--special",
        choices=("token", "text", "error"),
        default="token",
        help="what the spelling of a special token in the text is",
    )
    sub.add_argument("--json", action="store_true", help="ids and tokens as JSON")
    sub.set_defaults(run=encode)

    sub = commands.add_parser(
        "decode",
        help="ids to text",
        description="Ids to text: the arguments, or standard input.",
        example="groundup tokenizer decode tokenizer.json 464 2068 7586",
    )
    sub.add_argument("tokenizer", metavar="TOKENIZER")
    sub.add_argument("ids", nargs="*", metavar="ID")
    sub.set_defaults(run=decode)

    sub = commands.add_parser(
        "inspect",
        help="look inside a tokenizer",
        description="Size, special tokens, fingerprint, longest entries; with --text how it is cut.",
        example='groundup tokenizer inspect tokenizer.json --text "Once upon a time"',
    )
    sub.add_argument("tokenizer", metavar="TOKENIZER")
    sub.add_argument("--text", type=typed_text)
    sub.add_argument("--json", action="store_true")
    sub.set_defaults(run=inspect)
    return parser
