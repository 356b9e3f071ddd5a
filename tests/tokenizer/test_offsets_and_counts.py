"""Where ids lie in the text, how many there are, long texts in threads, rows of ids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator

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
