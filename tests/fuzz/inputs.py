"""Random texts, special tokens and vocabularies, the odd ones often."""

import random
from dataclasses import dataclass, field

from tokenizer.strategies import PIECES, SPECIAL_TOKENS

from groundup.tokenizer.reference import Pair, count_words, learn_merges

PAIRS_OF_BYTES = [b"ab", b"aa", b"\xc3\xa9", b"  ", b" a", b"\n\n", b"''", b"'l", b"01"]
# Bytes that begin, continue and break characters.
ODD_BYTES = [0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xC2, 0xE0, 0xED, 0xF0, 0xF4, 0xF5, 0xFF]


@dataclass(frozen=True)
class Parts:
    """What an encoder is made of, checked by nobody."""

    tokens: list[tuple[bytes, int]]
    merges: list[Pair]
    special: list[str] = field(default_factory=list)

    @property
    def has_ids_twice(self) -> bool:
        """Whether an id stands for two tokens."""
        return len({id for _, id in self.tokens}) < len(self.tokens)


def random_text(rng: random.Random, longest: int = 300) -> str:
    """Up to about `longest` characters: pieces that have hurt tokenizers, runs of them, special tokens, anything."""
    text = ""
    wanted = rng.choice([rng.randrange(1 + longest // 8), rng.randrange(1 + longest)])
    few = [rng.choice(PIECES) for _ in range(rng.randrange(1, 5))]
    while len(text) < wanted:
        kind = rng.random()
        if kind < 0.5:
            text += rng.choice(few)
        elif kind < 0.75:
            text += rng.choice(PIECES)
        elif kind < 0.85:
            token = rng.choice(SPECIAL_TOKENS)
            text += rng.choice([token, token[:-1], token[1:]])
        elif kind < 0.95:
            # To the edges of blocks of 64 bytes and of windows of 1,024.
            piece = rng.choice([rng.choice(PIECES), rng.choice(few)])
            times = rng.choice([rng.randrange(1, 20), 63, 64, 65, rng.randrange(1, 1 + longest)])
            text += piece * min(times, wanted // len(piece) + 1)
        else:
            text += random_character(rng)
    return text


def random_character(rng: random.Random) -> str:
    """Any code point but a surrogate."""
    code_point = rng.choice(
        [rng.randrange(0x80), rng.randrange(0x800), rng.randrange(0x10000), rng.randrange(0x110000)]
    )
    return "x" if 0xD800 <= code_point < 0xE000 else chr(code_point)


def random_bytes(rng: random.Random, longest: int = 40) -> bytes:
    """Bytes of which few are UTF-8."""
    alphabet = rng.choice([ODD_BYTES, [97, 98], list(range(256))])
    return bytes(rng.choice(alphabet) for _ in range(rng.randrange(longest + 1)))


def random_special(rng: random.Random, most: int = 4) -> list[str]:
    """Special tokens that overlap, begin one another, or are ordinary text."""
    tokens = [*SPECIAL_TOKENS, random_text(rng, 6) or "x", random_character(rng)]
    return list(dict.fromkeys(rng.choice(tokens) for _ in range(rng.randrange(most + 1))))


def random_merges(rng: random.Random, text: str) -> list[Pair]:
    """Merges, of one kind each time: learned from the text, like learned ones, shuffled, of any parts at all."""
    kind = rng.choice(["learned", "built", "built", "shuffled", "any"])
    if kind == "learned":
        return learn_merges(count_words(text), rng.randrange(60))
    known = [bytes([byte]) for byte in dict.fromkeys([*(text[:200].encode()[:12]), *b"ab "])]
    merges: list[Pair] = []
    for _ in range(rng.randrange(60)):
        pair = rng.choice(known), rng.choice(known)
        joined = b"".join(pair)
        if len(joined) <= 70 and (kind == "shuffled" or joined not in known or rng.random() < 0.02):
            merges.append(pair)
            known.append(joined)
    if kind == "built":
        return list(dict.fromkeys(merges))
    if kind == "any":
        merges += [(rng.choice([b"x", *PAIRS_OF_BYTES]), rng.choice(PAIRS_OF_BYTES)) for _ in range(rng.randrange(9))]
        merges += [(random_bytes(rng, 5) or b"a", random_bytes(rng, 5) or b"b") for _ in range(rng.randrange(9))]
        merges += [rng.choice(merges) for _ in range(rng.randrange(3)) if merges]
    rng.shuffle(merges)
    return merges


def random_parts(rng: random.Random, text: str) -> Parts:
    """An encoder's parts for this text: whole ones, and such as lack tokens or have some twice."""
    merges = random_merges(rng, text)
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [token for pair in merges for token in (*pair, b"".join(pair))]
    special = random_special(rng)
    tokens = list(dict.fromkeys([*tokens, *(token.encode() for token in special)]))
    ids = _random_ids(rng, len(tokens))
    numbered = list(zip(tokens, ids, strict=True))
    if rng.random() < 0.3:
        for _ in range(rng.randrange(1, 20)):
            if rng.random() < 0.6:
                numbered.pop(rng.randrange(len(numbered)))
            else:
                numbered.append((rng.choice(tokens), rng.choice([rng.randrange(2**32 - 1), rng.choice(ids)])))
    kept = {token for token, _ in numbered}
    return Parts(numbered, merges, [token for token in special if token.encode() in kept])


def _random_ids(rng: random.Random, count: int) -> list[int]:
    """Distinct ids: in order, with gaps, or far apart."""
    kind = rng.choice(["dense", "dense", "gaps", "far"])
    if kind == "far":
        return rng.sample(range(2**32 - 1), count)
    step, start = (1, 0) if kind == "dense" else (rng.randrange(1, 9999), rng.randrange(9999))
    ids = [start + step * place for place in range(count)]
    rng.shuffle(ids)
    return ids


def random_cuts(rng: random.Random, text: str) -> list[str]:
    """The text in pieces, some of them empty."""
    most = len(text) + 3 if rng.random() < 0.2 else 9
    places = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randrange(most)))
    return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
