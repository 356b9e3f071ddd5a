"""Normal form C: where a text can be cut, which tokens it leaves alone, streams that end anywhere."""

import sys
import unicodedata
from itertools import filterfalse

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import examples, texts

from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.normalization import is_nfc, is_untouched_by_nfc, last_joint, to_nfc
from groundup.tokenizer.patterns import QWEN2_PATTERN
from groundup.tokenizer.vocabulary import make_vocabulary

CHARACTERS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
marked = st.sampled_from(
    ["e", "\u0301", "\u0323", "\u0338", ">", "<a>", "가", "ᄀ", "ᅡ", "ᆨ", "क", "़", "K", "Å", " ", "日"]
)


def test_what_joins_nothing_before_it():
    """Against Python's tables: no joint has a combining class, begins with a mark or ends a canonical pair."""
    seconds = set()
    for character in CHARACTERS:
        pair = unicodedata.decomposition(character).split()
        if len(pair) == 2 and not pair[0].startswith("<"):
            seconds.add(chr(int(pair[1], 16)))
    # One text of all characters is quicker than as many calls: what is no joint is passed over.
    joints = []
    text = "".join(CHARACTERS)
    while (place := last_joint(text)) is not None:
        joints.append(text[place])
        text = text[:place]
    assert len(joints) > 39_000
    for character in joints:
        first = unicodedata.normalize("NFD", character)[0]
        assert not unicodedata.combining(first)
        assert first not in seconds
        assert not "\u1160" <= first <= "\u11ff"  # jamo that join by rule, not by table


def test_which_ascii_normalization_makes_and_changes():
    made = set(unicodedata.normalize("NFC", "".join(filterfalse(str.isascii, CHARACTERS))))
    assert set(filter(str.isascii, made)) == set("K;`")
    marks = list(filter(unicodedata.combining, CHARACTERS))
    ascii_characters = list(map(chr, range(128)))
    changed = {a for a in ascii_characters if any(unicodedata.normalize("NFC", a + mark)[0] != a for mark in marks)}
    assert {first for first in ascii_characters if not is_untouched_by_nfc(first)} == changed | set("K;`") | set(
        filter(str.isalpha, ascii_characters)
    )
    assert is_untouched_by_nfc("<|x|") and is_untouched_by_nfc("  ")
    assert not is_untouched_by_nfc("<|x|>") and not is_untouched_by_nfc("é|")


@examples(200)
@given(text=st.one_of(texts, st.lists(marked).map("".join)))
def test_normalized_parts_are_the_normalized_text(text):
    cut = last_joint(text)
    if cut is not None:
        assert to_nfc(text[:cut]) + to_nfc(text[cut:]) == to_nfc(text)
    assert is_nfc(text) == (to_nfc(text) == text)


@pytest.fixture(scope="module", params=["native", "own pattern"])
def tokenizer(request):
    tokens = {b: bytes([b]) for b in range(256)}
    pattern = {"pattern": r"\p{L}+|\s+|[^\p{L}\s]+"} if request.param == "own pattern" else {}
    return Tokenizer.from_vocabulary(make_vocabulary(tokens, [], ["<a>", "<a><a>"], normalization="NFC", **pattern))


@examples(150)
@given(parts=st.lists(st.lists(marked, max_size=5).map("".join), max_size=8))
def test_each_part_between_special_tokens_is_normalized(tokenizer, parts):
    text = "".join(parts)
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == "<a>".join(map(to_nfc, text.split("<a>")))
    assert list(tokenizer.encode_iterable(parts)) == ids
    assert tokenizer.decode(tokenizer.encode(text, special="text")) == to_nfc(text)
    assert tokenizer.encode_batch([text, *parts]) == [ids, *map(tokenizer.encode, parts)]


def test_special_tokens_are_those_of_the_text_as_it_came(tokenizer):
    assert tokenizer.encode("<a>\u0338") == [256, *"\u0338".encode()]
    with pytest.raises(TokenizerError, match="special token '<a>' at character 2"):
        tokenizer.encode("e\u0301<a>\u0338", special="error")
    with pytest.raises(TokenizerError, match="lone surrogate, '\\\\ud800', at character 2"):
        tokenizer.encode("e\u0301\ud800")
    with pytest.raises(TokenizerError, match="at character 3"):
        list(tokenizer.encode_iterable(["e\u0301", "x\ud800"]))
    assert tokenizer.encode("e\u0301\ud800", errors="replace") == list("é\ufffd".encode())


def test_a_long_text_without_joints_is_kept_until_it_ends():
    vocabulary = make_vocabulary({b: bytes([b]) for b in range(256)}, [], pattern=QWEN2_PATTERN, normalization="NFC")
    tokenizer = Tokenizer.from_vocabulary(vocabulary)
    text = "Привет\u0301, " + "ᄀ" * 100_000 + "ᅡ"
    parts = [text[i : i + 5000] for i in range(0, len(text), 5000)]
    assert tokenizer.decode(list(tokenizer.encode_iterable(parts))) == to_nfc(text)
