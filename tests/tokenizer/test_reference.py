"""The reference tokenizer: the worked examples, the rules of training and encoding, real data."""

import doctest
import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from tokenizer.strategies import examples, special_tokens, texts, texts_with_special, vocabularies

from groundup import _native
from groundup.errors import TokenizerError
from groundup.tokenizer import reference
from groundup.tokenizer.reference import ReferenceTokenizer, learn_merges, pre_tokenize, train_bpe_reference

GOLDEN = Path(__file__).resolve().parent.parent / "golden/tinystories_1000_merges.sha256"
END_OF_TEXT = "<|endoftext|>"
ALL_BYTES = {b: bytes([b]) for b in range(256)}


def test_worked_examples():
    results = doctest.testmod(reference)
    assert results.failed == 0 and results.attempted >= 8


@examples(50)
@given(texts)
def test_pre_tokens_joined_are_the_text(text):
    assert "".join(pre_tokenize(text)) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", []),
        ("   ", ["   "]),
        ("a\n\n\nb", ["a", "\n\n", "\n", "b"]),
        ("x     y", ["x", "    ", " y"]),
        ("''s '''ll 'tis", ["''", "s", " '''", "ll", " '", "tis"]),
        ("I'LL we'll", ["I", "'", "LL", " we", "'ll"]),
        ("a\r\nb", ["a", "\r", "\n", "b"]),
        (" \u3000x", [" ", "\u3000", "x"]),
        ("e\u0301²x", ["e", "\u0301", "²", "x"]),
    ],
)
def test_pre_tokenize(text, words):
    assert pre_tokenize(text) == words


@examples(50)
@given(texts_with_special(), special_tokens)
def test_split_special_is_literal_and_loses_nothing(text, tokens):
    parts = list(reference.split_special(text, tokens))
    assert "".join(part for part, _ in parts) == text
    assert all((part in tokens) is is_special or not is_special for part, is_special in parts)
    assert not any(token in part for part, is_special in parts if not is_special for token in tokens)


def test_an_empty_special_token_is_an_error():
    with pytest.raises(TokenizerError, match="special token is empty"):
        train_bpe_reference("text", 300, [""])


@pytest.mark.parametrize(
    ("word", "merges"),
    [
        ("aaaa", ["a a", "aa aa"]),
        ("aaaaa", ["a a", "aa aa", "aaaa a"]),
        ("abababa", ["b a", "ba ba", "baba ba", "a bababa"]),
    ],
)
def test_overlapping_pairs_merge_from_left_to_right(word, merges):
    assert learn_merges({word.encode(): 1}, 9) == [tuple(m.encode().split()) for m in merges]


def test_ties_are_broken_by_bytes_not_by_text():
    # b"\xef..." (U+FF5E) is greater than U+10348 as UTF-16 text, but smaller as bytes (0xf0).
    merges = learn_merges({"～b".encode(): 1, "𐍈b".encode(): 1}, 1)
    assert merges == [("𐍈".encode()[:1], "𐍈".encode()[1:2])]
    assert learn_merges({b"AB": 1, b"AC": 1, b"BZZ": 1}, 1) == [(b"Z", b"Z")]


def test_the_ids_are_special_tokens_then_bytes_then_merges():
    vocab, merges = train_bpe_reference("ab ab<x>ab", 260, ["<y>", "<x>"])
    assert (vocab[0], vocab[1], vocab[2], vocab[257]) == (b"<y>", b"<x>", b"\x00", b"\xff")
    assert [vocab[258], vocab[259]] == [b"ab", b" ab"] and merges == [(b"a", b"b"), (b" ", b"ab")]


def test_vocab_size_too_large_exact_and_too_small():
    vocab, merges = train_bpe_reference("ab", 1000, [END_OF_TEXT])
    assert len(vocab) == 258 and merges == [(b"a", b"b")]
    assert train_bpe_reference("ab", 257, [END_OF_TEXT])[1] == []
    with pytest.raises(TokenizerError, match="vocab_size 256 is too small"):
        train_bpe_reference("ab", 256, [END_OF_TEXT])


def test_no_merge_crosses_or_enters_a_special_token():
    vocab, _ = train_bpe_reference("x<|a|>x<|a|>x\n<|a|>\nx" * 9, 400, ["<|a|>"])
    assert not any(b"|" in token or b"<" in token for id, token in vocab.items() if id > 256)


@examples(50)
@given(texts, vocabularies())
def test_decoding_what_was_encoded_gives_the_text(text, vocabulary):
    tokenizer = ReferenceTokenizer(*vocabulary, ["<a>"])
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.decode(tokenizer.encode(text, special=False)) == text


def test_special_tokens_take_the_next_free_id_and_the_longer_one_wins():
    vocab = ALL_BYTES | {1000: b"zz"}
    tokenizer = ReferenceTokenizer(vocab, [], ["<a>", "<a><a>", "zz"])
    assert tokenizer.encode("<a><a><a>zz") == [1002, 1001, 1000]
    assert tokenizer.encode("<a>", special=False) == list(b"<a>")
    assert vocab == ALL_BYTES | {1000: b"zz"}


def test_unknown_ids_and_missing_tokens_are_named():
    tokenizer = ReferenceTokenizer({0: b"a", 7: b"b"}, [])
    with pytest.raises(TokenizerError, match="id 3 is not in the vocabulary"):
        tokenizer.decode([0, 3])
    with pytest.raises(TokenizerError, match=r"no token b'\\xc3'"):
        tokenizer.encode("abé")
    assert ReferenceTokenizer({0: b"\xf0", 1: b"a"}, []).decode([0, 1]) == "\ufffda"


def digest(merges) -> str:
    lines = "".join(f"{left.hex()} {right.hex()}\n" for left, right in merges)
    return hashlib.sha256(lines.encode()).hexdigest()


def test_native_merges_of_tinystories_are_the_golden_ones(shared):
    counter = _native.WordCounter([END_OF_TEXT.encode()])
    counter.add_file(shared / "data/tinystories/tinystories_sample_5M.txt")
    assert digest(counter.train(1000 - 257)) == GOLDEN.read_text().split()[0]


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_reference_merges_of_tinystories_are_the_golden_ones(shared, request):
    text = (shared / "data/tinystories/tinystories_sample_5M.txt").read_bytes().decode()
    _, merges = train_bpe_reference(text, 1000, [END_OF_TEXT])
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(f"{digest(merges)}  merges of tinystories_sample_5M.txt, 1,000 entries, by reference.py\n")
    assert digest(merges) == GOLDEN.read_text().split()[0]
