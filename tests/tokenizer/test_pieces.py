"""Long texts in pieces that can be counted apart."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer.strategies import scanned_texts, special_tokens, texts, texts_with_special

from groundup import _native
from groundup.tokenizer.pieces import iter_separable
from groundup.tokenizer.reference import count_words


@settings(max_examples=60)
@given(st.one_of(texts, texts_with_special()), special_tokens, st.integers(1, 9), st.integers(1, 9))
def test_words_are_those_of_the_whole(text, tokens, read_chars, piece_chars):
    reads = [text[start : start + read_chars] for start in range(0, len(text), read_chars)]
    pieces = list(iter_separable(reads, tokens, piece_chars))
    assert "".join(pieces) == text
    assert sum((count_words(piece, tokens) for piece in pieces), count_words("")) == count_words(text, tokens)


@pytest.mark.parametrize("scanner", ["smollm", "cl100k", "llama3", "qwen2", "o200k"])
@settings(max_examples=60)
@given(text=scanned_texts, read_chars=st.integers(1, 9), piece_chars=st.integers(1, 9))
def test_words_of_other_patterns_are_those_of_the_whole(scanner, text, read_chars, piece_chars):
    reads = [text[start : start + read_chars] for start in range(0, len(text), read_chars)]
    pieces = list(iter_separable(reads, [], piece_chars, scanner=scanner))
    words = [word for piece in pieces for word in _native.pre_tokenize(piece, scanner)]
    assert words == _native.pre_tokenize(text, scanner)


@pytest.mark.parametrize("read_chars", range(1, 65))
def test_a_delimiter_that_white_space_could_cut_is_never_cut(read_chars):
    text = "one two [END OF TEXT] three four  [END OF TEXT]\n five" * 3
    reads = [text[start : start + read_chars] for start in range(0, len(text), read_chars)]
    pieces = list(iter_separable(reads, ["[END OF TEXT]"], 5))
    assert "".join(pieces) == text
    assert len(pieces) > 1
    assert sum(piece.count("[END OF TEXT]") for piece in pieces) == 6


def test_what_only_python_calls_white_space_is_no_cut():
    text = "!\x1c?\x1f! !\x1d " * 9
    assert all(piece[0] == " " for piece in list(iter_separable([text], [], 1))[1:])
    counts = [count_words(piece) for piece in iter_separable(list(text), [], 1)]
    assert sum(counts, count_words("")) == count_words(text)


def test_text_without_a_cut_is_one_piece():
    assert list(iter_separable(["a" * 50] * 40, [], 100)) == ["a" * 2000]
    assert list(iter_separable([], [])) == []
