"""Streams: decoding never shows half a character, encoding never depends on the cuts."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizer.strategies import texts

from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.streaming import SpecialGuard, StreamingDecoder

BYTES = {b: bytes([b]) for b in range(256)}


def decoded(chunks: list[bytes]) -> tuple[list[str], str]:
    """What each push shows, and what finish adds."""
    decoder = StreamingDecoder(chunks.__getitem__)
    shown = [decoder.push(number) for number in range(len(chunks))]
    return shown, decoder.finish()


def test_an_emoji_over_three_tokens():
    shown, rest = decoded([b"so \xf0", b"\x9f\x98", b"\x80!"])
    assert shown == ["so ", "", "😀!"]
    assert rest == ""


def test_every_cut_of_a_text_of_long_characters():
    data = "é€😀日".encode()
    for a in range(len(data) + 1):
        for b in range(a, len(data) + 1):
            shown, rest = decoded([data[:a], data[a:b], data[b:]])
            assert "".join(shown) + rest == "é€😀日"
            assert "\ufffd" not in "".join(shown)


def test_the_end_within_a_character_shows_when_it_is_certain():
    assert decoded([b"ab\xe2\x82"]) == (["ab"], "\ufffd")
    assert decoded([b"\xe2\x82", b"c"]) == (["", "\ufffdc"], "")
    assert decoded([b"\xff", b"\x80"]) == (["\ufffd", "\ufffd"], "")


@settings(max_examples=50)
@given(st.lists(st.one_of(st.binary(max_size=4), texts.map(str.encode)), max_size=12))
def test_joined_it_is_the_decoded_whole(chunks):
    shown, rest = decoded(chunks)
    assert "".join(shown) + rest == b"".join(chunks).decode(errors="replace")


@settings(max_examples=50)
@given(st.lists(st.integers(0, 255), max_size=30))
def test_decoder_of_a_tokenizer_agrees_with_decode(ids):
    tokenizer = Tokenizer(BYTES, [])
    decoder = tokenizer.decoder()
    assert "".join(map(decoder.push, ids)) + decoder.finish() == tokenizer.decode(ids)


def test_a_decoder_starts_anew_after_finish():
    decoder = Tokenizer(BYTES, []).decoder()
    assert decoder.push(0xC3) + decoder.finish() + decoder.push(0x41) == "\ufffdA"


def test_unknown_id_is_named():
    with pytest.raises(TokenizerError, match="id 256 is not in the vocabulary"):
        Tokenizer(BYTES, []).decoder().push(256)


@settings(max_examples=50)
@example(["x<", "a", ">"])
@given(st.lists(st.sampled_from(["<", "a", ">", "<a>", "b<", "x" * 9]), max_size=12))
def test_guard_sees_what_lies_across_cuts(parts):
    seen = []

    def refuse(text, offset):
        if "<a>" in text:
            seen.append(offset + text.index("<a>"))
            raise TokenizerError("found")

    guard = SpecialGuard(refuse, len("<a>"))
    whole = "".join(parts)
    try:
        for part in parts:
            guard.check(part)
    except TokenizerError:
        assert seen == [whole.index("<a>")]
    else:
        assert "<a>" not in whole
