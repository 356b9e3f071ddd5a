"""Random texts, special tokens and vocabularies for the tests of the tokenizer."""

import os
import random

from hypothesis import settings
from hypothesis import strategies as st

# Each piece has hurt a tokenizer somewhere: contractions, all white space (and what only looks like it),
# CR LF, CJK, combining marks, digits of other scripts, emoji joined by U+200D, the last code point.
SIMPLE = "a B the low 0 12 . !? _ < |> ' 's 'll 'LL ’s é ß Ωμέγα при 你好 ไทย हिन्दी ٣ ३ ² Ⅷ ½ 𝟘 👍🏽 𝔄"
PIECES = [
    *SIMPLE.split(" "),
    *[" the", " '", " 3", " (", " 世", "e\u0301", "\u0301", "👩\u200d👧", "\x00", "\ud7ff", "\ue000", "\U0010ffff"],
    *[" ", "  ", "\t", "\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x1f", "\x85", "\xa0", "\u1680", "\u2003", "\u2028"],
    *["\u202f", "\u205f", "\u3000", "\u200b", "\u180e", "\ufeff"],
]
SPECIAL_TOKENS = [
    "<a>",
    "<a><a>",
    "<|x|>",
    "[INST]",
    "$^",
    ".*",
    "the",
    " the",
    "\n\n",
    "é",
    "a",
    "<|endoftext|>",
    "👍",
]


def examples(count):
    """So many examples and no deadline: how busy the machine is fails no test.

    A quarter of them on the sanitized core (tools/sanitized.py), where `make fuzz` goes on with random input.
    """
    sanitized = "GROUNDUP_SANITIZED_CORE" in os.environ
    return settings(max_examples=max(5, count // 4) if sanitized else count, deadline=None)


characters = st.characters(exclude_categories=["Cs"])
pieces = st.sampled_from(PIECES)
runs = st.builds(lambda piece, times: piece * times, pieces, st.integers(1, 70))
texts = st.lists(st.one_of(pieces, pieces, characters, runs), max_size=30).map("".join)
special_tokens = st.lists(st.sampled_from(SPECIAL_TOKENS), max_size=4, unique=True)


@st.composite
def texts_with_special(draw, tokens=SPECIAL_TOKENS):
    """Texts in which special tokens, and pieces of them, are frequent."""
    parts = [*tokens, *[token[:-1] for token in tokens], *[token[1:] for token in tokens]]
    return "".join(draw(st.lists(st.one_of(pieces, st.sampled_from(parts)), max_size=20)))


@st.composite
def vocabularies(draw, *, any_order=False):
    """(vocab, merges): all bytes and some merges of short tokens, under sparse ids.

    With any_order the merges come in an order in which no training would have made them.
    """
    tokens = [bytes([b]) for b in b"ab 'l\xc3\xa9\n<>e0"]
    merges = []
    for i, j in draw(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)), max_size=40)):
        pair = tokens[i % len(tokens)], tokens[j % len(tokens)]
        if len(b"".join(pair)) <= 40:
            merges.append(pair)
            tokens.append(b"".join(pair))
    if any_order:
        random.Random(draw(st.integers(0, 99))).shuffle(merges)
    entries = list(dict.fromkeys([*(bytes([b]) for b in range(256)), *tokens]))
    step, start = draw(st.integers(1, 9999)), draw(st.integers(0, 9999))
    random.Random(start).shuffle(entries)
    return {start + step * place: token for place, token in enumerate(entries)}, merges


# Characters of every class, of one to four bytes, and what the patterns treat in a way of their own.
SCANNED = "abstdmlvreABSTMLVRZ019 \t\n\r\x0b\x1c\x85'\"!/_<éÉ\u0301\ufe0f\u093eß¼\u00a0\u2003\u3000ЖяӨ٣अ中字ʰǅſ！“’𝒳𝟙😀"
scanned_texts = st.lists(
    st.one_of(
        st.text(SCANNED, max_size=12),
        st.sampled_from(
            ["'s", "'ll", "'RE", "'ſ", " 't", "''ve", "x's", "\u3000", "  ", "\n\n", "!\n", "/\n", "\n    "]
        ),
        st.sampled_from(["ʰA", "中ABc", "!!\u0301", "Ab", "123", "٣٣٣", "\r\n"]),
        st.builds(lambda c, n: c * n, st.sampled_from(SCANNED), st.integers(1, 140)),
    ),
    max_size=30,
).map("".join)

small_texts = st.lists(
    st.one_of(st.sampled_from(["a", "b", "ab", " ", "'l", "'ll", "é", "\n", "<", ">", "e", "0"]), runs), max_size=40
).map("".join)
