"""llama2.c's tokenizer file: our merges give the ids that its own way of joining gives."""

import itertools
import random
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.errors import TokenizerError
from groundup.interop.llama2c_tokenizer import FIRST_BYTE_ID, layout, read_tokenizer_bin, write_tokenizer_bin


def pieces_of(path):
    """Score and bytes of each id in a file."""
    content, place, pieces = path.read_bytes(), 4, []
    while place < len(content):
        score, length = struct.unpack_from("<fi", content, place)
        pieces.append((score, content[place + 8 : place + 8 + length]))
        place += 8 + length
    return pieces


def their_ids(text, pieces):
    """llama2.c's way: characters, or bytes where it lacks one; then the best-scoring neighbours join, one by one."""
    known = {}
    for id, (_, piece) in enumerate(pieces):
        known.setdefault(piece, id)
    ids = []
    for character in text:
        piece = character.encode()
        ids += [known[piece]] if piece in known else [FIRST_BYTE_ID + byte for byte in piece]
    while True:
        joins = [known.get(pieces[left][1] + pieces[right][1]) for left, right in itertools.pairwise(ids)]
        best = max((pieces[id][0] for id in joins if id is not None), default=None)
        if best is None:
            return ids
        place = next(place for place, id in enumerate(joins) if id is not None and pieces[id][0] == best)
        ids[place : place + 2] = [joins[place]]


@pytest.fixture(scope="module")
def theirs(shared):
    path = shared / "data/llama2c/tok512.bin"
    return read_tokenizer_bin(path, 512), pieces_of(path)


def test_stories_get_their_ids(theirs, shared):
    ours, pieces = theirs
    text = (shared / "data/tinystories/valid.txt").read_text(encoding="utf-8")[:8_000].replace("<|endoftext|>", "")
    for line in text.splitlines():
        assert ours.encode(line) == their_ids(line, pieces)
        assert ours.decode(ours.encode(line)) == line


@settings(max_examples=50)
@given(st.text(st.sampled_from("  aeinothsTimyOcup.,'\n\t\0“”’é€漢😀"), max_size=30))
def test_any_text_gets_their_ids(theirs, text):
    ours, pieces = theirs
    assert ours.encode(text) == their_ids(text, pieces)


def test_our_own_tokenizer_in_their_file(tokenizer, tmp_path):
    """Where our cut changes nothing, inside words, llama2.c gives our ids; and reading the file gives its ids."""
    path, order = tmp_path / "tokenizer.bin", layout(tokenizer, 300)
    write_tokenizer_bin(path, tokenizer, order)
    pieces, back = pieces_of(path), read_tokenizer_bin(path, 300)
    (longest,) = struct.unpack_from("<i", path.read_bytes())
    assert longest == max(len(piece) for _, piece in pieces)
    draw = random.Random(5)
    for _ in range(200):
        word = " " * draw.randint(0, 1) + "".join(draw.choice("theandogcùlué”") for _ in range(draw.randint(1, 9)))
        assert [order[id] for id in their_ids(word, pieces)] == tokenizer.encode(word) or "”" in word
        assert back.encode(word) == their_ids(word, pieces)
    text = "Tom said, “Où est  la lune?” \n and\n\n  12 dogs"
    assert back.encode(text) == their_ids(text, pieces) and back.decode(back.encode(text)) == text


def written(path, pieces):
    """A file of these (score, bytes)."""
    parts = [struct.pack("<fi", score, len(piece)) + piece for score, piece in pieces]
    path.write_bytes(struct.pack("<i", 9) + b"".join(parts))
    return path


def basis(*more):
    marks = [(0.0, b"<unk>"), (0.0, b"\n<s>\n"), (0.0, b"\n</s>\n")]
    return [*marks, *((0.0, b"<0x%02X>" % byte) for byte in range(256)), *more]


def test_characters_without_parts_and_spaces_inside_tokens(tmp_path):
    """“ is there but no part of it is: it is looked up whole; with a token such as "a b" nothing cuts at spaces."""
    more = [b" a", "“".encode(), b"a b", b"b", b"a", b" b", b" "]
    pieces = basis(*((-float(rank), piece) for rank, piece in enumerate(more)))
    tokenizer = read_tokenizer_bin(written(tmp_path / "t.bin", pieces), len(pieces))
    for text in ("“a b“", "a b a b", "ab“”", " a“ b", "b a"):
        assert tokenizer.encode(text) == their_ids(text, pieces), text


def test_bytes_join_nothing_where_they_are_spelled_out(tmp_path):
    """Without a token " " the space is "<0x20>", and llama2.c, which joins spellings, never comes to " a"."""
    pieces = basis((-1.0, b" a"), (-2.0, b"aa"), (-3.0, b"a"), (-4.0, "é".encode()))
    tokenizer = read_tokenizer_bin(written(tmp_path / "t.bin", pieces), len(pieces))
    for text in (" a", " aaa", "éaé", "è"):
        assert tokenizer.encode(text) == their_ids(text, pieces), text


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        (basis()[:-1], "it ends after 258 of the 259 tokens"),
        (basis((0.0, b"a")), "it goes on after the 259 tokens of the model"),
        ([*basis()[:70], (0.0, b"x"), *basis()[71:]], "the token 70 is b'x'; in llama2.c it is the byte 67"),
    ],
)
def test_damaged_files_are_named(pieces, message, tmp_path):
    with pytest.raises(TokenizerError, match=f"t.bin: {message}"):
        read_tokenizer_bin(written(tmp_path / "t.bin", pieces), 259)


def test_tokens_that_cannot_be(tmp_path):
    twice = basis((-1.0, b"ab"), (-2.0, b"ab"))
    with pytest.raises(TokenizerError, match="the tokens 259 and 260 are both b'ab'"):
        read_tokenizer_bin(written(tmp_path / "t.bin", twice), 261)
    stranded = basis((-1.0, "“".encode()), (-2.0, "“a".encode()))
    with pytest.raises(TokenizerError, match="cannot be made by merges of bytes"):
        read_tokenizer_bin(written(tmp_path / "t.bin", stranded), 261)
    unmade = basis((-1.0, "“".encode()), (-2.0, b"abc"))
    with pytest.raises(TokenizerError, match="the token b'abc' is one that its own merges do not make"):
        read_tokenizer_bin(written(tmp_path / "t.bin", unmade), 261)
    (tmp_path / "t.bin").write_bytes(struct.pack("<ifi", 9, 0.0, -7))
    with pytest.raises(TokenizerError, match="token 0 has -7 bytes"):
        read_tokenizer_bin(tmp_path / "t.bin", 300)
