"""The rungs of encoding: from the reference to the native core, each with one thing more than the one before.

What a rung adds is a switch that the code has: the size of the cache, the instruction set, the threads, the form of
the ids. Lesson: docs/lessons/tokenizer.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from groundup import _native
from groundup.tokenizer.reference import Pair, ReferenceTokenizer, Tokens

Call = Callable[[], object]  # what is timed
CACHE_BYTES = 1 << 26  # the core's default
AGAIN = "the same text again"


class RememberingTokenizer(ReferenceTokenizer):
    """The reference, but each distinct word is spelled once."""

    def __init__(self, vocab: Mapping[int, bytes], merges: Sequence[Pair]) -> None:
        super().__init__(vocab, merges)
        self._known = cache(super().apply_merges)

    def apply_merges(self, word: bytes) -> Tokens:
        """As the reference."""
        return self._known(word)


@dataclass(frozen=True)
class EncodingTexts:
    """The vocabulary and the texts in UTF-8: the short one begins the long one, the other shares nothing with it."""

    vocab: Mapping[int, bytes]
    merges: Sequence[Pair]
    short: bytes
    long: bytes
    other: bytes
    _encoders: dict[int, _native.Encoder] = field(default_factory=dict)

    def reference(self) -> ReferenceTokenizer:
        """A new one."""
        return ReferenceTokenizer(self.vocab, self.merges)

    def encoder(self, cache_bytes: int = CACHE_BYTES) -> _native.Encoder:
        """A new one, with no word met yet."""
        return _native.Encoder([(token, id) for id, token in self.vocab.items()], self.merges, [], cache_bytes)

    def warm_encoder(self, cache_bytes: int = CACHE_BYTES) -> _native.Encoder:
        """One that has met the long text, in one thread and in two; the same at every call."""
        if cache_bytes not in self._encoders:
            self._encoders[cache_bytes] = self.encoder(cache_bytes)
            for num_threads in (1, 2):
                self._encoders[cache_bytes].encode_array_16(self.long, False, num_threads)
        return self._encoders[cache_bytes]


@dataclass(frozen=True)
class EncodingRung:
    """`prepare` makes the call to time, which encodes the text; `adds` says what is new since the rung `base`."""

    adds: str
    text: Callable[[EncodingTexts], bytes]
    prepare: Callable[[EncodingTexts, bytes], Call]
    instruction_set: str | None = None  # None: the best
    base: str | None = None  # None: the rung before
    in_python: bool = False


def encoding_rungs() -> dict[str, EncodingRung]:
    """By name, from the bottom up. The portable ones are left out where nothing better runs."""
    best = _native.instruction_sets()[0]
    rungs = {
        "reference.py": EncodingRung("spells every word anew", _short, _with_reference, in_python=True),
        "each distinct word once": EncodingRung("a dict of the words met before", _long, _with_memory, in_python=True),
        "core, no cache": EncodingRung("C++; forgets its words every 4 KB", _long, _without_cache, "portable"),
        "core, cache": EncodingRung("a cache of words, empty at first", _long, _first_time, "portable"),
        f"core, {best}": EncodingRung("vectors", _long, _first_time),
        "after another text": EncodingRung("a cache that has met other books", _long, _after_other),
        AGAIN: EncodingRung("a cache that has met all the words", _long, _again),
        "again, two threads": EncodingRung("a second thread with a cache of its own", _long, _in_two_threads),
        "again, portable": EncodingRung("the same text again, without vectors", _long, _again, "portable", AGAIN),
        "again, as list[int]": EncodingRung("numbers of Python, not an array", _long, _as_list, base=AGAIN),
    }
    if best == "portable":
        del rungs["core, portable"], rungs["again, portable"]
    return rungs


def _short(texts: EncodingTexts) -> bytes:
    return texts.short


def _long(texts: EncodingTexts) -> bytes:
    return texts.long


def _with_reference(texts: EncodingTexts, text: bytes) -> Call:
    tokenizer, string = texts.reference(), text.decode()
    return lambda: tokenizer.encode(string)


def _with_memory(texts: EncodingTexts, text: bytes) -> Call:
    tokenizer, string = RememberingTokenizer(texts.vocab, texts.merges), text.decode()
    return lambda: tokenizer.encode(string)


def _without_cache(texts: EncodingTexts, text: bytes) -> Call:
    encoder = texts.warm_encoder(cache_bytes=0)
    return lambda: encoder.encode_array_16(text, False, 1)


def _first_time(texts: EncodingTexts, text: bytes) -> Call:
    encoder = texts.encoder()
    return lambda: encoder.encode_array_16(text, False, 1)


def _after_other(texts: EncodingTexts, text: bytes) -> Call:
    encoder = texts.encoder()
    encoder.encode_array_16(texts.other, False, 1)
    return lambda: encoder.encode_array_16(text, False, 1)


def _again(texts: EncodingTexts, text: bytes) -> Call:
    encoder = texts.warm_encoder()
    return lambda: encoder.encode_array_16(text, False, 1)


def _in_two_threads(texts: EncodingTexts, text: bytes) -> Call:
    encoder = texts.warm_encoder()
    return lambda: encoder.encode_array_16(text, False, 2)


def _as_list(texts: EncodingTexts, text: bytes) -> Call:
    encoder = texts.warm_encoder()
    return lambda: encoder.encode(text, False, 1)
