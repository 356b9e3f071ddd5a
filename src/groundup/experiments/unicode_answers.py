"""Two questions on characters and bytes: what code point 0 is, and why a tokenizer works on UTF-8."""

import ctypes
import itertools
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from groundup.experiments.answers import Answer, AnswerOptions
from groundup.tokenizer.reference import ReferenceTokenizer, learn_merges, merge_pair, pre_tokenize

# Sentences of our own, in four scripts and in none.
TEXTS = {
    "English": "The cat sat on the mat.",
    "German": "Die Kätzchen träumen süß.",
    "Russian": "Кошка спит на окне.",
    "Chinese": "猫在垫子上睡觉。",
    "emoji": "🐈💤🧶",
}
ENCODINGS = {"UTF-8": "utf-8", "UTF-16": "utf-16-le", "UTF-32": "utf-32-le"}  # without the mark in front
NUM_MERGES = 12
_RHYME = "the cat and the hat sat on the mat and the cat ate the rat that sat on the hat"


def first_character(options: AnswerOptions) -> Answer:
    """unicode-1: chr(0), how it shows, and what it does inside a text."""
    character = chr(0)
    text = f"left{character}right"
    every_byte = ReferenceTokenizer({byte: bytes([byte]) for byte in range(256)}, [])
    ids = every_byte.encode(text)
    figures = {
        "category": unicodedata.category(character),
        "repr": repr(character),
        "printed_bytes": list(f"{character}".encode()),
        "text_repr": repr(text),
        "text_length": len(text),
        "text_bytes": len(text.encode()),
        "equals_without": text == text.replace(character, ""),
        "parts_of_split": text.split(),
        "position": text.index(character),
        "as_c_string": (ctypes.c_char_p(text.encode()).value or b"").decode(),
        "ids": ids,
        "comes_back": every_byte.decode(ids) == text,
        "controls_below_space": sum(unicodedata.category(chr(code)) == "Cc" for code in range(32)),
    }
    return Answer("unicode-1", figures)


def encodings(options: AnswerOptions) -> Answer:
    """unicode-2: three encodings compared, decoding byte by byte, and bytes that are no character."""
    word = "né"
    pairs = [bytes(pair) for pair in itertools.product(range(256), repeat=2)]
    decoded = [text for pair in pairs if (text := _decoded(pair)) is not None]
    merging = {name: _merged(encoding) for name, encoding in ENCODINGS.items()}
    goal = merging["UTF-8"]["tokens"]
    for merged in merging.values():
        merged["merges_to_the_same"] = next(n for n, left in enumerate(merged.pop("tokens_left")) if left <= goal)
    figures = {
        "texts": {name: _sizes(text) for name, text in TEXTS.items()},
        "text": dict(TEXTS),
        "num_merges": NUM_MERGES,
        "rhyme": _RHYME,
        "rhyme_characters": len(_RHYME),
        "merging": merging,
        "word": word,
        "word_bytes": list(word.encode()),
        "word_byte_by_byte": "".join(bytes([byte]).decode(errors="replace") for byte in word.encode()),
        "pairs": len(pairs),
        "pairs_of_two_characters": sum(len(text) == 2 for text in decoded),
        "pairs_of_one_character": sum(len(text) == 1 for text in decoded),
        "pairs_of_none": len(pairs) - len(decoded),
        "pairs_of_none_percent": 100 - 100 * len(decoded) / len(pairs),
        "code_points": 0x110000,
    }
    return Answer("unicode-2", figures)


def _sizes(text: str) -> dict[str, int]:
    """Characters, the bytes of each encoding, and how many of those are zero."""
    sizes = {"characters": len(text)}
    for name, encoding in ENCODINGS.items():
        encoded = text.encode(encoding)
        sizes |= {name: len(encoded), f"{name} zeros": encoded.count(0)}
    return sizes


def _merged(encoding: str) -> dict[str, Any]:
    """What merges make of the rhyme when its words come in `encoding`."""
    words = Counter(word.encode(encoding) for word in pre_tokenize(_RHYME))
    merges = learn_merges(words, 2 * NUM_MERGES)
    first = merges[:NUM_MERGES]
    tokens_left = _tokens_left(words, merges)
    return {
        "bytes": tokens_left[0],
        "tokens": tokens_left[NUM_MERGES],
        "characters_per_token": len(_RHYME) / tokens_left[NUM_MERGES],
        "merges_with_zero": sum(b"\0" in left + right for left, right in first),
        "merges_of_zeros": sum(not any(left + right) for left, right in first),
        "tokens_left": tokens_left,
    }


def _tokens_left(words: Mapping[bytes, int], merges: Sequence[tuple[bytes, bytes]]) -> list[int]:
    """How many tokens the words are before the first merge, and after each."""
    split = {tuple(bytes([byte]) for byte in word): times for word, times in words.items()}
    left = [sum(len(tokens) * times for tokens, times in split.items())]
    for pair in merges:
        split = {merge_pair(tokens, pair): times for tokens, times in split.items()}
        left.append(sum(len(tokens) * times for tokens, times in split.items()))
    return left


def _decoded(encoded: bytes) -> str | None:
    try:
        return encoded.decode()
    except UnicodeDecodeError:
        return None
