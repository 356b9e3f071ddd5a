"""The vector scanner: the same cuts as the scanner that walks, on each instruction set that runs here."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import scanned_texts

from groundup import _native

SCANNERS = ["gpt2", "smollm", "cl100k", "llama3", "qwen2", "o200k"]


def starts_by_walking(text, scanner):
    lengths = [len(word) for word in _native.pre_tokenize(text, scanner)]
    return list(accumulate(lengths, initial=0))[:-1]


@pytest.mark.parametrize("scanner", SCANNERS)
@given(text=scanned_texts, shift=st.integers(0, 63))
def test_words_begin_where_the_walking_scanner_says(instruction_set, scanner, text, shift):
    # A shift moves each character to every place in a block of 64 bytes.
    text = "x" * shift + text
    assert _native.word_starts(text, scanner) == starts_by_walking(text, scanner)


@pytest.mark.parametrize("scanner", SCANNERS)
@given(text=st.text(max_size=300))
def test_any_text(instruction_set, scanner, text):
    assert _native.word_starts(text, scanner) == starts_by_walking(text, scanner)


@pytest.mark.parametrize("scanner", SCANNERS)
def test_every_code_point_between_others(instruction_set, scanner):
    # Nine in ten are of no class and like one another: of these a part is enough.
    valid = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    code_points = [chr(c) for c in valid if c % 50 == 0 or _native.unicode_kind(c) != "other"]
    for before, after in (("a", "b"), (" ", "1"), (".", " "), ("!", "A")):
        text = "".join(before + c + after for c in code_points)
        assert _native.word_starts(text, scanner) == starts_by_walking(text, scanner)


UNITS = ["a", " ", "'s", "ab ", "\u3000", "中 ", "1", "\n", "!\n", "\n ", "\n\t x", "a'S", "中A", "!\u0301", "/\n"]


@pytest.mark.parametrize("scanner", SCANNERS)
@pytest.mark.parametrize("num_bytes", [0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 2111])
def test_texts_that_end_at_the_edges_of_blocks_and_windows(instruction_set, num_bytes, scanner):
    for unit in UNITS:
        for before in ("", "x", "!", "\n"):
            text = before + (unit * num_bytes)[:num_bytes]
            assert _native.word_starts(text, scanner) == starts_by_walking(text, scanner)


def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match=r"'mmx' is not one of this processor's: .*portable"):
        _native.use_instruction_set("mmx")
