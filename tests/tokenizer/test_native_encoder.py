"""The native encoder: equal to the reference and to tiktoken, in one piece, in a stream and in a batch."""

import gc
import itertools
import json
import random
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import (
    SPECIAL_TOKENS,
    examples,
    small_texts,
    special_tokens,
    texts,
    texts_with_special,
    vocabularies,
)

from groundup._native import Encoder
from groundup.tokenizer.byte_characters import byte_alphabet
from groundup.tokenizer.reference import ReferenceTokenizer

END_OF_TEXT = "<|endoftext|>"
BYTES = {b: bytes([b]) for b in range(256)}


def make_encoder(vocab, merges, special=(), **options) -> Encoder:
    """An encoder as `Tokenizer` makes it: new special tokens take the next free ids."""
    vocab = dict(vocab)
    ids = {token: id for id, token in vocab.items()}
    next_id = max(vocab) + 1
    for token in encoded(special):
        if token not in ids:
            ids[token] = next_id
            vocab[next_id] = token
            next_id += 1
    return Encoder(
        [(token, id) for id, token in vocab.items()], merges, [(t, ids[t]) for t in encoded(special)], **options
    )


BYTE_OF = {character: byte for byte, character in enumerate(byte_alphabet())}


def to_bytes(characters: str) -> bytes:
    return bytes(map(BYTE_OF.__getitem__, characters))


def encoded(tokens):
    return [token.encode() for token in tokens]


@pytest.fixture(scope="module")
def gpt2(shared) -> tuple[Encoder, tiktoken.Encoding]:
    files = shared / "data/gpt2"
    ids = json.loads((files / "gpt2_vocab.json").read_text(encoding="utf-8"))
    lines = (files / "gpt2_merges.txt").read_text(encoding="utf-8").splitlines()
    merges = [
        (to_bytes(a), to_bytes(b)) for a, b in (line.split(" ") for line in lines if not line.startswith("#version"))
    ]
    tokens = {to_bytes(token): id for token, id in ids.items() if token != END_OF_TEXT}
    oracle = tiktoken.Encoding(
        "gpt2",
        pat_str=r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
        mergeable_ranks=tokens,
        special_tokens={END_OF_TEXT: 50256},
    )
    return Encoder(list(tokens.items()), merges, [(END_OF_TEXT.encode(), 50256)]), oracle


# ---- Equal to the reference ----


@examples(100)
@given(st.one_of(texts, small_texts), vocabularies(), st.sampled_from([0, 1, 30_000, 1 << 20]))
def test_ids_are_those_of_the_reference(text, vocabulary, cache_bytes):
    encoder = make_encoder(*vocabulary, cache_bytes=cache_bytes)
    expected = ReferenceTokenizer(*vocabulary).encode(text)
    assert encoder.encode(text, True) == encoder.encode(text, True) == expected  # the second time from the cache
    assert encoder.decode_bytes(expected) == text.encode()


@examples(100)
@given(small_texts, vocabularies(any_order=True))
def test_merges_in_an_order_that_no_training_makes(text, vocabulary):
    assert make_encoder(*vocabulary).encode(text, True) == ReferenceTokenizer(*vocabulary).encode(text)


@examples(100)
@given(texts_with_special(), special_tokens, vocabularies())
def test_special_tokens_are_those_of_the_reference(text, special, vocabulary):
    encoder, reference = make_encoder(*vocabulary, special), ReferenceTokenizer(*vocabulary, special)
    assert encoder.encode(text, True) == reference.encode(text)
    assert encoder.encode(text, False) == reference.encode(text, special=False)


@examples(50)
@given(st.lists(st.binary(max_size=100), max_size=9), vocabularies())
def test_words_of_any_bytes(words, vocabulary):
    reference = ReferenceTokenizer(*vocabulary)
    expected = [reference.ids[token] for word in words for token in reference.apply_merges(word)]
    assert make_encoder(*vocabulary).encode_words(words) == expected


def test_a_word_in_the_vocabulary_is_not_used_unless_the_merges_make_it():
    vocab = BYTES | {300: b"abc", 301: b"bc"}
    assert make_encoder(vocab, []).encode("abc", True) == [97, 98, 99]
    assert make_encoder(vocab, [(b"b", b"c")]).encode("abc", True) == [97, 301]


# ---- Equal to tiktoken ----


def test_the_sixty_strings(gpt2, shared):
    cases = json.loads((shared / "cases/gpt2_encode.json").read_text(encoding="utf-8"))
    assert len(cases) == 60
    for case in cases:
        assert gpt2[0].encode(case["text"], True) == case["ids"], case["why"]


@examples(150)
@given(st.one_of(texts, texts_with_special([END_OF_TEXT])))
def test_ids_are_those_of_tiktoken(gpt2, text):
    assert gpt2[0].encode(text, True) == gpt2[1].encode(text, allowed_special="all")
    assert gpt2[0].encode(text, False) == gpt2[1].encode_ordinary(text)


def long_texts(size):
    rng = random.Random(0)
    letters, others = "abcdefghijklmnopqrstuvwxyz", "!?.,;:-()[]{}*+=/'\"&%$#@"
    any_character = [*range(0x20, 0xD800), *range(0xE000, 0x110000)]
    yield from ("a" * size, "^" * size, " " * size, "\n" * size, "0" * size, " \n" * (size // 2), "你" * size)
    yield "".join(rng.choice(letters) for _ in range(size))
    yield "".join(rng.choice("0123456789") for _ in range(size))
    yield "".join(rng.choice(others) for _ in range(size))
    yield "".join(chr(rng.choice(any_character)) for _ in range(size))


def test_long_words_are_those_of_tiktoken(gpt2):
    for size in (50, 63, 64, 65, 66, 250, 260, 20_000):
        for text in long_texts(size):
            assert gpt2[0].encode(text, True) == gpt2[1].encode(text)


def test_a_lot_of_anything(gpt2):
    for text in long_texts(200_000):
        assert gpt2[0].decode_bytes(gpt2[0].encode_array(text, True)) == text.encode()


def test_real_text_of_many_languages(gpt2, shared):
    text = (shared / "data/multilingual/udhr_all.txt").read_text(encoding="utf-8")
    assert gpt2[0].decode_bytes(gpt2[0].encode_array(text, True)) == text.encode()
    text = text[::9]  # a bit of everything
    assert gpt2[0].encode(text, False) == gpt2[1].encode_ordinary(text)


# ---- Streams ----


def streamed(encoder, pieces, special=True) -> list[int]:
    stream = encoder.stream(special)
    return [id for piece in pieces for id in stream.push(piece)] + stream.finish()


CUT_TEXTS = [
    "a\n\n\nb c\r\n d\r\n\r\n  e",
    "x<|endoftext|>y<|endof<|endoftext|>  <|endoftext|>",
    "we'll they're I'd 'll '''s ' l'l '",
    "é你好👍🏽 e\u0301\u3000 \u2003x ٣٣३ ½",
    "word   \t\n",
    "<a><a><a> <a",
]


@pytest.mark.parametrize("text", CUT_TEXTS)
def test_a_stream_cut_at_every_place_gives_the_ids_of_the_whole(gpt2, text):
    with_pairs = make_encoder(BYTES, [(b"a", b">")], ["<a>", "<a><a>"])
    for encoder in (gpt2[0], with_pairs):
        for special in (True, False):
            expected = encoder.encode(text, special)
            assert streamed(encoder, text, special) == expected
            for cut in range(len(text) + 1):
                assert streamed(encoder, [text[:cut], "", text[cut:]], special) == expected


@examples(100)
@given(texts_with_special(), special_tokens, vocabularies(), st.randoms(use_true_random=False))
def test_a_stream_of_any_pieces(text, special, vocabulary, rng):
    cuts = sorted(rng.randrange(len(text) + 1) for _ in range(rng.randrange(9)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    encoder = make_encoder(*vocabulary, special)
    assert streamed(encoder, pieces) == encoder.encode(text, True)


def test_a_stream_of_single_characters_is_not_quadratic(gpt2):
    # A quadratic stream would look at 2e10 bytes here and run into the time limit.
    for text in ("a" * 200_000, " " * 200_000, "<|endoftex" * 20_000):
        assert streamed(gpt2[0], text) == gpt2[0].encode(text, True)


def test_a_stream_hands_out_ids_as_soon_as_they_are_certain(gpt2):
    stream = gpt2[0].stream(True)
    assert [stream.push(piece) for piece in ("The", " cat", " sa", "t<|endof", "text|>", ".")] == [
        [], [464], [3797], [3332], [50256], []
    ]  # fmt: skip
    assert stream.finish() == [13]
    assert stream.push("The") + stream.finish() == [464]


# ---- Batches, arrays, threads ----


@pytest.mark.parametrize("num_threads", [0, 1, 2, 3, 16])
def test_a_batch_gives_the_ids_of_each_text(gpt2, num_threads):
    batch = [*CUT_TEXTS * 20, "", "a" * 5000]
    expected = [gpt2[0].encode(text, True) for text in batch]
    assert gpt2[0].encode_batch(batch, True, num_threads) == expected
    assert gpt2[0].encode_batch([], True, num_threads) == []


@pytest.mark.parametrize("enabled", [True, False])
def test_a_batch_leaves_the_collector_as_it_was(gpt2, enabled):
    was_enabled = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        gpt2[0].encode_batch(["a b"] * 100, True)
        with pytest.raises(ValueError, match="is not UTF-8"):
            gpt2[0].encode_batch([b"a", b"\xff"], True)
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()


@pytest.mark.parametrize("num_threads", [0, 1, 2, 16])
def test_a_batch_joined(gpt2, num_threads):
    batch = [*CUT_TEXTS * 20, "", "a" * 200_000, *CUT_TEXTS * 500]
    marks = bytes(number % 3 for number in range(len(batch)))
    rows = [gpt2[0].encode(text, True) for text in batch]
    for either in (batch, [text.encode() for text in batch]):
        ids, ends = gpt2[0].encode_joined(either, True, num_threads)
        assert ids.tolist() == list(itertools.chain(*rows))
        assert ends.tolist() == list(itertools.accumulate(map(len, rows)))
    marked = [row + [9] * (mark > 0) for row, mark in zip(rows, marks, strict=True)]
    for join, dtype in ((gpt2[0].encode_joined, np.uint32), (gpt2[0].encode_joined_16, np.uint16)):
        ids, ends = join(batch, True, num_threads, marks=marks, end_id=9)
        assert (ids.dtype, ends.dtype) == (dtype, np.uint64)
        assert ids.tolist() == list(itertools.chain(*marked))
        assert ends.tolist() == list(itertools.accumulate(map(len, marked)))


def test_what_cannot_be_joined(gpt2):
    assert [array.tolist() for array in gpt2[0].encode_joined([], True)] == [[], []]
    with pytest.raises(ValueError, match="as many marks as texts are needed"):
        gpt2[0].encode_joined(["a", "b"], True, marks=b"\x01")
    for num_threads in (1, 4):
        with pytest.raises(ValueError, match="text 4000 is not UTF-8: byte 0xc3 at byte offset 1"):
            gpt2[0].encode_joined([b"many words " * 10] * 4000 + [b"a\xc3(", b"b"], True, num_threads)
    with pytest.raises(UnicodeEncodeError):
        gpt2[0].encode_joined(["a", "\ud83d"], True)
    with pytest.raises(TypeError, match="text must be str or bytes"):
        gpt2[0].encode_joined(["a", 1], True)


def test_an_array_holds_the_ids_and_outlives_the_encoder():
    array = make_encoder(BYTES, []).encode_array("abc", True)
    assert array.dtype == np.uint32 and array.tolist() == [97, 98, 99] and array.flags.writeable


def test_several_threads_share_an_encoder(gpt2, shared):
    text = (shared / "data/shakespeare/input.txt").read_text(encoding="utf-8")[:200_000]
    expected = gpt2[0].encode(text, True)
    with ThreadPoolExecutor(8) as pool:
        assert all(ids == expected for ids in pool.map(lambda _: gpt2[0].encode(text, True), range(24)))


def test_an_error_in_a_thread_reaches_the_caller():
    encoder = make_encoder({97: b"a"}, [])
    with pytest.raises(ValueError, match="no token b'b'"):
        encoder.encode_batch(["a"] * 500 + ["ab"] + ["a"] * 500, True, 4)
    assert encoder.encode_batch(["a"] * 3, True, 4) == [[97]] * 3


# ---- Special tokens, ids, errors ----


def test_a_hundred_thousand_special_tokens():
    special = [f"<|{i}|>" for i in range(100_000)]
    encoder = make_encoder(BYTES, [], special)
    assert encoder.encode("a<|99999|><|7|>< |<|100000|>", True) == [97, 256 + 99_999, 263, *b"< |<|100000|>"]


def test_the_first_special_token_is_found():
    encoder = make_encoder(BYTES, [], SPECIAL_TOKENS)
    assert encoder.find_special("é.* <a><a>") == (0, 256 + SPECIAL_TOKENS.index("é"))
    assert encoder.find_special("xé"[:1] + "<a><a>") == (1, 256 + SPECIAL_TOKENS.index("<a><a>"))
    assert encoder.find_special("nope") is None and encoder.find_special("") is None


def test_of_two_ids_for_one_token_the_lower_is_used():
    assert Encoder([(b"a", 9), (b"a", 4)], [], []).encode("aa", True) == [4, 4]


IDS = [4, 70_000, 4_294_967_294]


def test_ids_without_order_or_end():
    encoder = Encoder([(b"a", 70_000), (b"b", 4_294_967_294), (b"\xc3", 4)], [], [])
    assert encoder.encode("ab", True) == [70_000, 4_294_967_294]
    assert encoder.decode_bytes(IDS) == b"\xc3ab" == encoder.decode_bytes(np.array(IDS, np.uint32))
    assert encoder.decode_bytes(np.array(IDS, np.int64)) == b"\xc3ab"
    assert encoder.decode_bytes(np.array([4], np.uint16)) == b"\xc3"
    assert encoder.decode_bytes(np.array(IDS * 3, np.int64)[::3]) == encoder.decode_bytes((4, 4, 4))
    assert encoder.decode_bytes([]) == encoder.decode_bytes(np.array([], np.uint32)) == b""


@pytest.mark.parametrize("unknown", [0, 5, 69_999, 70_001, -1, 2**32 - 1, 2**32, 2**40, 2**70])
def test_an_unknown_id_is_named(unknown):
    encoder = Encoder([(b"a", 70_000), (b"\xc3", 4)], [], [])
    with pytest.raises(ValueError, match=f"id {unknown} is not in the vocabulary"):
        encoder.decode_bytes([4, unknown])
    if -1 <= unknown < 2**63:
        with pytest.raises(ValueError, match=f"id {unknown} is not in the vocabulary"):
            encoder.decode_bytes(np.array([4, unknown], np.int64))


def test_ids_of_other_kinds_are_refused():
    for ids in (np.zeros((2, 2), np.int64), np.zeros(2, np.float32), "12", 7):
        with pytest.raises(TypeError, match="ids must be"):
            make_encoder(BYTES, []).decode_bytes(ids)  # pyright: ignore[reportArgumentType]


def test_a_token_that_the_text_needs_and_the_vocabulary_lacks_is_named():
    encoder = Encoder([(b"a", 0), (b"abc", 1)], [(b"a", b"b"), (b"ab", b"c")], [])
    assert encoder.encode("aabca", True) == [0, 1, 0]  # "ab" is needed on the way only
    for text, token in (("ab", b"ab"), ("a\n", b"\n"), ("\t", b"\t"), ("'", b"'"), ("\\", b"\\"), ("é" * 50, b"\xc3")):
        message = re.escape(f"the vocabulary has no token {token!r}, which the text needs")
        with pytest.raises(ValueError, match=message):
            encoder.encode(text, True)
    with pytest.raises(ValueError, match="no token b'c'"):
        encoder.stream(True).push("abcc,")


def test_what_makes_no_vocabulary():
    with pytest.raises(ValueError, match="special token is empty"):
        Encoder([(b"a", 0)], [], [(b"", 1)])
    with pytest.raises(ValueError, match="merge 1 has an empty part"):
        Encoder([(b"a", 0)], [(b"a", b"a"), (b"a", b"")], [])
    with pytest.raises(ValueError, match="ids end at 4294967294"):
        Encoder([(b"a", 4294967295)], [], [])


def test_a_long_text_that_no_vocabulary_covers_is_an_error():
    with pytest.raises(ValueError, match="no token b'a'"):
        Encoder([], [], []).encode("a" * 100_000, True)
