"""Target: stored encoders that are damaged: cut short, with bits flipped, with parts missing or repeated."""

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tokenizer.stored import read_stored

from fuzz.inputs import random_merges, random_special, random_text
from fuzz.loading import damage
from fuzz.outcome import Target, expect_equal, outcome
from groundup import _native
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.reference import Pair


@dataclass(frozen=True)
class Stored:
    """What an encoder is made of, and how often its file is damaged, from which seed."""

    text: str
    merges: list[Pair]
    special: list[str]
    source: bytes
    num_damages: int
    seed: int


def make_stored(rng: random.Random) -> Stored:
    text = random_text(rng, 100)
    merges = list(dict.fromkeys(random_merges(rng, text)))
    source = rng.randbytes(rng.choice([0, 1, 100, 300_000]))
    return Stored(text, merges, random_special(rng), source, rng.choice([0, 1, 1, 2]), rng.randrange(1 << 32))


def check_stored(case: Stored) -> None:
    """A file that is whole gives the encoder that was stored; one that is not gives none."""
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [token for pair in case.merges for token in (*pair, b"".join(pair))]
    made = outcome(lambda: Tokenizer(dict(enumerate(dict.fromkeys(tokens))), case.merges, case.special))
    if made[0] == "error":
        return
    tokenizer = made[1]
    whole = _native.store_encoder(tokenizer._encoder, case.source, [b"note"])
    content, rng = whole, random.Random(case.seed)
    for _ in range(case.num_damages):
        content = damage(rng, content)
    with tempfile.TemporaryDirectory() as folder:
        found = read_stored(Path(folder), content, case.source)
    if content != whole:
        expect_equal(found, None, "a damaged file")
        return
    assert found is not None, "the file that was stored counts as damaged"
    encoder, notes = found
    expect_equal(notes, [b"note"], "the notes")
    expect_equal(encoder.encode(case.text, True), tokenizer.encode(case.text), "the ids")
    expect_equal(encoder.tokens(), tokenizer.vocab, "the tokens")
    expect_equal(encoder.merges(), tokenizer.merges, "the merges")


TARGETS = [Target("stored", make_stored, check_stored)]
