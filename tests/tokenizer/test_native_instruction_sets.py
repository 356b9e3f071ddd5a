"""Encoding on each instruction set that runs here: look-up and merging have a source for each of them."""

import random

from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import PIECES, examples, small_texts, texts, vocabularies

from groundup._native import Encoder
from groundup.tokenizer.reference import ReferenceTokenizer

BYTES = {byte: bytes([byte]) for byte in range(256)}
LONG = 1 << 16  # bytes from which on the cache begins with all tokens


def make_encoder(vocab, merges, **options) -> Encoder:
    return Encoder([(token, id) for id, token in vocab.items()], merges, [], **options)


def check(text, vocab, merges, **options):
    expected = ReferenceTokenizer(vocab, merges).encode(text)
    encoder = make_encoder(vocab, merges, **options)
    assert encoder.encode(text, True) == encoder.encode(text, True) == expected  # the second time all words are known
    if max(vocab) < 1 << 16:
        assert encoder.encode_array_16(text, True).tolist() == expected


@examples(60)
@given(
    text=st.one_of(texts, small_texts),
    times=st.integers(1, 30),
    vocabulary=vocabularies(),
    cache=st.sampled_from([0, 1 << 20]),
)
def test_ids_are_those_of_the_reference(instruction_set, text, times, vocabulary, cache):
    check(text * times, *vocabulary, cache_bytes=cache)


@examples(10)
@given(vocabulary=vocabularies(any_order=True), seed=st.integers(0, 1000))
def test_long_texts(instruction_set, vocabulary, seed):
    rng = random.Random(seed)
    check("".join(rng.choices([*PIECES, "ab", "ba", "abba", " aab"], k=LONG // 3)), *vocabulary)


def test_words_with_zeros(instruction_set):
    """A short word is compared as a number, in which a zero at its end would not show."""
    words = ["!", "!\0", "\0", "\0\0", "\0!", "!!!!!!!", "!!!!!!!\0", "!!!!!!!\0\0", "!" * 8, "\0" * 8, "\0" * 9]
    rng = random.Random(0)
    for separator in (" ", "a", "é "):
        text = separator.join(rng.choices(words, k=2000))
        check(text, BYTES | {300: b"!\0", 301: b"\0\0"}, [(b"!", b"\0"), (b"\0", b"\0")])


def test_words_of_every_length(instruction_set):
    rng = random.Random(1)
    vocab, merges = dict(BYTES), []
    for left, right in [("a", "b"), ("ab", "a"), ("b", "b"), ("aba", "bb"), ("ababb", "ababb")]:
        merges.append((left.encode(), right.encode()))
        vocab[len(vocab)] = (left + right).encode()
    words = ["".join(rng.choices("ab", k=length)) for length in range(1, 40) for _ in range(20)]
    check(" ".join(words), vocab, merges)
    check("".join(f"{word}." for word in words), vocab, merges)


def test_ids_of_any_size(instruction_set):
    """An id has less room where it is the second of two."""
    largest = (1 << 32) - 2
    for first, second in [(1 << 30, (1 << 30) - 1), (largest, 1 << 30), (largest, largest - 1), (0, largest)]:
        vocab = {first: b"x", second: b"y"}
        encoder = make_encoder(vocab, [])
        for _ in range(2):
            assert encoder.encode("xy", True) == [first, second]
            assert encoder.encode_array("x" * 70 + "yx", True).tolist() == [first] * 70 + [second, first]


def test_a_new_word_that_comes_back_at_once(instruction_set):
    check("abcab " * 500 + "cabab" * 3, BYTES | {256: b"ab", 257: b"cab"}, [(b"a", b"b"), (b"c", b"ab")])


def test_a_token_as_a_whole_whatever_the_merges_make(instruction_set):
    vocab = BYTES | {300: b"abc", 301: b" abcdefghij", 302: b"abc"}
    encoder = make_encoder(vocab, [], ignore_merges=True)
    for text, expected in [("abc", [300]), (" abcdefghij", [301]), ("abcd", [97, 98, 99, 100])]:
        assert encoder.encode(text, True) == expected
        long = "\n".join([text] * (LONG // len(text)))
        assert encoder.encode(long, True)[: len(expected)] == expected
