"""Whether the merges that a trainer learned are right, as benchmarks/tokenizer.py decides it."""

import sys
from itertools import pairwise
from pathlib import Path

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks" / "workers"))

from bench.merges import check, count_words, replay
from tokenizer_rustbpe import recover_merges

from groundup.tokenizer.bpe import train_bpe_from_iterator
from groundup.tokenizer.reference import train_bpe_reference

STORY = "the cat sat on the mat, the hat of the cat. aaaa aaaaa abababa   \n\n\n" * 3


def test_our_merges_are_right_whatever_their_size(tmp_path):
    (tmp_path / "corpus").write_text(STORY + "<|endoftext|>" + STORY, encoding="utf-8")
    words = count_words([tmp_path / "corpus"], by_lines=False)
    _, merges = train_bpe_from_iterator([STORY, STORY], 276)
    assert check(words, merges, 20)[1] is None
    assert check(words, merges[:-1], 20)[1] == "wrong merges: 19, not 20"
    assert check(words, merges, 19)[1] == "wrong merges: 20, not 19"
    assert check(words, merges[:3] + merges[4:], 19)[1].startswith("wrong merges: number 3, ")
    assert check(words, [*merges[:3], merges[1], *merges[4:]], 20)[1].startswith("wrong merges: number 3, ")


def test_there_may_be_nothing_left_to_merge():
    words = {b"ab": 2}
    assert check(words, [(b"a", b"b")], 5)[1] is None
    assert check(words, [], 5)[1] == "wrong merges: 0, not 5"
    assert check(words, [(b"a", b"b"), (b"a", b"b")], 5)[1].startswith("wrong merges: number 1, ")


def test_replayed_counts_are_those_of_the_naive_algorithm():
    words = {b"aab": 3, b"aaaa": 2, b"abab": 1, b"b": 9}
    merges = [(b"a", b"a"), (b"aa", b"b"), (b"a", b"b")]

    def naive(words: list[tuple[list[bytes], int]]) -> dict:
        counts: dict = {}
        for word, amount in words:
            for pair in pairwise(word):
                counts[pair] = counts.get(pair, 0) + amount
        return counts

    state = [([bytes([byte]) for byte in word], amount) for word, amount in words.items()]
    expected = []
    for left, right in merges:
        counts = naive(state)
        expected.append((counts.get((left, right), 0), max(counts.values())))
        for word, _ in state:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == (left, right):
                    word[place : place + 2] = [left + right]
                place += 1
    assert list(replay(words, merges)) == expected


def test_another_choice_among_equals_is_right_too():
    words = {b"ab": 2, b"cd": 2}
    for merges in ([(b"a", b"b"), (b"c", b"d")], [(b"c", b"d"), (b"a", b"b")]):
        assert check(words, merges, 2)[1] is None


def test_the_reference_learns_right_merges(tmp_path):
    (tmp_path / "corpus").write_text(STORY, encoding="utf-8")
    _, merges = train_bpe_reference(STORY, 290)
    assert check(count_words([tmp_path / "corpus"], by_lines=False), merges, 34)[1] is None


def test_words_are_counted_in_documents_or_in_lines(tmp_path):
    (tmp_path / "corpus").write_bytes(b"a\n\n\nb<|endoftext|>a\r\n")
    assert count_words([tmp_path / "corpus"], by_lines=False) == {b"a": 2, b"\n\n": 1, b"\n": 1, b"b": 1, b"\r\n": 1}
    lines = count_words([tmp_path / "corpus"], by_lines=True)
    assert lines[b"\n"] == 3 and lines[b"endoftext"] == 1 and b"\n\n" not in lines


def test_the_pairs_behind_tokens_are_found():
    _, merges = train_bpe_from_iterator([STORY], 300)
    tokens = [bytes([byte]) for byte in range(256)] + [left + right for left, right in merges]
    assert list(recover_merges(tokens)) == merges
