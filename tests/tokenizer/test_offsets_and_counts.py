"""Where ids lie in the text, how many there are, long texts in threads, rows of ids, files."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator
from groundup.tokenizer.vocabulary import make_vocabulary

# Few merges, so that a character that is not ASCII is several ids.
TOKENIZER = Tokenizer(*train_bpe_from_iterator(["the cat ate the hat"], 270, ["<|endoftext|>"]), ["<|endoftext|>"])


@given(st.text("aé中😀\u0301 \n", max_size=40))
def test_spans_say_where_each_id_lies(text):
    ids, spans = TOKENIZER.encode_with_offsets(text, unit="byte")
    assert ids == TOKENIZER.encode(text)
    encoded = text.encode()
    assert [encoded[begin:end] for begin, end in spans] == [TOKENIZER.token_bytes(id) for id in ids]
    # In characters: the smallest span of whole characters that holds the bytes.
    starts = [len(text[:i].encode()) for i in range(len(text) + 1)]
    _, in_characters = TOKENIZER.encode_with_offsets(text)
    for (begin, end), (first, last) in zip(spans, in_characters, strict=True):
        assert starts[first] <= begin < starts[first + 1]
        assert starts[last - 1] < end <= starts[last]


def test_spans_of_special_tokens_and_of_shared_characters():
    ids, spans = TOKENIZER.encode_with_offsets("é<|endoftext|>é")
    assert len(ids) == 5
    assert spans == [(0, 1), (0, 1), (1, 14), (14, 15), (14, 15)]


def test_a_wrong_unit_of_offsets_is_refused():
    with pytest.raises(Exception, match="unit") as caught:
        TOKENIZER.encode_with_offsets("a", unit="line")  # type: ignore[arg-type]
    # The type checks, which run under test only, may be the first to see it.
    assert caught.type.__name__ in ("TokenizerError", "TypeCheckError")


@pytest.mark.parametrize("num_threads", [1, 2, 3, None])
def test_a_long_text_has_the_same_ids_in_any_number_of_threads(num_threads):
    text = "the cat  ate\n\n<|endoftext|>é中 1234 'll." * 80_000
    expected = TOKENIZER.encode("the cat  ate\n\n<|endoftext|>é中 1234 'll.") * 80_000
    assert TOKENIZER.encode(text, num_threads=num_threads) == expected
    ids = TOKENIZER.encode_to_array(text, num_threads=num_threads)
    assert ids.dtype == TOKENIZER.dtype
    assert ids.tolist() == expected
    assert TOKENIZER.count_tokens(text, num_threads=num_threads) == len(expected)


def test_a_count_says_how_many_ids_there_are():
    for text in ("", "a", "the cat<|endoftext|>", "é" * 1000):
        assert TOKENIZER.count_tokens(text) == len(TOKENIZER.encode(text))
        assert TOKENIZER.count_tokens(text, special="text") == len(TOKENIZER.encode(text, special="text"))


def test_rows_of_ids_are_decoded_one_by_one():
    texts = ["the cat", "", "é中"]
    assert TOKENIZER.decode_batch([TOKENIZER.encode(text) for text in texts]) == texts


# ---- Files ----

OWN_PATTERN = Tokenizer(TOKENIZER.vocab, TOKENIZER.merges, ["<|endoftext|>"], pattern=r"\w+|\W")


@pytest.mark.parametrize("tokenizer", [TOKENIZER, OWN_PATTERN])
@pytest.mark.parametrize("special", ["token", "text"])
def test_a_file_becomes_the_ids_of_its_text(tmp_path, tokenizer, special):
    text = "the cat\r\n  é中<|endoftext|>ate 😀\n\n" * 3000
    (tmp_path / "text.txt").write_bytes(text.encode())
    num_ids = tokenizer.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin", special=special)
    ids = np.fromfile(tmp_path / "ids.bin", dtype=np.uint16)
    assert ids.tolist() == tokenizer.encode(text, special=special)
    assert num_ids == len(ids)


def test_an_empty_file_has_no_ids(tmp_path):
    (tmp_path / "empty.txt").touch()
    assert TOKENIZER.encode_file(tmp_path / "empty.txt", tmp_path / "ids.bin") == 0
    assert (tmp_path / "ids.bin").read_bytes() == b""


@pytest.mark.parametrize("tokenizer", [TOKENIZER, OWN_PATTERN])
def test_a_file_that_is_not_utf8_leaves_nothing_behind(tmp_path, tokenizer):
    (tmp_path / "text.txt").write_bytes(b"the cat \xff ate")
    with pytest.raises(TokenizerError, match=r"text\.txt' is not UTF-8"):
        tokenizer.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


def test_special_tokens_of_a_file_are_tokens_or_text(tmp_path):
    with pytest.raises(Exception, match="special") as caught:
        TOKENIZER.encode_file(tmp_path / "text.txt", tmp_path / "ids.bin", special="error")  # type: ignore[arg-type]
    # The type checks, which run under test only, may be the first to see it.
    assert caught.type.__name__ in ("TokenizerError", "TypeCheckError")


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        TOKENIZER.encode_file(tmp_path / "none.txt", tmp_path / "ids.bin")


# ---- Text given in UTF-8 ----

NORMALIZING = Tokenizer.from_vocabulary(
    make_vocabulary(TOKENIZER.vocab, TOKENIZER.merges, ["<|endoftext|>"], normalization="NFC")
)


@pytest.mark.parametrize("tokenizer", [TOKENIZER, OWN_PATTERN, NORMALIZING])
@given(texts=st.lists(st.text("thecaé\u0301中 \n", max_size=30), max_size=4))
def test_bytes_have_the_ids_of_their_text(tokenizer, texts):
    encoded = [text.encode() for text in texts]
    rows = tokenizer.encode_batch(texts)
    assert tokenizer.encode_batch(encoded) == rows
    assert [ids.tolist() for ids in tokenizer.encode_batch_to_arrays(encoded)] == rows
    for text, ids in zip(encoded, rows, strict=True):
        assert tokenizer.encode(text) == ids
        assert tokenizer.encode_to_array(text).tolist() == ids
        assert tokenizer.count_tokens(text) == len(ids)


@pytest.mark.parametrize("tokenizer", [TOKENIZER, OWN_PATTERN, NORMALIZING])
@pytest.mark.parametrize("call", ["encode", "encode_to_array", "count_tokens"])
def test_bytes_that_are_not_utf8_are_named_by_their_place(tokenizer, call):
    with pytest.raises(TokenizerError, match="the text is not UTF-8: byte 0xff at byte offset 2"):
        getattr(tokenizer, call)(b"th\xffe")


def test_a_special_token_in_bytes_can_be_an_error():
    with pytest.raises(TokenizerError, match="at character 2;"):
        TOKENIZER.encode("éé<|endoftext|>".encode(), special="error")
