"""With GPT-2's vocabulary: the ids of tiktoken and of Hugging Face's tokenizers, on every string."""

import json
from types import SimpleNamespace

import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer.strategies import PIECES, texts, texts_with_special

from groundup.tokenizer.bpe import GPT2_PATTERN, Tokenizer

END = "<|endoftext|>"
# Code points that every Unicode version in use here classes alike: those Python's (14.0 or later) has assigned.
assigned = st.characters(exclude_categories=["Cs", "Cn"], max_codepoint=0xFFFF)


@pytest.fixture(scope="module")
def gpt2(shared, tmp_path_factory):
    folder = shared / "data/gpt2"
    ours = Tokenizer.from_files(folder / "gpt2_vocab.json", folder / "gpt2_merges.txt", [END])
    saved = tmp_path_factory.mktemp("gpt2") / "tokenizer.json"
    ours.save(saved)
    ranks = {token: id for id, token in ours.vocab.items() if id != 50256}
    return SimpleNamespace(
        ours=ours,
        saved=saved,
        hugging_face=tokenizers.Tokenizer.from_file(str(saved)),
        tiktoken=tiktoken.Encoding("gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens={END: 50256}),
    )


def test_the_sixty_strings(gpt2, shared):
    cases = json.loads((shared / "cases/gpt2_encode.json").read_text(encoding="utf-8"))
    assert len(cases) == 60
    for case in cases:
        text, ids = case["text"], case["ids"]
        assert gpt2.ours.encode(text) == ids, case["why"]
        assert list(gpt2.ours.encode_iterable(text)) == ids, case["why"]
        assert gpt2.ours.encode_to_array(text).tolist() == ids, case["why"]
        assert gpt2.ours.decode(ids) == text, case["why"]
    assert gpt2.ours.encode_batch([case["text"] for case in cases]) == [case["ids"] for case in cases]


def test_newlines_are_not_cut_into_lines(gpt2):
    assert gpt2.ours.encode("a\n\n\nb") == [64, 628, 198, 65]
    assert list(gpt2.ours.encode_iterable(["a\n", "\n", "\n", "b"])) == [64, 628, 198, 65]


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(texts, texts_with_special([END])))
def test_ids_are_those_of_tiktoken(gpt2, text):
    ids = gpt2.ours.encode(text)
    assert ids == gpt2.tiktoken.encode(text, allowed_special="all")
    assert gpt2.ours.encode(text, special="text") == gpt2.tiktoken.encode(text, disallowed_special=())
    assert gpt2.ours.decode(ids) == text


@settings(max_examples=100, deadline=None)
@given(text=st.lists(st.one_of(st.sampled_from([*PIECES, END]), assigned), max_size=30).map("".join))
def test_ids_of_the_saved_file_are_those_of_hugging_face(gpt2, text):
    ids = gpt2.ours.encode(text)
    assert ids == gpt2.hugging_face.encode(text).ids
    assert gpt2.hugging_face.decode(ids, skip_special_tokens=False) == text


@settings(max_examples=100, deadline=None)
@given(ids=st.lists(st.integers(0, 50256), max_size=20))
def test_any_ids_decode_as_in_tiktoken_and_bit_by_bit(gpt2, ids):
    text = gpt2.ours.decode(ids)
    assert text == gpt2.tiktoken.decode(ids)
    decoder = gpt2.ours.decoder()
    shown = [decoder.push(id) for id in ids]
    assert "".join(shown) + decoder.finish() == text


def test_an_emoji_over_three_tokens_is_shown_whole(gpt2):
    ids = gpt2.ours.encode("🦙")
    assert len(ids) == 3
    decoder = gpt2.ours.decoder()
    assert [decoder.push(id) for id in ids] == ["", "", "🦙"]


def test_properties(gpt2):
    assert gpt2.ours.vocab_size == 50257
    assert gpt2.ours.end_of_text_id == 50256
    assert gpt2.ours.dtype == "uint16"


def test_all_ways_to_store_it_are_one_tokenizer(gpt2, shared, tmp_path):
    gpt2.ours.save_gpt2(tmp_path / "vocab.json", tmp_path / "merges.txt")
    folder = shared / "data/gpt2"
    merges = (folder / "gpt2_merges.txt").read_text(encoding="utf-8").strip()
    assert (tmp_path / "merges.txt").read_text(encoding="utf-8") == f"#version: 0.2\n{merges}\n"
    names = json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8"))
    assert names == json.loads((folder / "gpt2_vocab.json").read_text(encoding="utf-8"))
    for other in (
        Tokenizer.from_files(tmp_path / "vocab.json", tmp_path / "merges.txt", [END]),
        Tokenizer.load(gpt2.saved),
    ):
        assert other.fingerprint == gpt2.ours.fingerprint
