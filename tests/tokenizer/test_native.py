"""The native pre-tokenizer: equal to the reference and to `regex`; what it does with bad text."""

import pytest
import regex
from hypothesis import given
from tokenizer.strategies import examples, texts

from groundup import _native
from groundup.tokenizer.reference import pre_tokenize

GPT2_PATTERN = regex.compile(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")
CLASSES = {"letter": regex.compile(r"\p{L}"), "number": regex.compile(r"\p{N}"), "space": regex.compile(r"\s")}


def same_class_in_regex(character: str) -> bool:
    """False for characters that the Unicode of `regex` knows and that of tiktoken does not."""
    native = _native.unicode_class(ord(character))
    return all((name == native) == bool(pattern.match(character)) for name, pattern in CLASSES.items())


@examples(150)
@given(texts)
def test_pre_tokens_are_those_of_the_reference(text):
    assert _native.pre_tokenize(text) == [word.encode() for word in pre_tokenize(text)]


@examples(150)
@given(texts)
def test_pre_tokens_are_those_of_regex(text):
    text = "".join(filter(same_class_in_regex, text))
    assert _native.pre_tokenize(text) == [word.encode() for word in GPT2_PATTERN.findall(text)]


def test_pre_tokens_of_real_text_are_those_of_the_reference(shared):
    text = (shared / "data/multilingual/udhr_all.txt").read_text(encoding="utf-8")[::7]
    assert _native.pre_tokenize(text[:400_000]) == [word.encode() for word in pre_tokenize(text[:400_000])]


@examples(50)
@given(texts)
def test_text_may_come_as_utf8(text):
    assert _native.pre_tokenize(text.encode()) == _native.pre_tokenize(text)


# Stray and missing continuation bytes, overlong forms, a surrogate, past the end of Unicode.
INVALID = [b"\x80", b"\xc3", b"\xe2\x82", b"\xc0\xaf", b"\xe0\x80\x80", b"\xf0\x80\x80\x80"]
INVALID += [b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff"]


@pytest.mark.parametrize("invalid", INVALID)
@pytest.mark.parametrize("before", ["", "abc", "abcdefgh", "é" * 9, "x" * 100, "👍"])
def test_invalid_utf8_is_named_by_its_offset(invalid, before):
    text, offset = before.encode() + invalid, len(before.encode())
    for whole in (text, text + b" some more text"):
        with pytest.raises(ValueError, match=rf"not UTF-8: byte 0x{invalid[0]:02x} at byte offset {offset}$"):
            _native.pre_tokenize(whole)


def test_every_valid_character_is_accepted():
    text = "".join(chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    assert b"".join(_native.pre_tokenize(text.encode())) == text.encode()


def test_a_lone_surrogate_is_named_by_its_position():
    with pytest.raises(UnicodeEncodeError, match="position 3"):
        _native.pre_tokenize("abc\ud83d")


def test_only_text_is_taken():
    with pytest.raises(TypeError):
        _native.pre_tokenize(bytearray(b"abc"))  # pyright: ignore[reportArgumentType]


def test_there_is_at_least_one_thread():
    assert 1 <= _native.default_num_threads() <= 4096
