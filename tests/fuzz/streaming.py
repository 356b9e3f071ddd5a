"""Targets: a text that arrives in pieces, cut anywhere, in the core and through the Tokenizer."""

import random
from dataclasses import dataclass

from fuzz.encoding import encoder_of, use_instructions
from fuzz.inputs import Parts, random_cuts, random_merges, random_parts, random_special, random_text
from fuzz.outcome import Target, expect_equal, outcome
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.patterns import GPT2_PATTERN
from groundup.tokenizer.reference import Pair
from groundup.tokenizer.vocabulary import make_vocabulary

_PATTERNS = [GPT2_PATTERN, GPT2_PATTERN, r"\s+|\S+", r"a(?=.*b)|[^a]+", "x"]


@dataclass(frozen=True)
class Pieces:
    pieces: list[str]
    parts: Parts
    special: bool
    instructions: int


def make_pieces(rng: random.Random) -> Pieces:
    text = random_text(rng, rng.choice([60, 60, 400, 400, 1500]))
    return Pieces(random_cuts(rng, text), random_parts(rng, text), rng.random() < 0.7, rng.randrange(3))


def check_pieces(case: Pieces) -> None:
    """The core's stream gives the ids of the whole text, or fails as the whole text does; so it does a second time."""
    use_instructions(case.instructions)
    encoder = encoder_of(case.parts)
    whole = outcome(lambda: encoder.encode("".join(case.pieces), case.special), ValueError)
    stream = encoder.stream(case.special)

    def streamed() -> list[int]:
        return [id for piece in case.pieces for id in stream.push(piece)] + stream.finish()

    expect_equal(outcome(streamed, ValueError), whole, "ids")
    if whole[0] == "result":
        expect_equal(outcome(streamed, ValueError), whole, "ids of the second text")


@dataclass(frozen=True)
class Iteration:
    pieces: list[str]
    merges: list[Pair]
    special: list[str]
    pattern: str
    normalizes: bool
    mode: str


def make_iteration(rng: random.Random) -> Iteration:
    text = random_text(rng, 300)
    merges = list(dict.fromkeys(random_merges(rng, text)))
    if rng.random() < 0.2:
        text += rng.choice(["e", "é", "가", "한"]) + rng.choice(["\u0301", "\u0323\u0301", "\u11a8", "\ud83d"])
    mode = rng.choice(["token", "token", "text", "error"])
    return Iteration(
        random_cuts(rng, text), merges, random_special(rng), rng.choice(_PATTERNS), rng.random() < 0.3, mode
    )


def check_iteration(case: Iteration) -> None:
    """Tokenizer.encode_iterable and encode agree: on the ids, or on refusing."""
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [token for pair in case.merges for token in (*pair, b"".join(pair))]
    vocab = dict(enumerate(dict.fromkeys(tokens)))
    normalization = "NFC" if case.normalizes else None
    made = outcome(lambda: make_vocabulary(vocab, case.merges, case.special, case.pattern, normalization=normalization))
    if made[0] == "error":
        return
    tokenizer = Tokenizer.from_vocabulary(made[1])
    text = "".join(case.pieces)
    whole = outcome(lambda: tokenizer.encode(text, special=case.mode))  # type: ignore[arg-type]
    parts = outcome(lambda: list(tokenizer.encode_iterable(case.pieces, special=case.mode)))  # type: ignore[arg-type]
    if parts[0] == whole[0] == "error" and case.mode == "error":
        return  # a stream refuses a special token before it has seen the rest
    expect_equal(parts, whole, "ids")


TARGETS = [Target("pieces", make_pieces, check_pieces), Target("iteration", make_iteration, check_iteration)]
