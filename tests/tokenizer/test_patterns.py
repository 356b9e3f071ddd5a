"""Patterns of your own: pre-tokens on `regex`, and which patterns other tools read alike."""

import pytest
from hypothesis import given, settings
from tokenizer.strategies import texts
from tokenizers import Regex, pre_tokenizers

from groundup.errors import TokenizerError
from groundup.tokenizer.patterns import GPT2_PATTERN, foreign_syntax, pre_tokenizer
from groundup.tokenizer.reference import pre_tokenize

CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS = [GPT2_PATTERN, CL100K, r"\p{L}+", r"\s+|\S+", r"a|ab|", r"(x)(?:y)?|[^x]{1,2}", r"(?<=a)b+?"]


@pytest.mark.parametrize("pattern", PATTERNS)
@settings(max_examples=15)
@given(text=texts)
def test_pre_tokens_join_to_the_text(pattern, text):
    words = pre_tokenizer(pattern)(text)
    assert "".join(words) == text
    assert all(words)


def test_text_between_matches_is_kept():
    assert pre_tokenizer(r"\d+")("a1b22") == ["a", "1", "b", "22"]
    assert pre_tokenizer(r"z*")("azzb") == ["a", "zz", "b"]


def test_gpt2_pattern_cuts_as_the_reference_does():
    text = "I'll go, they've 12 dogs\n\n  and  it's '' fine \t\r\n"
    assert pre_tokenizer(GPT2_PATTERN)(text) == pre_tokenize(text)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_without_foreign_syntax_cut_as_in_hugging_face(pattern):
    assert foreign_syntax(pattern) is None
    text = "I'LL x xy ab, abab 1234  bb\n\r\n über\t"
    split = pre_tokenizers.Split(Regex(pattern), "isolated")
    theirs = [piece for piece, _ in split.pre_tokenize_str(text) if piece]
    assert pre_tokenizer(pattern)(text) == theirs


@pytest.mark.parametrize(
    ("pattern", "rest"),
    [
        (r"\p{L}+|\w+", r"\w+"),
        (r"a$", "$"),
        ("^a", "^a"),
        (r"\bx", r"\bx"),
        (r"\s|\h", r"\h"),
        (r"(a)\1", r"\1"),
        ("x[a[bc]]", "[a[bc]]"),
        ("[a-z&&b]", "[a-z&&b]"),
        (r"\p{N}{1,3}+", "{1,3}+"),
        ("(?m:a)", "(?m:a)"),
        ("(?i)a", "(?i)a"),
        ("(?P<n>a)", "(?P<n>a)"),
        (r"\xe9", r"\xe9"),
    ],
)
def test_foreign_syntax_is_found(pattern, rest):
    assert foreign_syntax(pattern) == rest


def test_what_is_not_a_pattern_is_refused():
    with pytest.raises(TokenizerError, match=r"'\(a' is not a regular expression"):
        pre_tokenizer("(a")
