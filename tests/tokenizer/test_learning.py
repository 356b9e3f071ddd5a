"""What learning is told besides the text: known merges, least counts, longest tokens, counts instead of text."""

import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import examples, small_texts, texts

from groundup.errors import TokenizerError
from groundup.tokenizer.reference import count_words, learn_merges, merge_pair
from groundup.tokenizer.train import BpeTrainer, train_bpe, train_bpe_from_counts, train_bpe_from_iterator

WORDS = {b"low": 5, b"lower": 2, b"widest": 3, b"newest": 6}
ALL_MERGES = learn_merges(WORDS, 99)

words_with_counts = st.dictionaries(
    st.one_of(small_texts.map(str.encode), st.binary(max_size=12), st.text("ab", max_size=30).map(str.encode)),
    st.integers(0, 3) | st.integers(0, 2**50),
    max_size=12,
)


def learn_within_limits(word_counts, num_merges, known=(), min_frequency=1, max_token_length=None):
    """reference.py's learn_merges with the options, one merge at a time."""
    words = {tuple(bytes([b]) for b in word): count for word, count in word_counts.items() if count > 0}
    merges = list(known)
    for pair in known:
        words = {merge_pair(word, pair): count for word, count in words.items()}
    while len(merges) < num_merges:
        counts = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                counts[pair] += count
        allowed = [
            pair
            for pair, count in counts.items()
            if count >= min_frequency and (max_token_length is None or len(b"".join(pair)) <= max_token_length)
        ]
        if not allowed:
            break
        merges.append(max(allowed, key=lambda pair: (counts[pair], pair)))
        words = {merge_pair(word, merges[-1]): count for word, count in words.items()}
    return merges


def learn(word_counts, num_merges, **options):
    return train_bpe_from_counts(word_counts, 256 + num_merges, **options)[1]


# ---- Least counts and longest tokens ----


@examples(80)
@given(words_with_counts, st.integers(0, 60), st.integers(1, 9), st.none() | st.integers(1, 9))
def test_limits_are_kept_and_nothing_else_changes(words, num_merges, min_frequency, max_token_length):
    options = {"min_frequency": min_frequency, "max_token_length": max_token_length}
    assert learn(words, num_merges, **options) == learn_within_limits(words, num_merges, **options)


def test_learning_ends_where_pairs_are_rare():
    assert learn(WORDS, 99, min_frequency=9) == ALL_MERGES[:2] == [(b"s", b"t"), (b"e", b"st")]
    assert learn(WORDS, 99, min_frequency=10) == learn(WORDS, 99, min_frequency=2**70) == []
    assert learn(WORDS, 99) == learn(WORDS, 99, min_frequency=1) == ALL_MERGES


def test_other_pairs_go_on_where_one_is_too_long():
    merges = learn(WORDS, 99, max_token_length=3)
    assert max(len(left + right) for left, right in merges) == 3
    assert merges[:4] == [(b"s", b"t"), (b"e", b"st"), (b"o", b"w"), (b"l", b"ow")]
    assert (b"n", b"e") in merges and (b"w", b"est") not in merges
    assert learn(WORDS, 99, max_token_length=1) == []
    assert learn(WORDS, 99, max_token_length=2**70) == ALL_MERGES


@pytest.mark.parametrize("option", ["min_frequency", "max_token_length"])
def test_limits_that_cannot_be(option):
    with pytest.raises(TokenizerError, match=f"{option} is 0; it must be at least 1"):
        train_bpe("not/read", 300, **{option: 0})


def test_files_and_documents_take_the_same_options(tmp_path):
    text = "the cat sat on the mat, the cat\n" * 3
    options = {"merges": [(b"a", b"t")], "min_frequency": 4, "max_token_length": 3}
    expected = learn_within_limits(count_words(text), 44, [(b"a", b"t")], 4, 3)
    (tmp_path / "text.txt").write_bytes(text.encode())
    assert train_bpe(tmp_path / "text.txt", 300, **options)[1] == expected
    assert train_bpe_from_iterator([text], 300, **options)[1] == expected
    assert train_bpe_from_counts(count_words(text), 300, **options)[1] == expected


# ---- Going on from merges ----


@examples(40)
@given(words_with_counts, st.data())
def test_going_on_equals_learning_in_one_go(words, data):
    whole = learn(words, 40)
    assert learn(words, 40, merges=whole[: data.draw(st.integers(0, len(whole)))]) == whole


@examples(40)
@given(words_with_counts, words_with_counts, st.integers(0, 30))
def test_going_on_from_merges_of_another_text(words, others, num_known):
    known = learn(others, num_known)
    assert learn(words, 40, merges=known) == learn_within_limits(words, 40, known)


@examples(25)
@given(texts, st.integers(0, 40))
def test_a_larger_vocabulary_begins_with_the_smaller_one(text, num_known):
    tokens = ["<|endoftext|>"]
    whole = train_bpe_from_iterator([text], 300, tokens)
    small = train_bpe_from_iterator([text], 257 + num_known, tokens)
    assert train_bpe_from_iterator([text], 300, tokens, merges=small[1]) == whole
    assert small[0].items() <= whole[0].items()


def test_one_count_serves_several_goings_on():
    trainer = BpeTrainer()
    trainer.add_counts(WORDS)
    for num_known in range(len(ALL_MERGES) + 1):
        assert trainer.train(300, merges=ALL_MERGES[:num_known])[1] == ALL_MERGES


def test_known_merges_are_done_whatever_the_limits_say():
    assert learn(WORDS, 99, merges=ALL_MERGES[:8], min_frequency=6, max_token_length=2) == ALL_MERGES[:8]
    assert learn({b"x": 1}, 99, merges=ALL_MERGES) == ALL_MERGES


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ([(b"a", b"b"), (b"abc", b"d")], r"merge 1 joins b'abc', which is neither a byte nor made by an earlier one"),
        ([(b"a", b"b"), (b"c", b"")], "merge 1 joins b'', which is neither"),
        ([(b"a", b"b"), (b"a", b"b")], "merge 1 makes b'ab', which an earlier one makes already"),
        ([(b"a", b"b"), (b"b", b"c"), (b"a", b"bc"), (b"ab", b"c")], "merge 3 makes b'abc', which an earlier"),
    ],
)
def test_merges_that_no_training_can_have_made(merges, message):
    with pytest.raises(TokenizerError, match=message):
        train_bpe("not/read", 300, merges=merges)


WRONG_TYPES = """
from groundup.tokenizer.train import train_bpe_from_counts
for counts, merges in [({}, [("a", "b")]), ({}, [(b"a", b"b", b"c")]), ({}, [7]), ({"ab": 1.5}, []), ({7: 1}, [])]:
    try:
        train_bpe_from_counts(counts, 300, merges=merges)
    except ValueError as error:
        print(error)
"""


def test_wrong_types_get_one_sentence_too():
    """In a process of its own: under test, arguments are checked against their annotations."""
    done = subprocess.run([sys.executable, "-c", WRONG_TYPES], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "merge 0 joins 'a', which is neither a byte nor made by an earlier one",
        "merge 0 is (b'a', b'b', b'c'); a merge is a pair of bytes",
        "merge 0 is 7; a merge is a pair of bytes",
        "the count of 'ab' is 1.5; a word is str or bytes, a count an int",
        "the count of 7 is 1; a word is str or bytes, a count an int",
    ]


def test_the_core_checks_known_merges_too():
    trainer = BpeTrainer()
    with pytest.raises(ValueError, match="merge 1 joins b'abc', which is neither a byte nor made by an earlier one"):
        trainer._counter.train(9, known_merges=[(b"a", b"b"), (b"abc", b"d")])
    with pytest.raises(ValueError, match="merge 1 makes b'ab', which an earlier one makes already"):
        trainer._counter.train(9, known_merges=[(b"a", b"b"), (b"a", b"b")])


def test_room_for_the_known_merges():
    with pytest.raises(TokenizerError, match=r"vocab_size is 258; it must be at least 259: .* 1 special .* 2 merges"):
        train_bpe("not/read", 258, ["<x>"], merges=ALL_MERGES[:2])
    assert train_bpe_from_counts({}, 259, ["<x>"], merges=ALL_MERGES[:2])[1] == ALL_MERGES[:2]


# ---- Counts instead of text ----


@pytest.mark.parametrize("scale", [1, 2**16, 2**33, 2**53 + 1, 2**57])
def test_large_counts_keep_the_order(scale):
    words = {word: count * scale for word, count in WORDS.items()}
    assert learn(words, 99) == ALL_MERGES
    more = {b"ab": 2**33, b"cd": 2**32 + 5, b"ef": 2**33 + 1, b"gh": 2**32 + 4}
    assert learn(more, 4) == [(b"e", b"f"), (b"a", b"b"), (b"c", b"d"), (b"g", b"h")]


def test_counts_beyond_32_bits_add_up_across_words_and_calls():
    trainer = BpeTrainer()
    for start in range(0, 90, 10):
        trainer.add_counts({f"x{i}": 2**31 for i in range(start, start + 10)})
    trainer.add_counts({"yz": 11 * 2**31 - 1})
    assert trainer.train(258)[1] == [(b"x", b"8"), (b"x", b"7")]
    trainer.add_counts({"yz": 2})
    assert trainer.train(257)[1] == [(b"y", b"z")]


def test_words_are_str_or_bytes_of_any_kind():
    assert learn({"Öl": 2, "öl": 1}, 9) == learn({"Öl".encode(): 2, "öl".encode(): 1}, 9)
    assert learn({b"\xff\x00": 1, b"": 5}, 9) == [(b"\xff", b"\x00")]
    assert learn({}, 9) == learn({"ab": 0}, 9) == []


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"ab": -1}, "the count of 'ab' is -1; it must be at least 0"),
        ({"ab": 2**63}, "27670116110564327424 bytes in all, and counts have 64 bits"),
        ({"ab": 2**62, "cd": 2**62 + 1}, "64 bits"),
        ({"a\ud83d": 1}, "at character 1"),
    ],
)
def test_counts_that_cannot_be(counts, message):
    trainer = BpeTrainer()
    trainer.add_counts({b"ab": 2**62})
    with pytest.raises(TokenizerError, match=message):
        train_bpe_from_counts(counts, 300) if "64" not in message else trainer.add_counts(counts)
    assert trainer.train(257)[1] == [(b"a", b"b")]


# ---- Memory ----

MEASURED = """
import sys
from groundup.tokenizer.train import train_bpe, train_bpe_from_iterator
{code}
status = open("/proc/self/status").read()
print(len(merges), int(status.partition("VmHWM:")[2].split()[0]) >> 10)
"""


def run_measured(code: str) -> tuple[int, int]:
    """How many `merges` the code learns in a process of its own, and the most memory that it had, in MiB."""
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is read from /proc")
    line = [sys.executable, "-c", MEASURED.format(code=code)]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    num_merges, peak_mib = map(int, done.stdout.split())
    return num_merges, peak_mib


def test_memory_follows_the_distinct_words_not_the_text(tmp_path):
    path = tmp_path / "few words.txt"
    path.write_bytes(b"some few words, some more words and no others\n" * 200_000)
    small = run_measured(f"merges = train_bpe({str(path)!r}, 1000, num_threads=2)[1]")
    large = run_measured(f"merges = train_bpe([{str(path)!r}] * 20, 1000, num_threads=2)[1]")  # 184 MB
    documents = "('some few words, some more words and no others\\n' * 20_000 for _ in range(50))"
    streamed = run_measured(f"merges = train_bpe_from_iterator({documents}, 1000, num_threads=2)[1]")
    assert small[0] == large[0] == streamed[0]
    assert large[1] <= small[1] + 6 and large[1] < 48 and streamed[1] < 64


@pytest.mark.parametrize("kind", ["protein", "one letter", "two letters"])
def test_a_word_of_ten_megabytes(tmp_path, kind):
    """Some 15 bytes for each byte of it; lists of places that doubled, or a stack that grew, would need more."""
    path = tmp_path / "word.txt"
    code = {
        "protein": "random.Random(0).choices(b'ACDEFGHIKLMNPQRSTVWY', k=10_000_000)",
        "one letter": "b'a' * 10_000_000",
        "two letters": "b'ab' * 5_000_000",
    }[kind]
    write = f"import pathlib, random; pathlib.Path({str(path)!r}).write_bytes(bytes({code}))"
    subprocess.run([sys.executable, "-c", write], check=True)
    num_merges, peak_mib = run_measured(f"merges = train_bpe({str(path)!r}, 556, num_threads=2)[1]")
    assert num_merges == {"protein": 300, "one letter": 30, "two letters": 30}[kind]
    assert peak_mib < 400
