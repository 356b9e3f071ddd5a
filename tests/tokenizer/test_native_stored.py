"""Encoders in files: what comes back is what was stored, and what is damaged does not come back."""

import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer.stored import read_stored
from tokenizer.strategies import texts, vocabularies

from groundup import _native

SPECIAL = [(b"<a>", 3_999_999_999), (b"\xc3\xa9", 4_000_000_000)]
SOURCE = b"what it was made of " * 50
BYTES = [(bytes([byte]), byte) for byte in range(256)]


def encoder_of(merges, **options):
    made = dict.fromkeys([left + right for left, right in merges])
    return _native.Encoder([*BYTES, *zip(made, range(300, 70_000), strict=False)], merges, SPECIAL, **options)


def read(folder, content: bytes, source: bytes = SOURCE):
    return read_stored(folder, content, source)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("stored")


@pytest.fixture(scope="module")
def stored() -> bytes:
    merges = [(b"a", b"b"), (b"c", b"d"), (b"ab", b"cd"), (b" ", b"abcd"), (b"\xff", b"\x00")]
    return _native.store_encoder(encoder_of(merges), SOURCE, [b"note", b""])


@settings(max_examples=30)
@given(vocabularies(), texts, st.sampled_from(["gpt2", "llama3", "o200k"]), st.booleans())
def test_all_comes_back(folder, vocabulary, text, pattern, ignore_merges):
    vocab, merges = vocabulary
    tokens = [(token, id) for id, token in vocab.items()]
    encoder = _native.Encoder(tokens, merges, SPECIAL, pattern=pattern, ignore_merges=ignore_merges)
    again, notes = read(folder, _native.store_encoder(encoder, SOURCE, [b"one", b"", b"\xff"]))
    assert notes == [b"one", b"", b"\xff"]
    text += "<a>é"
    for special in (True, False):
        assert again.encode(text, special) == encoder.encode(text, special)
    ids = encoder.encode(text, True)
    assert again.decode_bytes(ids) == encoder.decode_bytes(ids) == text.encode()
    assert list(again.tokens().items()) == list(encoder.tokens().items()) == sorted((vocab | ids_of_special()).items())
    assert again.special_tokens() == encoder.special_tokens() == {"<a>": 3_999_999_999, "é": 4_000_000_000}
    assert again.merges() == encoder.merges() == merges
    assert (again.num_tokens, again.end_id) == (len(vocab) + 2, 4_000_000_001)
    assert again.ignore_merges is ignore_merges
    assert _native.store_encoder(again, SOURCE, notes) == (folder / "tables").read_bytes()


def ids_of_special() -> dict[int, bytes]:
    return {id: token for token, id in SPECIAL}


@pytest.mark.parametrize(
    "merges",
    [
        [],
        [(b"a", b"b"), (b"b", b"c"), (b"ab", b"c"), (b"a", b"bc")],  # one token made twice: without a speller
        [(b"ab", b"c"), (b"a", b"b")],
        [(b"a" * n, b"a") for n in range(1, 40)],
    ],
)
def test_merges_of_all_kinds_come_back(folder, merges):
    encoder = encoder_of(merges)
    again, _ = read(folder, _native.store_encoder(encoder, SOURCE, []))
    assert again.merges() == encoder.merges() == merges
    assert again.encode("abcabaaabc" * 9, True) == encoder.encode("abcabaaabc" * 9, True)


def test_what_is_cut_short_or_too_long_does_not(folder, stored):
    assert read(folder, stored) is not None
    places = [*range(200), *(len(stored) * part // 64 for part in range(64)), len(stored) - 1]
    assert [place for place in places if read(folder, stored[:place])] == []
    assert read(folder, stored + b"\0") is None


def test_what_is_damaged_does_not(folder, stored):
    rng = random.Random(0)
    places = [*range(8 * 64), *rng.sample(range(8 * len(stored)), 1000)]
    for place in places:
        damaged = bytearray(stored)
        damaged[place // 8] ^= 1 << place % 8
        assert read(folder, bytes(damaged)) is None, f"bit {place}"


def test_another_source_does_not_get_it(folder, stored):
    for source in (b"", SOURCE[:-1], SOURCE + b"x", b"X" + SOURCE[1:], SOURCE[:-1] + b"X"):
        assert read(folder, stored, source) is None


def test_files_that_cannot_be_read(folder, stored):
    read(folder, stored)
    file = os.open(folder / "tables", os.O_RDONLY)
    directory = os.open(folder, os.O_RDONLY)
    try:
        assert _native.read_stored_encoder(directory, file) is None
        assert _native.read_stored_encoder(file, directory) is None
        assert _native.checksum_of_file(directory) is None
    finally:
        os.close(file)
        os.close(directory)


@given(st.binary(max_size=300), st.integers(0, 7))
def test_a_checksum_tells_one_bit(content, bit):
    whole = _native.checksum(content)
    assert len({whole, _native.checksum(content + b"\0"), _native.checksum(b"\1" + content)}) == 3
    for place in range(len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 1 << bit
        assert _native.checksum(bytes(flipped)) != whole


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, (1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_000])
def test_the_checksum_of_a_file_is_that_of_its_bytes(folder, size):
    content = random.Random(size).randbytes(size)
    (folder / "any").write_bytes(content)
    file = os.open(folder / "any", os.O_RDONLY)
    try:
        assert _native.checksum_of_file(file) == _native.checksum_of_file(file) == _native.checksum(content)
    finally:
        os.close(file)
