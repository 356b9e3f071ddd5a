"""The scanners of the native core: the cuts of each pattern, in one text, in pieces and in a stream."""

import gzip
import itertools
import json
import time
from functools import cache

import pytest
import regex
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import SCANNED, examples, scanned_texts

from groundup import _native
from groundup.tokenizer.bpe import Tokenizer, train_bpe
from groundup.tokenizer.patterns import (
    CL100K_PATTERN,
    GPT2_PATTERN,
    LLAMA3_PATTERN,
    O200K_PATTERN,
    QWEN2_PATTERN,
    SMOLLM_PATTERN,
    scanner_name,
)

PATTERNS = [GPT2_PATTERN, SMOLLM_PATTERN, CL100K_PATTERN, LLAMA3_PATTERN, QWEN2_PATTERN, O200K_PATTERN]
SCANNERS = {scanner_name(pattern): pattern for pattern in PATTERNS}
ORACLES = {name: regex.compile(pattern) for name, pattern in SCANNERS.items()}


@pytest.fixture(scope="module", params=SCANNERS)
def scanner(request):
    return request.param


# ---- The cuts of the pattern ----


@examples(200)
@given(text=scanned_texts)
def test_pre_tokens_are_those_of_regex(scanner, text):
    expected = [word.encode() for word in ORACLES[scanner].findall(text)]  # its Unicode has the same SCANNED
    assert _native.pre_tokenize(text, scanner) == expected


@examples(60)
@given(text=st.one_of(scanned_texts, st.text(max_size=60)))
def test_pre_tokens_are_those_of_tiktoken(scanner, text):
    words = _native.pre_tokenize(text, scanner)
    # A pre-token that is a token as a whole becomes it: our words, if tiktoken cuts as we do. Where it does not cut
    # between two of ours it finds their sum, and where it cuts one of ours it cannot find that.
    tokens = [bytes([b]) for b in range(256)] + words + [a + b for a, b in itertools.pairwise(words)]
    ranks = {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}
    encoding = tiktoken.Encoding("x", pat_str=SCANNERS[scanner], mergeable_ranks=ranks, special_tokens={})
    assert encoding.decode_tokens_bytes(encoding.encode_ordinary(text)) == words


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("cl100k", "I'LL x'ſ 'Twas", ["I", "'LL", " x", "'ſ", " '", "Twas"]),
        ("cl100k", "$a “b” (c\n\n\n  d", ["$a", " “", "b", "”", " (", "c", "\n\n\n", " ", " d"]),
        ("cl100k", "a;\r\n\n\t b 12345\n \n  ", ["a", ";\r\n\n", "\t", " b", " ", "123", "45", "\n \n  "]),
        ("llama3", "a 12345\n \n  ", ["a", " ", "123", "45", "\n \n", "  "]),
        ("smollm", "a 12  b\n\n3", ["a", " ", "1", "2", " ", " b", "\n\n", "3"]),
        ("qwen2", " 12 ½", [" ", "1", "2", " ", "½"]),
        ("o200k", "HTTPServer don'T x's's", ["HTTPServer", " don'T", " x's", "'s"]),
        ("o200k", "fooBarBAZ 中A中Bc ʰABC", ["foo", "Bar", "BAZ", " 中A中Bc", " ʰ", "ABC"]),
        ("o200k", "};\n// x\n/y", ["};\n//", " x", "\n", "/y"]),
        ("o200k", "e\u0301a !\u0301a !!\u0301a", ["e\u0301a", " !\u0301", "a", " !!\u0301", "a"]),
    ],
)
def test_cuts_by_hand(name, text, words):
    assert [word.decode() for word in _native.pre_tokenize(text, name)] == words


def test_an_unknown_scanner_is_refused():
    with pytest.raises(ValueError, match="no scanner 'gpt9'; there are gpt2, smollm, cl100k, llama3, qwen2, o200k"):
        _native.WordCounter([], pattern="gpt9")


# ---- In pieces ----


def test_neighbours_that_part_pre_tokens_do_so_in_every_text(scanner):
    contexts = ["", "a", "'", "!", "\n", " ", "1", "\u0301", "A", "中", "ll"]
    for before, after in itertools.product(SCANNED, SCANNED):
        if not _native.is_boundary(ord(before), ord(after), scanner):
            continue
        for left, right in itertools.product(contexts, contexts):
            parts = [left + before, after + right]
            words = [word for part in parts for word in _native.pre_tokenize(part, scanner)]
            assert words == _native.pre_tokenize("".join(parts), scanner)


@examples(60)
@given(text=scanned_texts)
def test_a_text_may_be_cut_at_each_boundary(scanner, text):
    words = _native.pre_tokenize(text, scanner)
    for cut in range(1, len(text)):
        if _native.is_boundary(ord(text[cut - 1]), ord(text[cut]), scanner):
            parts = _native.pre_tokenize(text[:cut], scanner) + _native.pre_tokenize(text[cut:], scanner)
            assert parts == words


TEXT = "It's\r\n  3,141,592 “fine”!\n\n\t// x'LL HTTPServer naïve 中文A字 \u3000 हिन्दी\u00a0 12345\n \n" * 3


@pytest.mark.parametrize("special", [[], ["fine", "\n\n", "中文"]])
def test_counts_do_not_depend_on_chunks(scanner, special):
    def counted(**options):
        counter = _native.WordCounter([token.encode() for token in special], pattern=scanner)
        counter.add_text(TEXT.encode(), 1, **options)
        return counter.words()

    whole = counted()
    assert sum(count for _, count in whole) > 60
    for chunk_bytes in range(1, 65):
        assert counted(chunk_bytes=chunk_bytes) == whole


@cache
def pair_encoder(scanner):
    """An encoder whose ids show where words end: neighbours in one word are joined in pairs."""
    pairs = [(bytes([a]), bytes([b])) for a, b in itertools.product(b"aelrsvABLT'019 \n\t!/\xe4\xb8\xcc\x81", repeat=2)]
    tokens = [bytes([b]) for b in range(256)] + [a + b for a, b in pairs]
    return _native.Encoder([(token, id) for id, token in enumerate(tokens)], pairs, [], pattern=scanner)


@examples(100)
@given(data=st.data(), text=scanned_texts)
def test_a_stream_gives_the_ids_of_the_whole(scanner, data, text):
    encoder = pair_encoder(scanner)
    stream = encoder.stream(True)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    ids = []
    for start, end in itertools.pairwise([0, *cuts, len(text)]):
        ids += stream.push(text[start:end])
    assert ids + stream.finish() == encoder.encode(text, True)
    in_characters = encoder.stream(True)
    ids = [id for character in text for id in in_characters.push(character)]
    assert ids + in_characters.finish() == encoder.encode(text, True)


def test_a_stream_holds_back_no_more_than_a_number(scanner):
    stream = pair_encoder(scanner).stream(True)
    ids = [id for _ in range(50) for id in stream.push("0" * 100)]
    # GPT-2's numbers have any length; elsewhere all but the last few digits are certain.
    assert (len(ids) == 0) == (scanner == "gpt2")
    assert len(stream.finish()) <= (2 if scanner != "gpt2" else 5000)


# ---- Through the front door ----


@pytest.mark.parametrize("name", ["plain.txt", "packed.txt.gz", "lines.jsonl"])
def test_files_give_what_they_give_on_regex(scanner, tmp_path, name):
    path = tmp_path / name
    if name.endswith(".jsonl"):
        path.write_text(json.dumps({"text": TEXT}) + "\n" + json.dumps({"text": "more\n\n"}))
    else:
        path.write_bytes(gzip.compress(TEXT.encode()) if name.endswith(".gz") else TEXT.encode())
    pattern = SCANNERS[scanner]
    on_regex = f"(?:{pattern})"  # the same cuts, but no spelling that is known
    assert scanner_name(on_regex) is None
    vocab, merges = train_bpe(path, 340, ["fine"], pattern=pattern)
    assert (vocab, merges) == train_bpe(path, 340, ["fine"], pattern=on_regex)
    ours, other = (Tokenizer(vocab, merges, ["fine"], pattern=p) for p in (pattern, on_regex))
    assert ours.encode(TEXT) == other.encode(TEXT) == list(ours.encode_iterable(TEXT))
    assert ours.encode_batch([TEXT] * 3, special="text") == other.encode_batch([TEXT] * 3, special="text")


# ---- In linear time ----

UNITS = [
    "a",
    "A",
    "1",
    "\n",
    " ",
    "\n ",
    "'",
    "a'",
    "!\n",
    "/\n",
    "中A",
    "中",
    "ʰA",
    "\u0301",
    "!\u0301",
    "aB",
    "\u3000",
]


def cpu_seconds(work, *arguments):
    def once():
        start = time.process_time()
        work(*arguments)
        return time.process_time() - start

    return min(once() for _ in range(3))


@pytest.mark.parametrize("unit", UNITS)
def test_four_times_the_text_takes_about_four_times_the_time(scanner, unit):
    def count_words(text):
        _native.pre_tokenize(text, scanner)
        _native.word_starts(text, scanner)
        _native.WordCounter([], pattern=scanner).add_text(text.encode(), 1, chunk_bytes=1 << 16)

    def stream(text):
        stream = pair_encoder(scanner).stream(True)
        for start in range(0, len(text), 1 << 12):
            stream.push(text[start : start + (1 << 12)])
        stream.finish()

    for work in (count_words, stream):
        short, long = (unit * (size // len(unit.encode())) for size in (1 << 18, 1 << 20))
        # Quadratic work would take sixteen times as long.
        assert cpu_seconds(work, long) < 10 * cpu_seconds(work, short) + 0.1
