"""The parts of the benchmark of the tokenizer, each from inputs to outcomes."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.commands import measure_loading, measure_shards
from bench.merges import Merge, check, count_words
from bench.notes import say
from bench.sessions import OURS, Answers, Entrant, Session, facts_of, play_rounds, read
from bench.tokenizer_inputs import ADVERSARIAL, Inputs, Scale
from bench.tokenizer_peers import TOKENIZERS, TokenizerPeer
from bench.tokenizer_sessions import adversarial_sessions, encoding_sessions, training_sessions, write_references

Outcomes = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Contest:
    """What all parts need: files, how much of everything, who there is, threads and rounds."""

    inputs: Inputs
    scale: Scale
    entrants: Mapping[str, Entrant]
    threads: int
    rounds: int

    def those(self, wanted: Callable[[TokenizerPeer], object]) -> list[Entrant]:
        """Everyone of whom `wanted` holds, ours first."""
        return [self.entrants[one.peer.name] for one in TOKENIZERS if wanted(one)]


def run_training(contest: Contest) -> dict[str, Any]:
    """Seconds and peak memory of training; whose merges are wrong is not measured."""
    trainers = contest.those(lambda one: one.trains)
    sessions = training_sessions(contest.inputs, contest.scale, contest.threads)
    played = [_play(session, trainers, contest.rounds) for session in sessions]
    say("train: checking the merges of everyone on counted words (minutes)")
    problems, agreement = check_merges(contest, [entrant.name for entrant in trainers], played)
    outcomes: Outcomes = {}
    for session, rounds, vocab_size in zip(sessions, played, contest.scale.vocab_sizes, strict=True):
        for name, problem in problems[vocab_size].items():
            for answers in rounds[name]:
                answers["train"].setdefault("problem", problem)
        outcomes |= read(session, rounds)
    return {"measures": outcomes, "facts": _facts(played), "agreement": agreement}


def check_merges(
    contest: Contest, names: Sequence[str], played: Sequence[Mapping[str, Sequence[Answers]]]
) -> tuple[dict[int, dict[str, str]], dict[str, dict[str, Any]]]:
    """What is wrong with anyone's merges by size of vocabulary, and how far each agrees with ours in pair counts.

    Merges learned for a smaller vocabulary are looked at only if the larger one's do not begin with them.
    """
    units = {one.peer.name: one.trains for one in TOKENIZERS}
    words = {unit: count_words(contest.inputs.corpus, by_lines=unit == "lines") for unit in {units[n] for n in names}}
    sizes = sorted(contest.scale.vocab_sizes, reverse=True)
    problems: dict[int, dict[str, str]] = {size: {} for size in sizes}
    counts: dict[str, list[int]] = {}
    for name in names:
        right: list[Merge] = []
        for size in sizes:
            rounds = played[contest.scale.vocab_sizes.index(size)][name]
            if any(answers["train"].get("problem") for answers in rounds):
                continue  # told already
            if len({answers["train"]["digest"] for answers in rounds}) > 1:
                problems[size][name] = "other merges in another round"
                continue
            merges = read_merges(contest.inputs.folder / f"merges-{name}-{size}.json")
            if merges == right[: size - 257]:
                continue
            found, problem = check(words[units[name]], merges, size - 257)
            if problem:
                problems[size][name] = problem
            elif not right:
                right, counts[name] = merges, found
    agreement = {
        name: {"counted_in": units[name], "num_merges": len(found), "as_ours": agreeing(found, counts.get(OURS, []))}
        for name, found in counts.items()
    }
    return problems, agreement


def agreeing(counts: Sequence[int], others: Sequence[int]) -> int:
    """How many pair counts are the same from the beginning on.

    >>> agreeing([9, 8, 5], [9, 8, 6])
    2
    """
    pairs = zip(counts, others, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(counts), len(others)))


def read_merges(path: Path) -> list[Merge]:
    """What a worker wrote."""
    pairs = json.loads(path.read_text(encoding="utf-8"))
    return [(bytes.fromhex(left), bytes.fromhex(right)) for left, right in pairs]


def run_encoding(contest: Contest) -> dict[str, Any]:
    """MB/s of text to ids and back."""
    texts = [name for name in ("English", "unseen", "multilingual") if name in contest.inputs.texts]
    references, unknown = _references(contest, texts, ["English", "small"])
    if unknown:
        raise SystemExit(f"no reference ids: {unknown}")
    return _encode(contest, encoding_sessions(contest.inputs, references, contest.threads))


def run_adversarial(contest: Contest) -> dict[str, Any]:
    """MB/s on bad inputs, and how the time grows with their length."""
    texts = [f"{kind} {size}" for kind in ADVERSARIAL for size in contest.scale.adversarial_bytes]
    references, unknown = _references(contest, texts, [])
    sessions = adversarial_sessions(contest.inputs, references, contest.scale)
    return _encode(contest, sessions) | {"without_reference": unknown}


def run_loading(contest: Contest) -> dict[str, Any]:
    """Milliseconds of import and vocabulary."""
    say("load")
    rounds, loads = contest.rounds, contest.scale.num_loads
    return {"measures": measure_loading(TOKENIZERS, contest.entrants, contest.inputs, rounds=rounds, loads=loads)}


def run_shards(contest: Contest) -> dict[str, Any]:
    """Our command line against our encoding in memory."""
    references, unknown = _references(contest, [], ["first file"])
    if unknown:
        raise SystemExit(f"no reference ids: {unknown}")
    say("shards")
    ours, reference = contest.entrants[OURS], references["first file documents"]
    measures = measure_shards(ours, contest.inputs, reference, threads=contest.threads, rounds=contest.rounds)
    return {"measures": measures}


GROUPS = {
    "train": run_training,
    "encode": run_encoding,
    "adversarial": run_adversarial,
    "load": run_loading,
    "shards": run_shards,
}


def _encode(contest: Contest, sessions: Sequence[Session]) -> dict[str, Any]:
    encoders = contest.those(lambda one: one.load)
    outcomes: Outcomes = {}
    everything = []
    for session in sessions:
        everything.append(_play(session, encoders, contest.rounds))
        outcomes |= read(session, everything[-1])
    return {"measures": outcomes, "facts": _facts(everything)}


def _references(
    contest: Contest, texts: Sequence[str], documents: Sequence[str]
) -> tuple[dict[str, Path], dict[str, str]]:
    say("the right ids of all texts")
    return write_references(contest.inputs, contest.entrants, texts, documents)


def _play(session: Session, entrants: Sequence[Entrant], rounds: int) -> dict[str, list[Answers]]:
    return play_rounds(session, entrants, rounds, lambda i: say(f"{session.name}: round {i + 1} of {rounds}"))


def _facts(played: Sequence[Mapping[str, Sequence[Answers]]]) -> dict[str, dict[str, Any]]:
    facts: dict[str, dict[str, Any]] = {}
    for rounds in played:
        for name, found in facts_of(rounds).items():
            for key, values in found.items():
                facts.setdefault(name, {}).setdefault(key, {}).update(values)
    return facts
