"""tokenizer.json: read exactly or refused by name, written so that other tools give our ids."""

import json

import pytest
import tokenizers
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator
from groundup.tokenizer.byte_characters import to_characters
from groundup.tokenizer.patterns import LLAMA3_PATTERN

END = "<|endoftext|>"
BYTES = {b: bytes([b]) for b in range(256)}
DOCUMENTS = ["The cat ate the naïve hat.\n\nIt's 日本, it's the end  of #version 12345 #version: 0.2\u00a0\u0085"] * 2
TEXT = (
    f"The cat, {END} it's\r\n  the “naïve” 日本 12345 #version: 0.2{END}{END}\n\n\u00a0 👩‍👧 <my token><my token>é\x00"
)
PATTERNS = [{}, {"pattern": LLAMA3_PATTERN}]


def learned(options, tokens=(END, "<my token>", "[INST]", "<|日本|>")) -> Tokenizer:
    vocab, merges = train_bpe_from_iterator(DOCUMENTS, 340, tokens, **options)
    return Tokenizer(vocab, merges, tokens, **options)


@pytest.fixture(params=PATTERNS, ids=["gpt2 pattern", "own pattern"])
def tokenizer(request) -> Tokenizer:
    return learned(request.param)


# ---- tokenizer.json, written ----


def test_hugging_face_gives_our_ids(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "t.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "t.json"))
    ids = tokenizer.encode(TEXT)
    assert theirs.encode(TEXT).ids == ids
    assert theirs.decode(ids, skip_special_tokens=False) == TEXT
    assert theirs.get_vocab_size() == tokenizer.vocab_size
    for token, id in tokenizer.special_tokens.items():
        assert theirs.token_to_id(token) == id
        assert theirs.encode(f"a{token}b").ids == tokenizer.encode(f"a{token}b")


def test_transformers_reads_it(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"), eos_token=END)
    assert theirs(TEXT)["input_ids"] == tokenizer.encode(TEXT)
    assert theirs.eos_token_id == tokenizer.end_of_text_id


def test_sparse_ids_survive(tmp_path):
    tokenizer = Tokenizer(
        {b * 7 + 5: token for b, token in BYTES.items()} | {9000: b"ab"}, [(b"a", b"b")], [END, "<x>"]
    )
    tokenizer.save(tmp_path)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert theirs.encode(f"ab{END}c<x>").ids == tokenizer.encode(f"ab{END}c<x>") == [9000, 9001, 99 * 7 + 5, 9002]
    assert Tokenizer.load(tmp_path).fingerprint == tokenizer.fingerprint


def test_load_gives_the_tokenizer_that_was_saved(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "new folder" / "t.json")
    again = Tokenizer.load(tmp_path / "new folder" / "t.json")
    assert again.fingerprint == tokenizer.fingerprint
    assert again.vocab == tokenizer.vocab
    assert again.merges == tokenizer.merges
    assert again.special_tokens == tokenizer.special_tokens
    assert again.pattern == tokenizer.pattern
    assert again.encode(TEXT) == tokenizer.encode(TEXT)


def test_a_pattern_that_others_read_differently_is_not_written(tmp_path):
    with pytest.raises(TokenizerError, match=r"has at '\\\\w\+' what Hugging Face's"):
        Tokenizer(BYTES, [], pattern=r"\s+|\w+").save(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("token", ["a", "é"])
def test_special_tokens_that_the_format_takes_for_bytes_are_not_written(tmp_path, token):
    vocab, merges = train_bpe_from_iterator(["text"], 257, [token])
    for save in (Tokenizer.save, lambda t, path: t.save_gpt2(path / "v", path / "m")):
        with pytest.raises(TokenizerError, match=f"special token '{token}' cannot be saved"):
            save(Tokenizer(vocab, merges, [token]), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_special_token_that_merges_make_too_is_written_only_if_its_name_is_the_same(tmp_path):
    merges = [(b"a", b"b"), (b"\xc3", b"\xa9")]
    vocab = BYTES | {256: b"ab", 257: "é".encode()}
    Tokenizer(vocab, merges, ["ab"]).save(tmp_path)
    assert tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("abé").ids == [256, 257]
    with pytest.raises(TokenizerError, match="special token 'é' cannot be saved"):
        Tokenizer(vocab, merges, ["é"]).save(tmp_path)


# ---- tokenizer.json, read ----


def trained_by_hugging_face(pre_tokenizer) -> tokenizers.Tokenizer:
    theirs = tokenizers.Tokenizer(models.BPE())
    theirs.pre_tokenizer = pre_tokenizer
    theirs.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=[END, "<x>"], initial_alphabet=alphabet, show_progress=False
    )
    theirs.train_from_iterator(DOCUMENTS, trainer)
    theirs.add_tokens(["<not special>"])
    return theirs


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=False)]),
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(tokenizers.Regex(LLAMA3_PATTERN), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        ),
    ],
)
def test_a_file_by_hugging_face_gives_its_ids(tmp_path, pre_tokenizer):
    theirs = trained_by_hugging_face(pre_tokenizer)
    theirs.save(str(tmp_path / "tokenizer.json"))
    ours = Tokenizer.load(tmp_path)
    text = TEXT + "<x><not special>"
    assert ours.encode(text) == theirs.encode(text).ids
    assert ours.decode(ours.encode(text)) == text
    assert ours.special_tokens == {END: 0, "<x>": 1, "<not special>": theirs.token_to_id("<not special>")}


def test_merges_as_lines_are_read(tokenizer, tmp_path):
    file = saved_file(tokenizer, tmp_path)
    file["model"]["merges"] = [" ".join(merge) for merge in file["model"]["merges"]]
    file.pop("truncation")
    file["model"].pop("type")
    assert load(file, tmp_path).fingerprint == tokenizer.fingerprint


def saved_file(tokenizer, folder) -> dict:
    tokenizer.save(folder)
    return json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))


def load(file, folder) -> Tokenizer:
    text = file if isinstance(file, str) else json.dumps(file)
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")
    return Tokenizer.load(folder)


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
A = {"Sequence": {"id": "A", "type_id": 0}}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\s+|\S+"}, "behavior": "Isolated", "invert": False}


def steps(*kinds):
    return {"type": "Sequence", "pretokenizers": list(kinds)}


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        ("normalizer", {"type": "NFKC"}, 'normalizer is {"type": "NFKC"}; only null and NFC'),
        ("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}, "only null and"),
        ("normalizer", {"type": "Sequence"}, "the field 'normalizers' is missing"),
        ("normalizer", "NFC", 'normalizer is "NFC"; it must be a JSON object'),
        ("truncation", {"max_length": 5}, "truncation is"),
        ("padding", {"strategy": "BatchLongest"}, "padding is"),
        ("pre_tokenizer", None, "pre_tokenizer is none"),
        ("pre_tokenizer", {"type": "Whitespace"}, "pre_tokenizer is Whitespace"),
        ("pre_tokenizer", steps({"type": "Digits"}, SPLIT, BYTE_LEVEL), "pre_tokenizer is Digits, Split, ByteLevel"),
        ("pre_tokenizer", BYTE_LEVEL | {"add_prefix_space": True}, "add_prefix_space is true"),
        ("pre_tokenizer", BYTE_LEVEL | {"use_regex": False}, "two patterns or by none"),
        ("pre_tokenizer", steps(SPLIT, BYTE_LEVEL), "two patterns or by none"),
        ("pre_tokenizer", steps({"type": "Digits"}, BYTE_LEVEL | {"use_regex": False}), "only a Split"),
        ("pre_tokenizer", steps(SPLIT | {"behavior": "Removed"}, BYTE_LEVEL | {"use_regex": False}), "Isolated"),
        ("pre_tokenizer", steps(SPLIT | {"invert": True}, BYTE_LEVEL | {"use_regex": False}), "Isolated"),
        ("pre_tokenizer", steps(SPLIT | {"pattern": {"String": "x"}}, BYTE_LEVEL | {"use_regex": False}), "by Regex"),
        ("pre_tokenizer", steps(SPLIT | {"pattern": {"Regex": "^x"}}, BYTE_LEVEL | {"use_regex": False}), "'^x' what"),
        ("pre_tokenizer", steps(SPLIT | {"pattern": "x"}, BYTE_LEVEL | {"use_regex": False}), "by Regex"),
        ("pre_tokenizer", [], "must be a JSON object"),
        ("post_processor", {"type": "BertProcessing"}, "post_processor is BertProcessing; only"),
        ("post_processor", {"type": "TemplateProcessing"}, "the field 'single' is missing"),
        ("post_processor", {"type": "TemplateProcessing", "single": []}, "template is []; only special tokens around"),
        ("post_processor", {"type": "TemplateProcessing", "single": [A, A]}, "only special tokens around a text"),
        ("post_processor", {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}]}, "only special"),
        ("post_processor", {"type": "TemplateProcessing", "single": ["A"]}, "template is "),
        ("post_processor", {"type": "TemplateProcessing", "single": [{"Sequence": "A"}]}, "only special tokens around"),
        ("post_processor", {"type": "Sequence", "processors": [BYTE_LEVEL, {"type": "X"}]}, "post_processor is X"),
        ("post_processor", [], "post_processor is []; it must be a JSON object"),
        ("decoder", None, "decoder is none"),
        ("decoder", {"type": "WordPiece"}, "decoder is WordPiece"),
        ("model", {"type": "WordPiece", "vocab": {}}, 'model.type is "WordPiece"; only "BPE"'),
        ("model", [], "model is []; it must be a JSON object"),
        ("model.vocab", None, "vocab is null"),
        ("model.vocab.a", "1", "the id of the token 'a' is '1'"),
        ("model.vocab.a", True, "the id of the token 'a' is True"),
        ("model.vocab.a", -5, "the id -5 of token b'a' cannot be used"),
        ("model.vocab.a", 70, "have the same id, 70"),
        ("model.vocab.日", 999, "holds '日', which stands for no byte"),
        ("model.merges", "a b", "must be a JSON array"),
        ("model.merges", [["a", "b", "c"]], "is not a merge"),
        ("model.merges", ["ab"], "'ab' is not a merge"),
        ("model.merges", [[1, 2]], "is not a merge"),
        ("model.merges", ["a b", "a b"], "needs the token b'ab'"),
        ("model.merges", ["h e", "h e"], "is given twice"),
        ("model.dropout", 0.1, "model.dropout is 0.1; only 0"),
        ("model.continuing_subword_prefix", "##", 'model.continuing_subword_prefix is "##"'),
        ("model.end_of_word_suffix", "</w>", 'model.end_of_word_suffix is "</w>"'),
        ("model.byte_fallback", True, "model.byte_fallback is true"),
        ("model.ignore_merges", 1, "model.ignore_merges is 1; it must be true or false"),
        ("added_tokens", {}, "added_tokens is {}; it must be a JSON array"),
        ("added_tokens", ["x"], "added token 'x' is"),
        ("added_tokens", [{"id": 900}], "the field 'content' is missing; the fields are 'id'"),
        ("added_tokens", [{"content": "<x>"}], "the field 'id' is missing"),
        ("added_tokens", [{"content": "<x>", "id": "9"}], 'id is "9"; it must be a JSON integer'),
        ("added_tokens", [{"content": "the", "id": 900}], "has two ids, 900 and "),
        ("added_tokens", [{"content": END, "id": 900}], "has two ids, 900 and 0"),
        ("added_tokens", [{"content": "<x>", "id": 900}, {"content": "<x>", "id": 901}], "has two ids"),
        ("added_tokens", [{"content": "", "id": 900}], "is the empty text"),
        ("added_tokens", [{"content": "\ud800", "id": 900}], "cannot be UTF-8"),
        ("added_tokens", [{"content": "é", "id": 234}], "also the name of a byte"),
        ("added_tokens", [{"content": "<x>", "id": 900, "lstrip": True}], "'<x>': lstrip is true"),
        ("added_tokens", [{"content": "<x>", "id": 900, "single_word": True}], "'<x>': single_word is true"),
    ],
)
def test_what_we_would_not_reproduce_is_refused_by_name(tmp_path, place, value, message):
    file = saved_file(learned({}), tmp_path)
    *outer, last = place.split(".")
    record = file
    for name in outer:
        record = record[name]
    record[last] = value
    with pytest.raises(TokenizerError) as caught:
        load(file, tmp_path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path / 'tokenizer.json'}: ")


def test_an_added_token_cannot_share_its_id(tmp_path):
    file = saved_file(learned({}, [END]), tmp_path)
    file["added_tokens"].append({"content": "<x>", "id": 1 + ord("a")})
    with pytest.raises(TokenizerError, match="the added token '<x>' has the id of the token b'a', 98"):
        load(file, tmp_path)


def test_merges_before_those_of_their_parts_are_neither_read_nor_written(tmp_path):
    vocab = BYTES | {256: b"aba", 257: b"ab"}
    tokenizer = Tokenizer(vocab, [(b"ab", b"a"), (b"a", b"b")])
    with pytest.raises(TokenizerError, match=r"merge 0 \(b'ab' \+ b'a'\) comes before the merge that makes one of"):
        tokenizer.save(tmp_path)
    in_order = Tokenizer(vocab, [(b"a", b"b"), (b"ab", b"a")])
    file = saved_file(in_order, tmp_path)
    assert load(file, tmp_path).encode("abab") == [257, 257]
    file["model"]["merges"].reverse()
    assert tokenizers.Tokenizer.from_str(json.dumps(file)).encode("abab").ids == [256, ord("b")]
    with pytest.raises(TokenizerError, match=r"merge 0 .* comes before"):
        load(file, tmp_path)


def test_merges_out_of_order_are_read_if_each_token_has_one_in_order(tmp_path):
    """As in Llama 3's file, which has every way to make a token, in the order of the tokens."""
    vocab = BYTES | {256: b"bc", 257: b"abc", 258: b"ab", 259: b"abcab"}
    merges = [(b"b", b"c"), (b"ab", b"c"), (b"a", b"bc"), (b"a", b"b"), (b"abc", b"ab")]
    tokenizer = Tokenizer(vocab, merges)
    tokenizer.save(tmp_path)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in ("abc", "abcab", "ababcabcc", "abbcab"):
        assert Tokenizer.load(tmp_path).encode(text) == tokenizer.encode(text) == theirs.encode(text).ids


def test_ids_that_readers_would_replace_are_refused(tmp_path):
    file = saved_file(learned({}, [END]), tmp_path)
    size = len(file["model"]["vocab"])
    file["added_tokens"] += [{"content": "<x>", "id": size}, {"content": "<y>", "id": size + 2}]
    with pytest.raises(TokenizerError, match=f"'<y>' has the id {size + 2}, but .* number it {size + 1}"):
        load(file, tmp_path)
    file["added_tokens"][-1]["id"] = size + 1
    ours = load(file, tmp_path)
    options = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    file["added_tokens"] = [options | token for token in file["added_tokens"]]
    assert ours.encode("a<y><x>") == tokenizers.Tokenizer.from_str(json.dumps(file)).encode("a<y><x>").ids


@pytest.mark.parametrize("name", ["model", "model.vocab", "model.merges"])
def test_missing_fields_are_named(tmp_path, name):
    file = saved_file(learned({}), tmp_path)
    *outer, last = name.split(".")
    (file[outer[0]] if outer else file).pop(last)
    with pytest.raises(TokenizerError, match=f"the field '{last}' is missing"):
        load(file, tmp_path)


def test_an_unknown_token_is_refused_if_bytes_are_missing(tmp_path):
    file = saved_file(learned({}), tmp_path)
    file["model"]["unk_token"] = END
    assert load(file, tmp_path).encode("\x00")  # all bytes are there: it is never used
    del file["model"]["vocab"][to_characters(b"\x00")]
    with pytest.raises(TokenizerError, match="unk_token"):
        load(file, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is not JSON"),
        (b"{", "it is not JSON"),
        (b"[]", r"the file is \[\]; it must be a JSON object"),
        (b"\xff{}", "it is not UTF-8 text: byte offset 0"),
        (b"[" * 100_000, "it is not JSON"),
        (b'{"model": 1, "model": 2}', "the name 'model' stands in it twice"),
    ],
)
def test_files_that_are_not_json(tmp_path, content, message):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=message) as caught:
        Tokenizer.load(path)
    assert str(path) in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(TokenizerError, match=r"tokenizer\.json: it cannot be read: No such file"):
        Tokenizer.load(tmp_path)
    with pytest.raises(TokenizerError, match=r"none\.json: it cannot be read"):
        Tokenizer.load(tmp_path / "none.json")
