"""The parts of a tokenizer: what is accepted, which ids follow, what the fingerprint covers."""

import dataclasses
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import vocabularies

from groundup.errors import TokenizerError
from groundup.tokenizer.vocabulary import LARGEST_ID, make_vocabulary

BYTES = {b: bytes([b]) for b in range(256)}
TH = (b"t", b"h")


def test_new_special_tokens_follow_the_largest_id():
    tokens = {5: b"a", 1000: b"b", 2: b"<x>"}
    vocabulary = make_vocabulary(tokens, [], ["<y>", "<x>", "<z>"])
    assert vocabulary.special_tokens == {"<y>": 1001, "<x>": 2, "<z>": 1002}
    assert vocabulary.tokens == {2: b"<x>", 5: b"a", 1000: b"b", 1001: b"<y>", 1002: b"<z>"}
    assert tokens == {5: b"a", 1000: b"b", 2: b"<x>"}


def test_an_empty_vocabulary_can_begin_with_a_special_token():
    assert make_vocabulary({}, [], ["<x>"]).special_tokens == {"<x>": 0}


def test_ordinary_text_has_no_special_tokens_but_bytes_and_merges():
    tokens = {0: b"a", 1: b"b", 2: b"ab", 3: b"<x>"}
    assert make_vocabulary(tokens, [(b"a", b"b")], ["<x>", "ab", "b"]).ordinary_ids() == {b"a": 0, b"b": 1, b"ab": 2}


def test_a_one_byte_special_token_has_an_id_beside_the_byte():
    vocabulary = make_vocabulary({0: b"a", 1: b"b", 2: b"a"}, [], ["a"])
    assert vocabulary.special_tokens == {"a": 0}
    assert vocabulary.ordinary_ids() == {b"a": 2, b"b": 1}


def test_special_tokens_with_ids_of_their_own():
    tokens = {0: b"a", 1: b"b", 2: b"ab"}
    vocabulary = make_vocabulary(tokens, [(b"a", b"b")], {"ab": 9, "<x>": 5})
    assert vocabulary.special_tokens == {"ab": 9, "<x>": 5}
    assert vocabulary.tokens == {**tokens, 5: b"<x>", 9: b"ab"}
    assert vocabulary.ordinary_ids() == {b"a": 0, b"b": 1, b"ab": 2}
    assert tokens == {0: b"a", 1: b"b", 2: b"ab"}
    only = make_vocabulary({0: b"a", 1: b"b"}, [(b"a", b"b")], {"ab": 2})
    assert only.ordinary_ids() == {b"a": 0, b"b": 1, b"ab": 2}


@pytest.mark.parametrize(
    ("special", "message"),
    [
        ({"<x>": 0}, "the special token '<x>' has the id of the token b'a', 0"),
        ({"<x>": 7, "<y>": 7}, "the special token '<y>' has the id of the token b'<x>', 7"),
        ({"<x>": -1}, "the id -1 of token b'<x>' cannot be used"),
        ({"": 7}, "is the empty text"),
    ],
)
def test_ids_of_special_tokens_that_cannot_be(special, message):
    with pytest.raises(TokenizerError, match=message):
        make_vocabulary({0: b"a", 1: b"b"}, [], special)


@pytest.mark.parametrize(
    ("tokens", "merges", "message"),
    [
        ({0: b"a", 1: b"a"}, [], "ids 0 and 1 both stand for b'a'"),
        ({0: b""}, [], "token 0 is b''"),
        ({-1: b"a"}, [], "id -1 of token b'a' cannot be used"),
        ({LARGEST_ID + 1: b"a"}, [], "cannot be used; ids lie in 0"),
        (BYTES, [TH], "merge 0 .* needs the token b'th'"),
        (BYTES | {300: b"the"}, [(b"th", b"e")], "needs the token b'th'"),
        (BYTES | {300: b"th"}, [TH, TH], "is given twice"),
        (BYTES, [(b"", b"a")], "needs the token b''"),
    ],
)
def test_parts_that_do_not_fit_are_refused(tokens, merges, message):
    with pytest.raises(TokenizerError, match=message):
        make_vocabulary(tokens, merges)


def test_the_same_bytes_may_be_twice_only_for_a_one_byte_special_token():
    with pytest.raises(TokenizerError, match="ids 0 and 1 both stand for"):
        make_vocabulary({0: b"<x>", 1: b"<x>"}, [], ["<x>"])
    with pytest.raises(TokenizerError, match="ids 0 and 2 both stand for"):
        make_vocabulary({0: b"a", 1: b"a", 2: b"a"}, [], ["a"])


def test_fingerprint_covers_every_part_and_nothing_else():
    tokens = BYTES | {300: b"th", 301: b"he"}
    first = make_vocabulary(tokens, [TH, (b"h", b"e")], ["<x>", "<y>"])
    others = [
        dataclasses.replace(first, tokens=first.tokens | {299: b"zz"}),
        dataclasses.replace(first, merges=first.merges[::-1]),
        dataclasses.replace(first, special_tokens={"<x>": 302}),
        dataclasses.replace(first, pattern=r"\S+|\s+"),
        dataclasses.replace(first, ignore_merges=True),
        dataclasses.replace(first, normalization="NFC"),
    ]
    assert len({vocabulary.fingerprint() for vocabulary in [first, *others]}) == 7
    again = make_vocabulary(dict(reversed(first.tokens.items())), first.merges, ["<y>", "<x>"])
    assert again.fingerprint() == first.fingerprint()
    # Fixed for ever: shards written long ago carry it.
    small = make_vocabulary({0: b"a", 1: b"b", 2: b"ab"}, [(b"a", b"b")], ["<x>"])
    assert small.fingerprint().startswith("bad47c4ed9bd9208")


@given(vocabularies(), st.text(), st.booleans(), st.sampled_from([None, "NFC"]))
def test_the_fingerprint_is_of_compact_json(vocabulary, pattern, ignore_merges, normalization):
    vocab, merges = vocabulary
    options = {"ignore_merges": ignore_merges, "normalization": normalization}
    made = make_vocabulary(vocab, list(dict.fromkeys(merges)), ["<é>", '"\n'], pattern, **options)
    parts = {
        "merges": [[left.hex(), right.hex()] for left, right in made.merges],
        "pattern": pattern,
        "special_tokens": sorted([id, token] for token, id in made.special_tokens.items()),
        "tokens": [[id, token.hex()] for id, token in sorted(made.tokens.items())],
    }
    parts |= {name: value for name, value in options.items() if value}
    canonical = json.dumps(parts, separators=(",", ":"), sort_keys=True)
    assert made.fingerprint() == hashlib.sha256(canonical.encode("ascii")).hexdigest()
