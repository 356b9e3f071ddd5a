"""tokenizer.json files shaped like those of the model families, vocabularies small: the ids of `tokenizers`."""

import json
import unicodedata

import pytest
import tokenizers
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizer.strategies import PIECES, examples

from groundup.cli.tokenizer import main
from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator
from groundup.tokenizer.byte_characters import to_characters
from groundup.tokenizer.huggingface_files import read_huggingface
from groundup.tokenizer.patterns import GPT2_PATTERN, LLAMA3_PATTERN, O200K_PATTERN, QWEN2_PATTERN, SMOLLM_PATTERN

DOCUMENTS = [
    "The cats ate the naïve hat.\n\nIt's 日本, IT'S the end of 12345 cats; cafe\u0301 ré, <tool_call> {  }    x",
    "def f(x):\n        return x\n\n\n    # Ａ ÅÅ Å  Привет, мир! 가각 हिन्दी <|im_start|>user",
] * 2
# Code points that every Unicode version in use here classes alike; `tokenizers` normalizes by version 9 or so. And what
# normalization is about: marks in an order that changes, letters that become others, jamo, what composes with the end
# of a special token.
OLD = unicodedata.ucd_3_2_0
assigned = st.characters(exclude_categories=["Cs", "Cn"], max_codepoint=0xFFFF).filter(
    lambda character: not unicodedata.combining(character) or OLD.category(character) != "Cn"
)
MARKED = [
    "e\u0301",
    "a\u0323\u0307",
    "a\u0307\u0323",
    "\u0338",
    "\u0301",
    "Å",
    "K",
    ";",
    "\u1100\u1161\u11a8",
    "क\u093c",
]


def byte_level(**options):
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True} | options


def split(pattern):
    regex = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {"type": "Sequence", "pretokenizers": [regex, byte_level(use_regex=False)]}


def added(id, content, *, special=True, normalized=False):
    options = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": normalized, "special": special}
    return {"id": id, "content": content} | options


def trained(pattern, num_merges=90):
    """The names and the merges of a vocabulary without special tokens."""
    vocab, merges = train_bpe_from_iterator(DOCUMENTS, 256 + num_merges, pattern=pattern)
    return {to_characters(token): id for id, token in vocab.items()}, [
        " ".join(map(to_characters, merge)) for merge in merges
    ]


def family(pattern, pre_tokenizer, **parts):
    names, merges = trained(pattern)
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "fuse_unk": False}
    model |= {
        "end_of_word_suffix": "",
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": names,
        "merges": merges,
    }
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None}
    return file | {
        "pre_tokenizer": pre_tokenizer,
        "post_processor": byte_level(trim_offsets=False),
        "decoder": byte_level(),
        "model": model,
        **parts,
    }


def gpt2():
    """Its one special token is in the model's vocabulary and looked for in normalized text."""
    file = family(GPT2_PATTERN, byte_level())
    file["model"]["vocab"]["<|endoftext|>"] = 346
    file["added_tokens"] = [added(346, "<|endoftext|>", normalized=True)]
    return file


def llama3():
    """ignore_merges, with words that no merges make, some of another length; a token put before every text."""
    file = family(LLAMA3_PATTERN, split(LLAMA3_PATTERN))
    for word in (" cats", "Привет", "123", "\n\n\n", " naïve", "IT"):
        file["model"]["vocab"].setdefault(to_characters(word.encode()), len(file["model"]["vocab"]))
    first = len(file["model"]["vocab"])
    names = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<tool_call>"]
    file["added_tokens"] = [added(first + i, name, special=i < 3) for i, name in enumerate(names)]
    file["model"]["ignore_merges"] = True
    begin = {"SpecialToken": {"id": names[0], "type_id": 0}}
    text, other = ({"Sequence": {"id": id, "type_id": place}} for place, id in enumerate("AB"))
    template = {
        "type": "TemplateProcessing",
        "single": [begin, text],
        "pair": [begin, text, {"SpecialToken": {"id": names[0], "type_id": 1}}, other],
        "special_tokens": {names[0]: {"id": names[0], "ids": [first], "tokens": [names[0]]}},
    }
    processors = [byte_level(add_prefix_space=True, trim_offsets=False), template]
    file["post_processor"] = {"type": "Sequence", "processors": processors}
    return file


def qwen():
    """NFC; added tokens, special and not, after the model's vocabulary and not in it."""
    file = family(QWEN2_PATTERN, split(QWEN2_PATTERN), normalizer={"type": "NFC"})
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    file["added_tokens"] = [added(346 + i, name, special=i < 3) for i, name in enumerate(names)]
    return file


def gpt_neox():
    """NFC; runs of spaces as added tokens, which the merges make as well, under other ids."""
    file = family(GPT2_PATTERN, byte_level(), normalizer={"type": "NFC"})
    assert "ĠĠ" in file["model"]["vocab"]
    spaces = [added(347 + i, " " * (6 - i), special=False, normalized=True) for i in range(5)]
    file["added_tokens"] = [added(346, "<|endoftext|>"), *spaces, added(352, "|||IP_ADDRESS|||", normalized=True)]
    return file


def o200k():
    """Llama 4 and gpt-oss: the decoder and the normalizer are sequences, merges are pairs."""
    file = family(O200K_PATTERN, split(O200K_PATTERN), normalizer={"type": "Sequence", "normalizers": []})
    file["decoder"] = {"type": "Sequence", "decoders": [byte_level()]}
    file["model"]["merges"] = [merge.split(" ") for merge in file["model"]["merges"]]
    file["added_tokens"] = [added(346, "<|startoftext|>"), added(347, "<|im_start|>"), added(348, "<|im_end|>")]
    file["model"]["ignore_merges"] = True
    return file


def smollm():
    """Every digit apart, then GPT-2's cut."""
    digits = {"type": "Digits", "individual_digits": True}
    file = family(SMOLLM_PATTERN, {"type": "Sequence", "pretokenizers": [digits, byte_level()]}, post_processor=None)
    file["model"]["vocab"] = {"<|endoftext|>": 346} | file["model"]["vocab"]
    file["added_tokens"] = [added(346, "<|endoftext|>")]
    return file


FAMILIES = {builder.__name__: builder() for builder in (gpt2, llama3, qwen, gpt_neox, o200k, smollm)}
SPECIAL = sorted({token["content"] for file in FAMILIES.values() for token in file["added_tokens"]})
WORDS = [word for text in DOCUMENTS for word in text.split(" ")]
texts = st.lists(
    st.one_of(st.sampled_from([*PIECES, *MARKED, *SPECIAL, " ", "  "]), st.sampled_from(WORDS), assigned), max_size=20
).map("".join)


@pytest.fixture(scope="module", params=FAMILIES)
def pair(request, tmp_path_factory):
    """Our tokenizer and theirs, from the same file."""
    path = tmp_path_factory.mktemp(request.param) / "tokenizer.json"
    path.write_text(json.dumps(FAMILIES[request.param]), encoding="utf-8")
    return Tokenizer.load(path), tokenizers.Tokenizer.from_file(str(path))


def test_documents_have_their_ids(pair):
    ours, theirs = pair
    for text in [*DOCUMENTS, "".join(SPECIAL), " cats naïve 123 IT'S \n\n\n cat"]:
        assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids
    assert ours.decode(ours.encode(DOCUMENTS[1])) == unicodedata.normalize("NFC", DOCUMENTS[1])


@examples(100)
@given(text=texts)
@example(text="<|endoftext|>\u0338 <\u0338|im_start|>")
@example(text="a  \u0301  <|endoftext|>e<|im_end|>\u0301\u0323\u0301")
def test_every_text_has_their_ids(pair, text):
    ours, theirs = pair
    assert ours.encode(text) == theirs.encode(text, add_special_tokens=False).ids


@examples(40)
@given(parts=st.lists(texts, max_size=4), special=st.sampled_from(["token", "text"]))
@example(parts=["e", "\u0301", "\u0323<|im_", "end|>\u0301", ""], special="token")
@example(parts=["\u1100", "\u1161", "\u11a8"], special="token")
def test_streams_and_batches_give_the_same(pair, parts, special):
    ours, _ = pair
    ids = ours.encode("".join(parts), special=special)
    assert list(ours.encode_iterable(parts, special=special)) == ids
    assert list(ours.encode_iterable("".join(parts), special=special)) == ids
    assert ours.encode_batch(["".join(parts), *parts], special=special) == [
        ids,
        *(ours.encode(part, special=special) for part in parts),
    ]
    assert ours.encode_to_array("".join(parts), special=special).tolist() == ids


@examples(15)
@given(text=texts)
def test_what_is_saved_gives_the_same_ids_there_and_here(pair, tmp_path_factory, text):
    ours, _ = pair
    folder = tmp_path_factory.mktemp("saved")
    ours.save(folder)
    again = Tokenizer.load(folder)
    theirs = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert again.fingerprint == ours.fingerprint
    assert again.encode(text) == theirs.encode(text).ids == ours.encode(text)


def load(file, folder):
    (folder / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
    return Tokenizer.load(folder)


def changed(file, **parts):
    return json.loads(json.dumps(file)) | parts


@pytest.mark.parametrize("name", FAMILIES)
def test_ignore_merges_and_normalization_decide_the_ids(name, tmp_path):
    file = changed(FAMILIES[name])
    first = load(file, tmp_path).fingerprint
    file["model"]["ignore_merges"] = not file["model"]["ignore_merges"]
    second = load(file, tmp_path).fingerprint
    file["normalizer"] = None if name in ("qwen", "gpt_neox") else {"type": "NFC"}
    file["added_tokens"] = [token | {"normalized": False} for token in file["added_tokens"]]
    assert len({first, second, load(file, tmp_path).fingerprint}) == 3


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["<x>", "a<x>"], "the added token 'a<x>', normalized: true, can overlap"),
        (["<x>", "<x>y"], "'<x>y', normalized: true, can overlap"),
        (["<x>", "a<"], "'a<', normalized: true, can overlap"),
        (["<x>", "x>"], None),  # where <x> begins before it, it is found first in any case
        (["<x>", "<x"], None),
        (["<x>", "y<y"], None),
    ],
)
def test_added_tokens_that_are_found_in_two_passes(tokens, message, tmp_path):
    file = changed(FAMILIES["gpt2"])
    file["model"]["vocab"].pop("<|endoftext|>")
    file["added_tokens"] = [added(346 + i, token, normalized=i > 0) for i, token in enumerate(tokens)]
    if message:
        with pytest.raises(TokenizerError, match=message):
            load(file, tmp_path)
        return
    ours, theirs = load(file, tmp_path), tokenizers.Tokenizer.from_str(json.dumps(file))
    for text in ("<x><x", "a<<x>x>", "xx<x>", "y<y<x>y<y"):
        assert ours.encode(text) == theirs.encode(text).ids


@pytest.mark.parametrize("token", ["é!é", "<end", "<x>", "<K.", "<;.", "a`."])
def test_added_tokens_that_normalization_may_make_or_change(token, tmp_path):
    file = changed(FAMILIES["qwen"])
    file["added_tokens"] = [added(346, token, normalized=True)]
    with pytest.raises(TokenizerError, match="is looked for in normalized text, where NFC may have"):
        load(file, tmp_path)
    file["added_tokens"] = [added(346, token)]
    assert load(file, tmp_path).special_tokens == {token: 346}


def test_a_special_token_that_ignore_merges_would_find_in_text(tmp_path):
    file = changed(FAMILIES["llama3"])
    dog = file["model"]["vocab"]["Ġdog"] = len(file["model"]["vocab"])
    file["added_tokens"] = [added(dog, "Ġdog"), *(token | {"id": token["id"] + 1} for token in file["added_tokens"])]
    with pytest.raises(TokenizerError, match="'Ġdog' is, under ignore_merges, also the name of ordinary text"):
        load(file, tmp_path)
    file["model"]["ignore_merges"] = False
    ours, theirs = load(file, tmp_path), tokenizers.Tokenizer.from_str(json.dumps(file))
    assert ours.encode(" dog Ġdog") == theirs.encode(" dog Ġdog", add_special_tokens=False).ids


@pytest.mark.parametrize("name", FAMILIES)
def test_commands_take_such_files(name, tmp_path, capsysbinary):
    file, path = FAMILIES[name], tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file), encoding="utf-8")
    text = "e\u0301 cats<|im_end|>"
    assert main(["encode", str(path), text]) == 0
    ids = tokenizers.Tokenizer.from_file(str(path)).encode(text, add_special_tokens=False).ids
    assert list(map(int, capsysbinary.readouterr().out.split())) == ids
    assert main(["inspect", str(path), "--json"]) == 0
    facts = json.loads(capsysbinary.readouterr().out)
    assert facts["pattern"] == {"qwen": "qwen2", "gpt_neox": "gpt2"}.get(name, name)
    assert facts["ignore_merges"] == file["model"]["ignore_merges"]
    assert facts["normalization"] == ("NFC" if name in ("qwen", "gpt_neox") else None)
    assert main(["inspect", str(path), "--text", text]) == 0
    shown = capsysbinary.readouterr().out.decode()
    assert (f"{facts['pattern']}, after NFC" in shown) == (facts["normalization"] == "NFC")
    assert ("whole words are looked up first" in shown) == facts["ignore_merges"]


def places(value, path=()):
    """The path to every field of a JSON value, of a large one only the first few."""
    if isinstance(value, dict | list):
        items = list(value.items() if isinstance(value, dict) else enumerate(value))
        for key, inner in items if isinstance(value, dict) and len(items) < 20 else items[:2]:
            yield (*path, key)
            yield from places(inner, (*path, key))


def test_wrong_types_anywhere_are_errors_of_ours(tmp_path):
    path = tmp_path / "tokenizer.json"
    whole = FAMILIES["llama3"] | {"normalizer": {"type": "NFC"}}
    for *outer, last in places(whole):
        for value in (None, True, -7, "x", [None], {"type": "Sequence"}):
            file = changed(whole)
            record = file
            for key in outer:
                record = record[key]
            record[last] = value
            path.write_text(json.dumps(file), encoding="utf-8")
            try:
                read_huggingface(path)
            except TokenizerError as error:
                assert str(error).startswith(f"{path}: ")
