"""Special tokens: literal, leftmost, longest; in whole texts and across cuts."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer.strategies import SPECIAL_TOKENS, special_tokens, texts_with_special

from groundup.errors import TokenizerError
from groundup.tokenizer.reference import split_special
from groundup.tokenizer.special import SegmentStream, SpecialSplitter, check_special_tokens


@settings(max_examples=60)
@given(texts_with_special(), special_tokens)
def test_split_is_that_of_the_reference(text, tokens):
    assert list(SpecialSplitter(tokens).split(text)) == list(split_special(text, tokens))


def streamed(parts, tokens):
    stream = SegmentStream(SpecialSplitter(tokens))
    segments = [segment for part in parts for segment in stream.push(part)]
    return segments + stream.finish()


@settings(max_examples=60)
@given(texts_with_special(), special_tokens, st.lists(st.integers(0, 99)))
def test_stream_gives_the_segments_of_the_whole(text, tokens, cuts):
    places = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    parts = [text[a:b] for a, b in pairwise(places)]
    assert streamed(parts, tokens) == list(split_special(text, tokens))


@pytest.mark.parametrize("tokens", [["<a>", "<a><a>"], ["ab", "bcd", "abcx"], ["aa", "aaa"], []])
@pytest.mark.parametrize("text", ["x<a><a><a>y<a", "abcabcdabcx", "aaaaaaa", "<a><a>"])
def test_every_cut_of_overlapping_tokens(text, tokens):
    whole = list(split_special(text, tokens))
    assert streamed(text, tokens) == whole  # one character at a time
    for cut in range(len(text)):
        assert streamed([text[:cut], text[cut:]], tokens) == whole


def test_tokens_are_literal():
    text = "".join(f"x{token}" for token in SPECIAL_TOKENS)
    found = [part for part, is_special in SpecialSplitter(SPECIAL_TOKENS).split(text) if is_special]
    assert found == SPECIAL_TOKENS


def test_a_stream_gives_out_what_is_settled():
    stream = SegmentStream(SpecialSplitter(["<a>"]))
    assert stream.push("one<a>two<") == [("one", False), ("<a>", True)]
    assert stream.push("b>") == []
    assert stream.finish() == [("two<b>", False)]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ("<a>", "give a list"),
        (["a", ""], "is the empty text"),
        (["<a>", "<b>", "<a>"], "'<a>' is given twice"),
        (["\ud800"], "cannot be UTF-8"),
    ],
)
def test_tokens_that_cannot_be(tokens, message):
    with pytest.raises(TokenizerError, match=message):
        check_special_tokens(tokens)
