""".tiktoken files: the ids of tiktoken for any ranks, or a refusal; written only if tiktoken gives our ids."""

import base64
import random

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import examples, texts

from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator
from groundup.tokenizer.patterns import CL100K_PATTERN, GPT2_PATTERN, LLAMA3_PATTERN, O200K_PATTERN
from groundup.tokenizer.tiktoken_files import merges_of_ranks
from groundup.tokenizer.vocabulary import make_vocabulary

END = "<|endoftext|>"
BYTES = [bytes([b]) for b in range(256)]
SPECIAL = {END: 5000, "<|fim|>": 4000, "ab": 4001}
DOCUMENTS = ["The cat ate the naïve hat.\n\nIt's 日本, IT'S the end  of 12345 cats\n  "] * 2


def write(path, tokens):
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens)))
    return path


def encoding(ranks, pattern=r"[\s\S]+", special=None):
    return tiktoken.Encoding("x", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special or {})


@st.composite
def token_lists(draw):
    """Tokens of a, b and c: joined from two before them or not, in that order or not."""
    pool = [b"a", b"b", b"c"]
    for _ in range(draw(st.integers(0, 12))):
        parts = draw(st.lists(st.sampled_from(pool), min_size=2, max_size=draw(st.sampled_from([2, 2, 2, 5]))))
        pool += [b"".join(parts)] * (b"".join(parts) not in pool and len(b"".join(parts)) < 9)
    tokens = pool[3:]
    random.Random(0).shuffle(tokens if draw(st.sampled_from([False, False, True])) else [])
    return BYTES + tokens


@examples(300)
@given(tokens=token_lists(), words=st.lists(st.text("abc", min_size=1, max_size=12), min_size=1, max_size=20))
def test_any_ranks_give_the_ids_of_tiktoken(tmp_path_factory, tokens, words):
    path = write(tmp_path_factory.mktemp("ranks") / "x.tiktoken", tokens)
    try:
        ours = Tokenizer.from_tiktoken(path, pattern=r"[\s\S]+")
    except TokenizerError as error:
        assert "has a higher rank" in str(error)
        return
    theirs = encoding({token: rank for rank, token in enumerate(tokens)})
    assert [ours.encode(word) for word in words] == [theirs.encode(word) for word in words]
    ours.save_tiktoken(path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("pattern", [GPT2_PATTERN, CL100K_PATTERN, O200K_PATTERN])
@examples(60)
@given(text=st.one_of(texts, st.sampled_from([*DOCUMENTS, f"a{END}b <|fim|>", "\n\n  ", "x \r\n\t"])))
def test_every_text_has_the_ids_of_tiktoken(tmp_path_factory, pattern, text):
    vocab, _ = train_bpe_from_iterator(DOCUMENTS, 340, pattern=pattern)
    tokens = [*vocab.values(), " naïve cats!".encode(), b"1234567", b"\n\n  \n"]  # the last ones no merge makes
    path = write(tmp_path_factory.mktemp("ranks") / "x.tiktoken", tokens)
    ours = Tokenizer.from_tiktoken(path, SPECIAL, pattern=pattern)
    theirs = encoding({token: rank for rank, token in enumerate(tokens)}, pattern, SPECIAL)
    assert ours.special_tokens == SPECIAL
    # Characters that are newer than tiktoken's tables may be cut in another way by `regex`.
    if pattern == GPT2_PATTERN or all(map(str.isprintable, text)) or text.isascii():
        assert ours.encode(text) == theirs.encode(text, allowed_special="all")
        assert ours.encode(text, special="text") == theirs.encode(text, disallowed_special=())


def test_gpt2_has_the_merges_of_its_own_file(shared, tmp_path):
    folder = shared / "data/gpt2"
    gpt2 = Tokenizer.from_files(folder / "gpt2_vocab.json", folder / "gpt2_merges.txt", [END])
    gpt2.save_tiktoken(tmp_path / "gpt2.tiktoken")
    again = Tokenizer.from_tiktoken(tmp_path / "gpt2.tiktoken", {END: 50256}, pattern=GPT2_PATTERN)
    assert again.merges == gpt2.merges
    assert again.fingerprint == gpt2.fingerprint


def test_a_vocabulary_of_100_000_tokens(tmp_path):
    """Words that begin with a capital, each one letter longer than another: as if they were learned so."""
    rng = random.Random(1)
    words = list(map(chr, range(65, 91)))
    seen = set(words)
    while len(words) < 99_770:
        word = rng.choice(words) + rng.choice("abcdefghijklmnopqrstuvwxyz")
        if word not in seen:
            seen.add(word)
            words.append(word)
    tokens = BYTES + [word.encode() for word in words[26:]]
    path = write(tmp_path / "large.tiktoken", tokens)
    ours = Tokenizer.from_tiktoken(path, {END: 100_000}, pattern=GPT2_PATTERN)
    assert len(ours.merges) == len(tokens) - 256
    theirs = encoding({token: rank for rank, token in enumerate(tokens)}, GPT2_PATTERN, {END: 100_000})
    text = " ".join(word + rng.choice(words) for word in rng.choices(words, k=1000))
    assert ours.encode(text) == theirs.encode(text)


def test_special_tokens_first_and_ids_with_gaps(tmp_path):
    """Our own layout: tiktoken takes ranks that begin at 1, too."""
    vocab, merges = train_bpe_from_iterator(DOCUMENTS, 300, [END])
    ours = Tokenizer(vocab, merges, [END, "<new>"])
    ours.save_tiktoken(tmp_path / "x.tiktoken")
    again = Tokenizer.from_tiktoken(tmp_path / "x.tiktoken", ours.special_tokens, pattern=GPT2_PATTERN)
    assert again.fingerprint == ours.fingerprint
    ranks = {token: id for id, token in vocab.items() if id > 0}
    text = f"the cat{END} ate<new>"
    theirs = encoding(ranks, GPT2_PATTERN, ours.special_tokens)
    assert ours.encode(text) == theirs.encode(text, allowed_special="all")


def test_merges_that_tiktoken_never_comes_by_do_no_harm(tmp_path):
    """Llama 3's tokenizer.json has every way to make a token from two others."""
    tokens = dict(enumerate([*BYTES, b"bc", b"abc", b"ab"]))
    merges = [(b"b", b"c"), (b"a", b"bc"), (b"ab", b"c"), (b"a", b"b")]
    tokenizer = Tokenizer(tokens, merges)
    tokenizer.save_tiktoken(tmp_path / "x.tiktoken")
    again = Tokenizer.from_tiktoken(tmp_path / "x.tiktoken", pattern=GPT2_PATTERN)
    assert again.merges == [(b"b", b"c"), (b"a", b"bc"), (b"a", b"b")]
    for text in ("abc", "ab", "aabcab", "bcabcc"):
        assert again.encode(text) == tokenizer.encode(text)


@pytest.mark.parametrize(
    ("vocabulary", "message"),
    [
        (make_vocabulary(dict(enumerate(BYTES)), [], normalization="NFC"), "tiktoken does no NFC"),
        (make_vocabulary(dict(enumerate(BYTES[1:])), []), r"lacks b'\\x00'"),
        (make_vocabulary(dict(enumerate([*BYTES, b"abc"])), []), "no merge makes the token b'abc'"),
        (
            make_vocabulary(dict(enumerate([*BYTES, b"ab", b"bc"])), [(b"b", b"c"), (b"a", b"b")]),
            r"by the order of the ids merge 0 is \(b'a', b'b'\), but the vocabulary has \(b'b', b'c'\) there",
        ),
        (make_vocabulary(dict(enumerate([*BYTES, b"ab"])), []), r"merge 0 is \(b'a', b'b'\), .* has none there"),
        (
            make_vocabulary(dict(enumerate([*BYTES, b"abc", b"ab"])), [(b"a", b"b"), (b"ab", b"c")]),
            "the token b'abc' of rank 256 is made of b'ab', which has a higher rank, 257",
        ),
    ],
)
def test_vocabularies_that_tiktoken_would_encode_otherwise(vocabulary, message, tmp_path):
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.from_vocabulary(vocabulary).save_tiktoken(tmp_path / "x.tiktoken")
    assert list(tmp_path.iterdir()) == []


def test_tokens_that_only_a_look_up_finds():
    assert merges_of_ranks({b"a": 0, b"b": 1, b"ab": 2, b"abab": 3, b"ba": 4, b"aba": 5, b"bba": 6, b"bbb": 7}) == (
        [(b"a", b"b"), (b"ab", b"ab"), (b"b", b"a"), (b"ab", b"a"), (b"b", b"ba")],
        [b"bbb"],
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it holds no tokens"),
        (b"YQ== 0\nYg==\n", "line 2: b'Yg==' is not a token in base64, a space and its rank"),
        (b"YQ== 0 1\n", "line 1: "),
        (b"YQ== zero\n", "line 1: "),
        (b"Y!Q== 0\n", "line 1: "),
        (b"\xff 0\n", "line 1: "),
        (b"YQ== -1\n", "line 1: the token b'a' of rank -1 cannot be"),
        (b"\n\nYQ== 0\r\nYQ== 1\n", "line 4: token b'a' and rank 1 were given as b'a' 0 before"),
        (b"YQ== 0\nYg== 0\n", "line 2: token b'b' and rank 0 were given as b'a' 0 before"),
        (b"YQ== 4294967295\n", "the id 4294967295 of token b'a' cannot be used"),
    ],
)
def test_malformed_files_are_named_with_their_line(content, message, tmp_path):
    path = tmp_path / "x.tiktoken"
    path.write_bytes(content)
    with pytest.raises(TokenizerError, match=message) as caught:
        Tokenizer.from_tiktoken(path, pattern=LLAMA3_PATTERN)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("special", "message"),
    [
        ({"<x>": 97}, "the special token '<x>' has the id of the token b'a', 97"),
        ({"<x>": 300, "<y>": 300}, "the special token '<y>' has the id of the token b'<x>', 300"),
        ({"": 300}, "a special token is the empty text"),
        ({"<x>": -2}, "the id -2"),
    ],
)
def test_special_tokens_that_cannot_be(special, message, tmp_path):
    path = write(tmp_path / "x.tiktoken", BYTES)
    with pytest.raises(TokenizerError, match=message):
        Tokenizer.from_tiktoken(path, special, pattern=GPT2_PATTERN)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(TokenizerError, match=r"x\.tiktoken: it cannot be read: No such file"):
        Tokenizer.from_tiktoken(tmp_path / "x.tiktoken", pattern=GPT2_PATTERN)
