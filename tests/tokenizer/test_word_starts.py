"""The vector scanner: the same cuts as the scanner that walks, on each instruction set that runs here."""

from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup import _native

# Characters of every class, of one to four bytes, and what the pattern treats in a way of its own.
CHARACTERS = "abstdmlvreABZ019 \t\n\r\x0b\x1c\x85'\"!/_<é\u0301ß¼\u00a0\u2003\u3000ЖяӨ٣अ中字！𝒳𝟙😀"
TEXTS = st.lists(
    st.one_of(
        st.text(CHARACTERS, max_size=12),
        st.sampled_from(["'s", "'ll", "'re", " 't", "''ve", "\u3000", "  ", "\n\n"]),
        st.builds(lambda c, n: c * n, st.sampled_from(CHARACTERS), st.integers(1, 140)),
    ),
    max_size=30,
).map("".join)


@pytest.fixture(scope="module", params=["portable", "avx2", "avx512"])
def instruction_set(request):
    if request.param not in _native.instruction_sets():
        pytest.skip(f"this processor has no {request.param}")
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(_native.instruction_sets()[0])


def starts_by_walking(text):
    lengths = [len(word) for word in _native.pre_tokenize(text)]
    return list(accumulate(lengths, initial=0))[:-1]


@given(TEXTS, st.integers(0, 63))
def test_words_begin_where_the_walking_scanner_says(instruction_set, text, shift):
    # A shift moves each character to every place in a block of 64 bytes.
    text = "x" * shift + text
    assert _native.word_starts(text) == starts_by_walking(text)


@given(st.text(max_size=300))
def test_any_text(instruction_set, text):
    assert _native.word_starts(text) == starts_by_walking(text)


def test_every_code_point_between_others(instruction_set):
    code_points = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    for before, after in (("a", "b"), (" ", "1"), (".", " ")):
        text = "".join(before + c + after for c in code_points)
        assert _native.word_starts(text) == starts_by_walking(text)


@pytest.mark.parametrize("num_bytes", [0, 1, 63, 64, 65, 1023, 1024, 1025, 2048, 2111])
def test_texts_that_end_at_the_edges_of_blocks_and_windows(instruction_set, num_bytes):
    for unit in ("a", " ", "'s", "ab ", "\u3000", "中 "):
        text = (unit * num_bytes)[:num_bytes]
        assert _native.word_starts(text) == starts_by_walking(text)


def test_an_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match=r"'mmx' is not one of this processor's: .*portable"):
        _native.use_instruction_set("mmx")
