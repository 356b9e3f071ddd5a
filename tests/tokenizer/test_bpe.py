"""The tokenizer: exact ids in every way of asking, special tokens as told, errors that name what is wrong."""

import copy
import json
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer.strategies import SPECIAL_TOKENS, special_tokens, texts, texts_with_special, vocabularies

from groundup.errors import DataError, TokenizerError
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator
from groundup.tokenizer.reference import ReferenceTokenizer

END = "<|endoftext|>"
BYTES = {b: bytes([b]) for b in range(256)}
WORDS = r"\p{L}+|\s+|[^\p{L}\s]+"  # a pattern of our own
EXAMPLE_VOCAB = dict(enumerate([b" ", b"a", b"c", b"e", b"h", b"t", b"th", b" c", b" a", b"the", b" at"]))
EXAMPLE_MERGES = [(b"t", b"h"), (b" ", b"c"), (b" ", b"a"), (b"th", b"e"), (b" a", b"t")]
TEXT = f"The cat\r\n\r\nate  it's {END}\n\n “naïve” 日本 👩‍👧 <a><a><a>  12345\t\n"


def learned(pattern_options):
    documents = ["The cat ate the naïve hat.\n\nIt's 日本 the “end”  of it, it's 12345 <a>"] * 2
    vocab, merges = train_bpe_from_iterator(documents, 330, [END], **pattern_options)
    return Tokenizer(vocab, merges, [END, "<a>", "<a><a>"], **pattern_options)


@pytest.fixture(scope="module", params=["gpt2 pattern", "own pattern"])
def either(request) -> Tokenizer:
    """One tokenizer on the native pattern, one on `regex`: what holds for one holds for the other."""
    return learned({} if request.param == "gpt2 pattern" else {"pattern": WORDS})


# ---- Ids ----


def test_example_of_the_specification():
    assert Tokenizer(EXAMPLE_VOCAB, EXAMPLE_MERGES).encode("the cat ate") == [9, 7, 1, 5, 10, 3]


def test_newest_after_six_merges():
    words = b"s t,e st,o w,l ow,w est,n e".split(b",")
    merges = [tuple(word.split(b" ")) for word in words]
    tokenizer = Tokenizer(BYTES | {256 + i: left + right for i, (left, right) in enumerate(merges)}, merges)
    assert [tokenizer.token_bytes(id) for id in tokenizer.encode("newest")] == [b"ne", b"west"]


@settings(max_examples=40)
@given(texts_with_special(), vocabularies(), special_tokens, st.booleans())
def test_ids_are_those_of_the_reference(text, vocabulary, tokens, special):
    vocab, merges = vocabulary
    merges = list(dict.fromkeys(merges))
    # Without what would be a special token and a merge at once: its id is tested below.
    special_bytes = {token.encode() for token in tokens if len(token.encode()) > 1}
    vocab = {id: token for id, token in vocab.items() if token not in special_bytes}
    made = set(vocab.values())
    merges = [(left, right) for left, right in merges if {left, right, left + right} <= made]
    ours, reference = Tokenizer(vocab, merges, tokens), ReferenceTokenizer(vocab, merges, tokens)
    ids = ours.encode(text, special="token" if special else "text")
    assert ids == reference.encode(text, special=special)
    assert ours.decode(ids) == text


def test_round_trip_under_both_patterns(either):
    for text in ["", TEXT, "\x00", "e\u0301 \ufeff", "a" * 5000, " \n" * 50]:
        assert either.decode(either.encode(text)) == text
        assert either.decode(either.encode(text, special="text")) == text


def test_own_pattern_cuts_where_it_says():
    vocab, merges = BYTES | {256: b"ab", 257: b" a"}, [(b" ", b"a"), (b"a", b"b")]
    assert Tokenizer(vocab, merges).encode("ab ab") == [256, 257, 98]
    assert Tokenizer(vocab, merges, pattern=r"\w+|\W+").encode("ab ab") == [256, 32, 256]


# ---- Streams ----


def test_encode_iterable_at_every_cut(either):
    whole = either.encode(TEXT)
    for cut in range(len(TEXT) + 1):
        assert list(either.encode_iterable([TEXT[:cut], TEXT[cut:]])) == whole
    assert list(either.encode_iterable(TEXT)) == whole  # each character a piece
    assert list(either.encode_iterable(["", TEXT, ""])) == whole
    assert list(either.encode_iterable([])) == []


@settings(max_examples=25, deadline=None)
@given(text=st.one_of(texts, texts_with_special(["<a>", "<a><a>", END])), data=st.data())
@pytest.mark.parametrize("special", ["token", "text"])
def test_encode_iterable_whatever_the_cuts(either, special, text, data):
    places = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    parts = [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    assert list(either.encode_iterable(parts, special=special)) == either.encode(text, special=special)


def test_encode_iterable_of_a_long_piece_is_lazy(either):
    ids = either.encode_iterable(iter(["word " * 30_000, "end"]))
    assert next(ids) == either.encode("word ")[0]
    assert len(list(ids)) == len(either.encode("word " * 30_000 + "end")) - 1


def test_errors_of_the_iterable_come_through(either):
    def texts():
        yield "some text"
        raise DataError("the file breaks off")

    with pytest.raises(DataError, match=r"^the file breaks off$"):
        list(either.encode_iterable(texts()))


# ---- Special tokens ----


def test_longest_special_token_wins(either):
    short, long = either.special_tokens["<a>"], either.special_tokens["<a><a>"]
    assert either.encode("<a><a><a>") == [long, short]
    assert list(either.encode_iterable(["<a>", "<a", "><a>"])) == [long, short]


def test_special_spelling_is_what_the_caller_says(either):
    text = f"a{END}b"
    end = either.special_tokens[END]
    assert either.encode(text, special="token") == [*either.encode("a"), end, *either.encode("b")]
    as_text = either.encode(text, special="text")
    assert end not in as_text
    assert either.decode(as_text) == text
    with pytest.raises(TokenizerError, match=r"special token '<\|endoftext\|>' at character 1;"):
        either.encode(text, special="error")
    assert either.encode("é no such", special="error") == either.encode("é no such")


@pytest.mark.parametrize("parts", [["é€ <", "a", ">"], ["é€ <a>"], list("é€ <a>"), ["é€", " ", "x<a>"[1:], "tail"]])
def test_special_spelling_in_a_stream_can_be_an_error(either, parts):
    with pytest.raises(TokenizerError, match="'<a>' at character 3;"):
        list(either.encode_iterable(parts, special="error"))


def test_special_spelling_in_a_batch(either):
    batch = ["plain", f"with {END}"]
    assert either.encode_batch(batch, special="text") == [either.encode(text, special="text") for text in batch]
    with pytest.raises(TokenizerError, match="at character 5"):
        either.encode_batch(batch, special="error")


@pytest.mark.parametrize("special", ["token", "text"])
def test_every_way_of_encoding_takes_the_same_choice(either, special):
    text, ids = f"with {END}<a>", either.encode(f"with {END}<a>", special=special)
    assert either.encode_to_array(text, special=special).tolist() == ids
    assert [array.tolist() for array in either.encode_batch_to_arrays([text], special=special)] == [ids]
    assert either.encode_batch([text], special=special) == [ids]
    assert list(either.encode_iterable([text], special=special)) == ids
    for call in (either.encode_to_array, lambda text, **how: either.encode_batch_to_arrays([text], **how)):
        with pytest.raises(TokenizerError, match="'<\\|endoftext\\|>' at character 5;"):
            call(text, special="error")


@pytest.mark.parametrize("call", ["encode", "encode_batch", "encode_iterable", "encode_to_array"])
def test_unknown_choices_are_refused_at_once(call):
    with pytest.raises(Exception, match="special") as caught:
        getattr(Tokenizer(BYTES, []), call)("text" if "batch" not in call else ["text"], special="none")
    # The type checks, which run under test only, may be the first to see it.
    assert caught.type.__name__ in ("TokenizerError", "TypeCheckError")


def test_special_tokens_of_all_kinds_are_literal():
    tokenizer = Tokenizer(BYTES, [], SPECIAL_TOKENS)
    for token in SPECIAL_TOKENS:
        expected = {"a": 97}.get(token, tokenizer.special_tokens[token])
        assert tokenizer.encode(token) == [expected]
        assert tokenizer.decode([expected]) == token


def test_a_spelling_that_is_in_the_vocabulary_keeps_its_id_and_does_not_leak_into_text():
    vocab = BYTES | {300: END.encode()}
    tokenizer = Tokenizer(vocab, [], [END])
    assert tokenizer.special_tokens == {END: 300}
    assert tokenizer.encode(END, special="text") == list(END.encode())


def test_a_trained_one_byte_special_token():
    vocab, merges = train_bpe_from_iterator(["bab"], 258, ["a"])
    tokenizer = Tokenizer(vocab, merges, ["a"])
    assert tokenizer.encode("bab") == [1 + ord("b"), 0, 1 + ord("b")]
    assert tokenizer.encode("bab", special="text") == [1 + ord("b"), 1 + ord("a"), 1 + ord("b")]
    assert tokenizer.decode([0, 1 + ord("a")]) == "aa"


def test_a_special_token_that_merges_make_too_has_one_id():
    tokenizer = Tokenizer(BYTES | {300: b"ab"}, [(b"a", b"b")], ["ab"])
    assert tokenizer.encode("abba") == tokenizer.encode("abba", special="text") == [300, 98, 97]


def test_many_special_tokens():
    names = [f"<|token {i}|>" for i in range(20_000)]
    tokenizer = Tokenizer(BYTES, [], names)
    assert tokenizer.encode("x<|token 19999|>y<|token 1") == [120, 256 + 19_999, 121, *b"<|token 1"]


# ---- Vocabulary and arguments ----


def test_sparse_ids_and_arguments_left_alone():
    vocab, merges, tokens = {10: b"a", 70_000: b"b", 20: b"ab"}, [(b"a", b"b")], ["<x>", "<y>"]
    before = copy.deepcopy((vocab, merges, tokens))
    tokenizer = Tokenizer(vocab, merges, tokens)
    assert tokenizer.special_tokens == {"<x>": 70_001, "<y>": 70_002}
    assert tokenizer.encode("ab<y>ba") == [20, 70_002, 70_000, 10]
    assert tokenizer.vocab_size == 70_003
    assert (vocab, merges, tokens) == before
    vocab[10] = b"z"
    merges.clear()
    tokenizer.vocab.clear()
    tokenizer.merges.clear()
    tokenizer.special_tokens.clear()
    assert tokenizer.encode("ab<y>") == [20, 70_002]
    assert tokenizer.vocab[10] == b"a"


def test_properties(either):
    assert either.vocab_size == 1 + 256 + len(either.merges) + 2
    assert either.end_of_text_id == 0
    assert either.vocab[0] == END.encode()
    assert len(either.merges) > 30
    assert repr(either) == f"<Tokenizer: {either.vocab_size} tokens, special: {END}, <a>, <a><a>>"
    assert Tokenizer(BYTES, []).end_of_text_id is None


def test_byte_lengths_count_text_only():
    tokenizer = Tokenizer({0: END.encode(), 2: b"a", 3: b"\xc3", 4: b"\xc3a"}, [(b"\xc3", b"a")], [END])
    lengths = tokenizer.byte_lengths()
    assert lengths.dtype == np.int64
    assert lengths.tolist() == [0, 0, 1, 1, 2]


def test_a_token_missing_from_the_vocabulary_is_named(either):
    tokenizer = Tokenizer(EXAMPLE_VOCAB, EXAMPLE_MERGES, pattern=either.pattern)
    for call in (tokenizer.encode, tokenizer.encode_to_array, lambda text: list(tokenizer.encode_iterable([text]))):
        with pytest.raises(TokenizerError, match="no token b'x', which the text needs"):
            call("the x")
    for call in (tokenizer.encode_batch, tokenizer.encode_batch_to_arrays):
        with pytest.raises(TokenizerError, match="no token b'x', which the text needs"):
            call(["the", "x"])


@pytest.mark.parametrize("text", ["ab\ud83d", "ab\udc00c", "ab\ud83d\ude00"])
def test_a_lone_surrogate_is_named_by_its_place(either, text):
    for call in (either.encode, either.encode_to_array, lambda text: either.encode(text, special="error")):
        with pytest.raises(TokenizerError, match=r"lone surrogate, '\\ud[8c][30][d0]', at character 2:"):
            call(text)
    with pytest.raises(TokenizerError, match=r"at character 100002:"):
        list(either.encode_iterable(["x" * 100_000, text]))
    with pytest.raises(TokenizerError, match=r"at character 2:"):
        either.encode_batch(["fine", text])


def test_lone_surrogates_can_be_replaced(either):
    assert either.encode("ab\ud83dc", errors="replace") == either.encode("ab\ufffdc")
    assert either.encode("ab\ud83d\ude00", errors="replace") == either.encode("ab😀")


# ---- Batches and arrays ----


def test_batch_is_each_text_alone(either):
    batch = [TEXT[start : start + 30] for start in range(len(TEXT))]
    alone = [either.encode(text) for text in batch]
    for num_threads in (None, 1, 3):
        assert either.encode_batch(batch, num_threads=num_threads) == alone
        arrays = either.encode_batch_to_arrays(batch, num_threads=num_threads)
        assert [ids.tolist() for ids in arrays] == alone
        joined, ends = either.encode_joined(batch, num_threads=num_threads)
        assert [ids.tolist() for ids in np.split(joined, ends[:-1])] == alone
    assert either.encode_batch([]) == []
    with pytest.raises(TokenizerError, match="num_threads is 0"):
        Tokenizer(BYTES, []).encode_batch(["x"], num_threads=0)


def test_texts_joined_are_ended_where_asked(either):
    texts = ["the cat", "", b"ate <a>"]
    end = either.end_of_text_id
    for special in ("token", "text"):
        cat, _, ate = [either.encode(text, special=special) for text in texts]
        ids, ends = either.encode_joined(texts, special=special, end_of_text=[False, True, True])
        assert (ids.tolist(), ids.dtype) == ([*cat, end, *ate, end], either.dtype)
        assert (ends.tolist(), ends.dtype) == ([len(cat), len(cat) + 1, len(ids)], np.uint64)
    with pytest.raises(TokenizerError, match="end_of_text has 1 values for 3 texts"):
        either.encode_joined(texts, end_of_text=[True])
    with pytest.raises(TokenizerError, match=r"the tokenizer has no <\|endoftext\|>"):
        Tokenizer(BYTES, []).encode_joined(["a"], end_of_text=[True])
    assert Tokenizer(BYTES, []).encode_joined(["a"], end_of_text=[False])[0].tolist() == [97]


@pytest.mark.parametrize(("largest", "dtype"), [(65_535, np.uint16), (65_536, np.uint32), (70_000, np.uint32)])
@pytest.mark.parametrize("options", [{}, {"pattern": WORDS}])
def test_type_of_ids_at_rest(largest, dtype, options):
    tokenizer = Tokenizer(BYTES | {largest: b"ab"}, [(b"a", b"b")], **options)
    assert tokenizer.dtype == dtype
    ids = tokenizer.encode_to_array("ab c")
    assert ids.dtype == dtype
    assert ids.tolist() == [largest, 32, 99]
    assert tokenizer.encode_to_array("").shape == (0,)
    assert tokenizer.decode(ids) == "ab c"


def test_seventy_thousand_entries():
    pairs = [bytes([a, b]) for a in range(256) for b in range(256)]
    vocab = dict(enumerate([*BYTES.values(), *pairs]))
    tokenizer = Tokenizer(vocab, [(pair[:1], pair[1:]) for pair in pairs], [END])
    assert tokenizer.vocab_size == 256 + 65_536 + 1
    ids = tokenizer.encode_to_array(f"zzz{END}")
    assert ids.dtype == np.uint32
    assert ids[-1] == 65_792
    assert tokenizer.decode(ids) == f"zzz{END}"


# ---- Decoding ----


def test_decode_replaces_what_is_not_utf8():
    tokenizer = Tokenizer(BYTES, [])
    assert tokenizer.decode([0x61, 0xE2, 0x82, 0x62, 0xFF]) == "a\ufffdb\ufffd"
    assert tokenizer.decode_bytes([0x61, 0xE2, 0x82]) == b"a\xe2\x82"
    assert tokenizer.decode([]) == ""


@pytest.mark.parametrize(
    "ids",
    [
        [104, 105],
        (104, 105),
        {104: 0, 105: 0}.keys(),
        [np.int64(104), np.uint16(105)],
        *(np.array([104, 105], dtype=dtype) for dtype in ("u1", "u2", "i4", "u4", "i8")),
        np.array([104, 0, 105, 0])[::2],
        torch.tensor([104, 105]),
        torch.tensor([104, 105], dtype=torch.int32),
    ],
    ids=lambda ids: f"{type(ids).__name__} {getattr(ids, 'dtype', '')}",
)
def test_decode_takes_ids_of_every_kind(ids):
    assert Tokenizer(BYTES, []).decode(ids) == "hi"
    assert Tokenizer(BYTES, []).decode(iter(ids)) == "hi"


@pytest.mark.parametrize("ids", [[97, 256], [-1], [1 << 40], np.array([300], dtype=np.uint16), np.array([-5])])
def test_unknown_ids_are_named(ids):
    wrong = int(max(ids, key=lambda id: not 0 <= id < 256))
    with pytest.raises(TokenizerError, match=f"id {wrong} is not in the vocabulary, whose ids end at 255"):
        Tokenizer(BYTES, []).decode(ids)


def test_an_id_in_a_gap_is_unknown():
    tokenizer = Tokenizer({0: b"a", 9: b"b"}, [])
    with pytest.raises(TokenizerError, match="id 4 is not"):
        tokenizer.decode([0, 4, 9])
    with pytest.raises(TokenizerError, match="id 4 is not"):
        tokenizer.token_bytes(4)


# ---- Copies and fingerprint ----


def test_pickled_and_copied(either):
    for other in (pickle.loads(pickle.dumps(either)), copy.deepcopy(either)):
        assert other.encode(TEXT) == either.encode(TEXT)
        assert other.special_tokens == either.special_tokens
        assert other.pattern == either.pattern
        assert other.fingerprint == either.fingerprint


def test_fingerprint_is_the_same_for_the_same_ids(either, tmp_path):
    vocab = dict(reversed(either.vocab.items()))
    again = Tokenizer(vocab, either.merges, list(either.special_tokens), pattern=either.pattern)
    assert again.fingerprint == either.fingerprint
    assert len(either.fingerprint) == 64
    assert Tokenizer(either.vocab, either.merges[:-1], [END], pattern=either.pattern).fingerprint != either.fingerprint
    either.save(tmp_path)
    assert Tokenizer.load(tmp_path).fingerprint == either.fingerprint
    assert json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))["model"]["type"] == "BPE"
