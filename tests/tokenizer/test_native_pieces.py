"""Where the core cuts long documents, and where it finds bytes that are not UTF-8: against Python's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup import _native

SCANNERS = ["gpt2", "smollm", "cl100k", "llama3", "qwen2", "o200k"]
CUT_SPACES = " \t\n\r"


def cuts_of(text: str, num_chars: int, scanner: str) -> list[int]:
    """The same cuts, character by character."""
    cuts, begin = [], 0
    for i in range(1, len(text)):
        before, after = text[i - 1], text[i]
        if (
            i - begin >= num_chars
            and after in CUT_SPACES
            and not before.isspace()
            and _native.is_boundary(ord(before), ord(after), scanner)
        ):
            cuts.append(i)
            begin = i
    return [len(text[:cut].encode()) for cut in cuts]


@pytest.mark.parametrize("scanner", SCANNERS)
@given(
    text=st.text(st.sampled_from("ab1' .,/!\n\r\t\u00a0\u3000\x1c\x1f\x85é二🏠\u0301"), max_size=80),
    num_chars=st.integers(1, 30),
)
def test_cuts_are_those_found_one_by_one(scanner: str, text: str, num_chars: int) -> None:
    assert _native.piece_cuts(text.encode(), num_chars, scanner) == cuts_of(text, num_chars, scanner)


@pytest.mark.parametrize("scanner", SCANNERS)
def test_a_space_parts_it_from_every_character_but_white_space(scanner: str) -> None:
    """In all scanners a cut can fall before a space: a long text has pieces, whatever its script."""
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for character in characters:
        text = f"{character} x".encode()
        expected = [] if character.isspace() else [len(character.encode())]
        assert _native.piece_cuts(text, 1, scanner) == expected, ascii(character)


def test_gpt2_can_be_cut_before_every_white_space_of_ascii() -> None:
    for before in map(chr, range(128)):
        for after in CUT_SPACES:
            assert (_native.piece_cuts(f"{before}{after}".encode(), 1) == [1]) is not before.isspace()


def test_no_cut_at_the_ends() -> None:
    assert _native.piece_cuts(b"", 1) == []
    assert _native.piece_cuts(b" ", 1) == []
    assert _native.piece_cuts(b" a", 1) == []
    assert _native.piece_cuts(b"a b", 5) == []
    assert _native.piece_cuts(b"ab cd e", 0) == _native.piece_cuts(b"ab cd e", 1) == [2, 5]
    with pytest.raises(ValueError, match="there is no scanner 'mine'"):
        _native.piece_cuts(b"a b", 1, "mine")


@given(st.binary(max_size=60), st.integers(1, 5))
def test_bytes_that_are_no_text_do_no_harm(data: bytes, num_chars: int) -> None:
    cuts = _native.piece_cuts(data, num_chars)
    assert cuts == sorted(set(cuts))
    assert all(data[cut] in CUT_SPACES.encode() for cut in cuts)


characters = [character.encode() for character in "aé二🏠"]
utf8_pieces = st.sampled_from([*characters, b"\x80", b"\xc3", b"\xe2\x82", b"\xff"])


@given(st.lists(utf8_pieces, max_size=20).map(b"".join))
def test_invalid_utf8_is_found_where_python_finds_it(data: bytes) -> None:
    try:
        data.decode()
        expected = None
    except UnicodeDecodeError as error:
        expected = error.start
    assert _native.find_invalid_utf8(data) == expected
