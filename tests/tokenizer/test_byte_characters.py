"""The byte alphabet of GPT-2's files."""

import pytest
from tokenizers.pre_tokenizers import ByteLevel

from groundup.errors import TokenizerError
from groundup.tokenizer.byte_characters import byte_alphabet, is_byte_name, to_bytes, to_characters


def test_each_byte_has_a_visible_character_of_its_own():
    alphabet = byte_alphabet()
    assert len(set(alphabet)) == 256
    assert all(character.isprintable() and not character.isspace() for character in alphabet)


def test_the_alphabet_is_that_of_hugging_face():
    assert sorted(byte_alphabet()) == sorted(ByteLevel.alphabet())


def test_known_characters():
    assert to_characters(b" \n\x00\x7f\xa0\xad\xff!") == "ĠĊĀġłŃÿ!"


def test_bytes_come_back():
    every_byte = bytes(range(256))
    assert to_bytes(to_characters(every_byte)) == every_byte


@pytest.mark.parametrize("name", ["a b", "a\n", "中", "\xad", "\ud800", "ń"])
def test_other_characters_are_refused_by_name(name):
    with pytest.raises(TokenizerError, match="stands for no byte"):
        to_bytes(name)


def test_names_that_are_bytes_but_not_their_own_utf8():
    assert all(is_byte_name(name) for name in ["é", "Ġ", "ł"])
    assert not any(is_byte_name(name) for name in ["a", "éé", "", "日", "\xa0", "\x80"])
