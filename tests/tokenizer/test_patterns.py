"""Patterns of the families and of your own: pre-tokens on `regex`, and which patterns other tools read alike."""

import inspect
from itertools import combinations

import pytest
import tiktoken
import tiktoken_ext.openai_public
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer.strategies import PIECES, examples, texts
from tokenizers import Regex, pre_tokenizers

from groundup.errors import TokenizerError
from groundup.tokenizer import patterns
from groundup.tokenizer.patterns import (
    CL100K_PATTERN,
    GPT2_PATTERN,
    LLAMA3_PATTERN,
    O200K_PATTERN,
    QWEN2_PATTERN,
    pre_tokenizer,
    scanner_name,
)
from groundup.tokenizer.reference import pre_tokenize
from groundup.tokenizer.shared_syntax import foreign_syntax, from_shared_spelling, to_shared_spelling
from groundup.tokenizer.train import train_bpe_from_iterator

# Every spelling that has a name, and texts on which those of different names differ.
SPELLINGS = sorted({value for value in vars(patterns).values() if isinstance(value, str) and scanner_name(value)})
TELLING = ["B'RE", "'LL", "1234", "\n  ", "a\r\n \t", "//x/\n", "aB", "ABc", "e\u0301e", "'\u017f", "x 's", "\u00a0\n"]

PATTERNS = [
    GPT2_PATTERN,
    LLAMA3_PATTERN,
    QWEN2_PATTERN,
    O200K_PATTERN,
    r"\p{L}+",
    r"\s+|\S+",
    r"a|ab|",
    r"(x)(?:y)?|[^x]{1,2}",
    r"(?<=a)b+?",
]


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


def test_a_pattern_without_a_scanner_says_that_it_is_slower(caplog):
    with caplog.at_level("INFO", logger="groundup.tokenizer"):
        train_bpe_from_iterator(["a b"], 258, pattern=LLAMA3_PATTERN)
        assert "regex" not in caplog.text
        train_bpe_from_iterator(["a b"], 258, pattern=r"\S+|\s+")
    assert caplog.text.count("runs on `regex`, many times slower") == 1


# ---- The families ----

CUTS = {pattern: pre_tokenizer(pattern) for pattern in SPELLINGS}
SHARED_CUTS = {pattern: pre_tokenizer(to_shared_spelling(pattern)) for pattern in SPELLINGS}
mixed = st.lists(st.one_of(st.sampled_from([*PIECES, *TELLING]), texts), max_size=8).map("".join)


def test_patterns_are_those_of_the_installed_tiktoken(monkeypatch):
    monkeypatch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", lambda *args, **options: {})
    assert tiktoken_ext.openai_public.cl100k_base()["pat_str"] == CL100K_PATTERN
    assert tiktoken_ext.openai_public.o200k_base()["pat_str"] == O200K_PATTERN
    assert scanner_name(tiktoken_ext.openai_public.r50k_pat_str) == "gpt2"
    released = inspect.getsource(tiktoken_ext.openai_public).split('# r"""')[1].split('"""')[0]
    assert scanner_name(released) == "gpt2"


@examples(150)
@given(text=mixed)
def test_spellings_of_one_name_cut_alike(text):
    cuts = {}
    for pattern in SPELLINGS:
        words = CUTS[pattern](text)
        assert cuts.setdefault(scanner_name(pattern), words) == words
        assert SHARED_CUTS[pattern](text) == words


def test_names_are_different_where_cuts_are():
    by_name = {scanner_name(pattern): pre_tokenizer(pattern) for pattern in SPELLINGS}
    assert set(by_name) == {"gpt2", "cl100k", "llama3", "qwen2", "o200k", "smollm"}
    for one, other in combinations(by_name.values(), 2):
        assert any(one(text) != other(text) for text in TELLING)
    assert scanner_name(r"\S+|\s+") is None


@pytest.mark.parametrize("pattern", SPELLINGS)
@examples(60)
@given(parts=st.lists(st.sampled_from([*PIECES, *TELLING]), max_size=12))
def test_families_cut_as_in_tiktoken_and_in_hugging_face(pattern, parts):
    text = "".join(parts)
    words = pre_tokenizer(pattern)(text)
    # With the bytes alone as tokens and every pre-token a token as a whole, tiktoken gives the pre-tokens.
    tokens = dict.fromkeys([*(bytes([b]) for b in range(256)), *(word.encode() for word in words)])
    ranks = {token: rank for rank, token in enumerate(tokens)}
    theirs = tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    assert theirs.decode_tokens_bytes(theirs.encode(text)) == [word.encode() for word in words]
    split = pre_tokenizers.Split(Regex(to_shared_spelling(pattern)), "isolated")
    assert [piece for piece, _ in split.pre_tokenize_str(text)] == words


def test_white_space_at_the_end_of_the_text():
    assert pre_tokenizer(CL100K_PATTERN)("a\n  ") == ["a", "\n  "]
    assert pre_tokenizer(LLAMA3_PATTERN)("a\n  ") == ["a", "\n", "  "]


@pytest.mark.parametrize("pattern", [*SPELLINGS, r"\S+|\s+"])
def test_shared_spellings_are_read_back(pattern):
    assert foreign_syntax(to_shared_spelling(pattern)) is None
    assert from_shared_spelling(to_shared_spelling(pattern)) == pattern
