"""What each step from the readable tokenizer to the fast one brings, on one text.

    python benchmarks/ladder.py              about two minutes; writes benchmarks/results/
    python benchmarks/ladder.py --quick      a small text: does it all work?
    python benchmarks/ladder.py --corpus FILE ...

All rungs run in this process, in rounds that take turns. Ids and merges are compared before times count. The lesson
that goes with it: docs/lessons/tokenizer.md.
"""

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.ladder_encoding import EncodingRung, EncodingTexts, encoding_rungs
from bench.ladder_training import RUNGS_OF_TRAINING, SLOW_RUNGS
from bench.notes import say
from bench.plot import plot_ladder
from bench.results import FOLDER, keep_results
from bench.rounds import interleave, ratio, summarise
from bench.table import columns, significant
from bench.tokenizer_inputs import SHARED, default_sources, head, take_documents

from groundup import _native
from groundup.corpus import iter_documents
from groundup.data.toy_stories import write_corpus
from groundup.environment import describe
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator


@dataclass(frozen=True)
class Scale:
    """How much text, in bytes, and how many merges: few for all rungs, many for those that can."""

    encode: int
    encode_short: int  # for the reference
    train_short: int
    train: int
    few_merges: int
    many_merges: int


FULL = Scale(8_000_000, 100_000, 50_000, 4_000_000, 200, 5_000)
QUICK = Scale(200_000, 20_000, 5_000, 50_000, 20, 200)
SHORT_S = 0.2


def main() -> None:
    """Climb, print the tables, and write what came of it."""
    options = _parser().parse_args()
    rounds = options.rounds or (1 if options.quick else 5)
    scale = QUICK if options.quick else FULL
    sources = options.corpus or ([] if options.quick else default_sources()[:1])
    with tempfile.TemporaryDirectory(prefix="groundup-ladder-") as folder:
        paths = [str(path) for path in sources]
        if not paths:
            toy_stories = Path(folder) / "toy-stories.txt"
            write_corpus(toy_stories, size_bytes=3 * scale.encode)
            paths = [str(toy_stories)]
        documents = iter_documents(paths)
        text, other = ("".join(take_documents(documents, scale.encode)) for _ in range(2))
    tokenizer, vocabulary = _vocabulary(text, options.quick)
    record: dict[str, Any] = {
        "benchmark": "ladder",
        "date": time.strftime("%Y-%m-%d"),
        "machine": describe(),
        "instruction_set": _native.instruction_sets()[0],
        "threads": 2,
        "rounds": rounds,
        "corpus": [path.name for path in sources] or ["toy stories"],
        "vocabulary": vocabulary,
        "ladders": climb(text, other, tokenizer, scale, rounds),
    }
    for name, ladder in record["ladders"].items():
        print(f"\n{ladder_table(name, ladder)}", flush=True)
    folder = options.out or (None if options.quick else FOLDER)
    print(f"\n{keep_results(record, plot_ladder, folder)}")


def climb(text: str, other: str, tokenizer: Tokenizer, scale: Scale, rounds: int) -> dict[str, Any]:
    """The ladders by name: encoding, learning few merges, learning many."""
    encoded = text.encode()
    short = head(encoded, scale.encode_short).encode()
    texts = EncodingTexts(tokenizer.vocab, tokenizer.merges, short, encoded, other.encode())
    few = head(encoded, scale.train_short)
    many = head(encoded, scale.train)
    fast = [name for name in RUNGS_OF_TRAINING if name not in SLOW_RUNGS]
    return {
        "encode": climb_encoding(texts, rounds),
        "train, few merges": climb_training(few, scale.few_merges, list(RUNGS_OF_TRAINING), rounds),
        "train, many merges": climb_training(many, scale.many_merges, fast, rounds),
    }


def climb_encoding(texts: EncodingTexts, rounds: int) -> dict[str, Any]:
    """Bytes of text per second on each rung. Raises ValueError where one gives other ids."""
    rungs = encoding_rungs()
    ids = {text: list(texts.encoder().encode(text, False)) for text in (texts.short, texts.long)}
    for name, rung in rungs.items():
        for text in {texts.short, rung.text(texts)}:
            _same(name, _call(rung, texts, text)(), ids[text])
    _same("core", ids[texts.short], texts.reference().encode(texts.short.decode()))

    def measure(name: str) -> float:
        text = rungs[name].text(texts)
        return len(text) / _typical_s(lambda: _seconds(_call(rungs[name], texts, text)))

    try:
        rates = interleave(list(rungs), measure, rounds, lambda number: say(f"encode, round {number + 1}"))
    finally:
        _native.use_instruction_set(_native.instruction_sets()[0])
    bases = _rungs_before(rungs) | {name: rung.base for name, rung in rungs.items() if rung.base}
    facts = {
        name: {"adds": rung.adds, "text_bytes": len(rung.text(texts)), "in_python": rung.in_python}
        for name, rung in rungs.items()
    }
    return {"rungs": _concluded(facts, bases, rates)}


def climb_training(text: str, num_merges: int, names: Sequence[str], rounds: int) -> dict[str, Any]:
    """Bytes of text per second on each rung, counting included. Raises ValueError where one learns other merges."""
    size_bytes = len(text.encode())
    merges = RUNGS_OF_TRAINING[names[0]].learn(text, num_merges)
    for name in names[1:]:
        _same(name, RUNGS_OF_TRAINING[name].learn(text, num_merges), merges)

    def measure(name: str) -> float:
        learn = RUNGS_OF_TRAINING[name].learn
        return size_bytes / _typical_s(lambda: _seconds(lambda: learn(text, num_merges)))

    rates = interleave(names, measure, rounds, lambda number: say(f"{num_merges:,} merges, round {number + 1}"))
    rungs = {name: RUNGS_OF_TRAINING[name] for name in names}
    facts = {
        name: {"adds": rung.adds, "text_bytes": size_bytes, "in_python": rung.in_python} for name, rung in rungs.items()
    }
    return {"num_merges": len(merges), "rungs": _concluded(facts, _rungs_before(names), rates)}


def ladder_table(name: str, ladder: dict[str, Any]) -> str:
    """A row for each rung: MB/s with their range, and how many times faster than the rung it builds on."""
    rows = [[name, "MB/s", "low", "high", "gain"]]
    for rung, one in ladder["rungs"].items():
        rates = [significant(one["bytes_per_s"][key] / 1e6) for key in ("median", "low", "high")]
        rows.append([rung, *rates, significant(one["gain"]["median"]) if one["gain"] else ""])
    return "\n".join(columns(rows))


def _rungs_before(names: Iterable[str]) -> dict[str, str | None]:
    names = list(names)
    return dict(zip(names, [None, *names], strict=False))


def _concluded(
    facts: dict[str, dict[str, Any]], bases: dict[str, str | None], rates: dict[str, list[float]]
) -> dict[str, Any]:
    rungs: dict[str, Any] = {}
    for name, fact in facts.items():
        base = bases[name]
        rungs[name] = fact | {
            "bytes_per_s": asdict(summarise(rates[name])) | {"rounds": rates[name]},
            "base": base,
            "gain": asdict(ratio(rates[name], rates[base])) if base else None,
        }
    return rungs


def _call(rung: EncodingRung, texts: EncodingTexts, text: bytes) -> Callable[[], Any]:
    _native.use_instruction_set(rung.instruction_set or _native.instruction_sets()[0])
    return rung.prepare(texts, text)


def _seconds(call: Callable[[], object]) -> float:
    gc.collect()
    begin = time.perf_counter()
    result = call()
    elapsed_s = time.perf_counter() - begin
    del result  # giving its memory back is not part of the work
    return elapsed_s


def _typical_s(measure: Callable[[], float]) -> float:
    """What it measures; where that is short, the median of five: a second thread may be late once."""
    first = measure()
    return first if first > SHORT_S else statistics.median([first, *(measure() for _ in range(4))])


def _same(name: str, got: Sequence[object], expected: Sequence[object]) -> None:
    if list(got) != list(expected):
        raise ValueError(f"{name} gives another result than the rungs before: its time would mean nothing")


def _vocabulary(text: str, is_quick: bool) -> tuple[Tokenizer, str]:
    """GPT-2's, if it is there, else one learned from the text."""
    vocab, merges = SHARED / "gpt2" / "gpt2_vocab.json", SHARED / "gpt2" / "gpt2_merges.txt"
    if not is_quick and vocab.is_file() and merges.is_file():
        return Tokenizer.from_files(vocab, merges), "GPT-2"
    size = 500 if is_quick else 32_000
    return Tokenizer(*train_bpe_from_iterator([text], size)), f"{size:,} entries learned from the text"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="The tokenizer: what each step from simple to fast brings.")
    parser.add_argument("--rounds", type=int, default=None, help="measurements of each (default: 5)")
    parser.add_argument(
        "--corpus", nargs="+", type=Path, default=None, help="text to use (default: ../shared/data, else toy stories)"
    )
    parser.add_argument("--quick", action="store_true", help="a small text, 1 round; keeps nothing without --out")
    parser.add_argument("--out", type=Path, default=None, help="folder of the results (default: benchmarks/results)")
    return parser


if __name__ == "__main__":
    main()
