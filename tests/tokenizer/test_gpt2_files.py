"""GPT-2's vocab.json and merges.txt: every token survives, headers and odd lines too, errors name the line."""

import pytest
import tokenizers
from tokenizers import models, pre_tokenizers

from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator
from groundup.tokenizer.gpt2_files import write_gpt2
from groundup.tokenizer.patterns import LLAMA3_PATTERN
from groundup.tokenizer.vocabulary import make_vocabulary

END = "<|endoftext|>"
BYTES = {b: bytes([b]) for b in range(256)}
DOCUMENTS = ["The cat ate the naïve hat.\n\nIt's 日本, it's the end  of #version 12345 #version: 0.2\u00a0\u0085"] * 2
TEXT = "The cat, it's\r\n  the “naïve” 日本 12345 #version: 0.2\n\n\u00a0 👩‍👧 é\x00"


def learned(**options) -> Tokenizer:
    tokens = [END, "<my token>", "[INST]", "<|日本|>"]
    vocab, merges = train_bpe_from_iterator(DOCUMENTS, 340, tokens, **options)
    return Tokenizer(vocab, merges, tokens, **options)


def test_gpt2_files_hold_the_same_tokenizer(tmp_path):
    tokenizer = learned()
    vocab, merges = tmp_path / "v.json", tmp_path / "m.txt"
    tokenizer.save_gpt2(vocab, merges)
    again = Tokenizer.from_files(vocab, merges, list(tokenizer.special_tokens))
    assert again.fingerprint == tokenizer.fingerprint
    assert merges.read_text(encoding="utf-8").startswith("#version: 0.2\n")
    theirs = tokenizers.Tokenizer(models.BPE.from_file(str(vocab), str(merges)))
    theirs.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    assert theirs.encode(TEXT).ids == again.encode(TEXT)


def test_merges_of_unusual_characters(tmp_path):
    """Tokens that look like the header, like comments, like white space, or split lines in other alphabets."""
    words = [
        b"#version:",
        b" 0.2",
        b"##",
        b"\x85\x85",
        b"\xa0 ",
        b"\n\r",
        b"\x1c\x1d",
        "\u2028".encode(),
        b"\\\"'",
        b"\xff\xfe",
    ]
    vocab, merges = train_bpe_from_iterator([word.decode("latin-1") for word in words] * 3, 500)
    for word in words:
        for end in range(2, len(word) + 1):
            merge = (word[: end - 1], word[end - 1 : end])
            if b"".join(merge) not in vocab.values():
                vocab[len(vocab)] = b"".join(merge)
                merges.append(merge)
    tokenizer = Tokenizer(vocab, merges)
    tokenizer.save_gpt2(tmp_path / "v.json", tmp_path / "m.txt")
    assert Tokenizer.from_files(tmp_path / "v.json", tmp_path / "m.txt").fingerprint == tokenizer.fingerprint
    tokenizer.save(tmp_path)
    assert Tokenizer.load(tmp_path).fingerprint == tokenizer.fingerprint
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for word in words:
        text = word.decode("latin-1")
        assert theirs.encode(text).ids == tokenizer.encode(text)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("header", ["", "#version: 0.2\n", "#version: 0.1 - trained by `huggingface/tokenizers`\n"])
def test_headers_newlines_and_blank_lines(tmp_path, header, newline):
    (tmp_path / "v.json").write_text('{"#": 0, "v": 1, "#v": 2, "Ġ": 3, "#v#v": 4}', encoding="utf-8")
    text = f"{header}# v\n#v #v\n\n".replace("\n", newline)
    (tmp_path / "m.txt").write_bytes(text.encode())
    tokenizer = Tokenizer.from_files(tmp_path / "v.json", tmp_path / "m.txt", ["<x>"])
    assert tokenizer.merges == [(b"#", b"v"), (b"#v", b"#v")]
    assert tokenizer.special_tokens == {"<x>": 5}


def test_a_line_that_begins_like_the_header_is_a_merge_further_down(tmp_path):
    text = "#version: 1.0"
    tokens = [bytes([byte]) for byte in dict.fromkeys(text.encode())]
    merges, left = [], text.encode()[:1]
    for byte in text.encode()[1:]:
        merges.append((left, bytes([byte])))
        left += bytes([byte])
    tokenizer = Tokenizer(dict(enumerate([*tokens, *(a + b for a, b in merges)])), merges)
    tokenizer.save_gpt2(tmp_path / "v.json", tmp_path / "m.txt")
    assert "\n#version:" in (tmp_path / "m.txt").read_text(encoding="utf-8")
    assert Tokenizer.from_files(tmp_path / "v.json", tmp_path / "m.txt").merges == merges


def test_special_tokens_outside_the_alphabet(tmp_path):
    (tmp_path / "v.json").write_text('{"a": 0, "<my token>": 1, "<|日本|>": 2, "é": 3}', encoding="utf-8")
    (tmp_path / "m.txt").write_text("", encoding="utf-8")
    tokenizer = Tokenizer.from_files(tmp_path / "v.json", tmp_path / "m.txt", ["<my token>", "<|日本|>", "é"])
    assert tokenizer.special_tokens == {"<my token>": 1, "<|日本|>": 2, "é": 4}
    assert tokenizer.vocab[3] == b"\xe9"  # the name of a byte stays that
    with pytest.raises(TokenizerError, match=r"v\.json: the token '<my token>' holds ' '"):
        Tokenizer.from_files(tmp_path / "v.json", tmp_path / "m.txt")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("#version: 0.2\na b\nc\n", r"m\.txt: line 3: 'c' is not a merge"),
        ("a b c\n", r"line 1: 'a b c' is not"),
        ("a \n", "line 1: 'a ' is not"),
        ("a 日\n", "line 1: the token '日' holds"),
        ("a b\n", r"m\.txt: merge 0 .* needs the token b'ab', which the vocabulary lacks"),
        (b"\xff", r"m\.txt: it is not UTF-8"),
    ],
)
def test_merges_that_cannot_be_are_named_with_their_line(tmp_path, lines, message):
    (tmp_path / "v.json").write_text('{"a": 0, "b": 1}', encoding="utf-8")
    (tmp_path / "m.txt").write_bytes(lines if isinstance(lines, bytes) else lines.encode())
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.from_files(tmp_path / "v.json", tmp_path / "m.txt")


def test_gpt2_files_have_no_place_for_a_pattern(tmp_path):
    with pytest.raises(TokenizerError, match="no place for a pattern"):
        learned(pattern=LLAMA3_PATTERN).save_gpt2(tmp_path / "v.json", tmp_path / "m.txt")
    assert list(tmp_path.iterdir()) == []


def test_gpt2_files_have_no_place_for_what_other_families_add(tmp_path):
    tokens = {b: bytes([b]) for b in range(256)} | {256: b"aa"}
    for vocabulary, message in (
        (make_vocabulary(tokens, [], ignore_merges=True), "cannot say ignore_merges"),
        (make_vocabulary(tokens, [], normalization="NFC"), "normalization \\(NFC\\); save a tokenizer.json"),
        (make_vocabulary(tokens, [(b"a", b"a")], {"aa": 999}), "which of two ids|cannot be saved"),
    ):
        with pytest.raises(TokenizerError, match=message):
            write_gpt2(tmp_path / "v.json", tmp_path / "m.txt", vocabulary)
        assert list(tmp_path.iterdir()) == []


def test_ids_follow_a_vocabulary_trained_elsewhere(shared):
    folder = shared / "data/cs336"
    tokenizer = Tokenizer.from_files(folder / "tinystories10k_vocab.json", folder / "tinystories10k_merges.txt", [END])
    assert tokenizer.vocab_size == 10_000
    text = (folder / "tinystories_sample.txt").read_text(encoding="utf-8")
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert len(ids) < len(text) / 3


def test_a_merge_of_a_token_that_is_only_special_is_not_written(tmp_path):
    """Found by fuzzing. Such a merge changes no ids, but the files have no name for its part."""
    vocab = BYTES | {256: b"<a>", 257: b"<a>b"}
    tokenizer = Tokenizer(vocab, [(b"<a>", b"b")], ["<a>"])
    for save in (Tokenizer.save, lambda t, path: t.save_gpt2(path / "v", path / "m")):
        with pytest.raises(TokenizerError, match=r"merge 0 .* cannot be saved: its part b'<a>' is a special token"):
            save(tokenizer, tmp_path)
    assert list(tmp_path.iterdir()) == []
