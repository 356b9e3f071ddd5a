"""Counting and training in the native core: equal to the reference, whatever the cuts and the threads."""

import contextlib
import os
import random
import signal
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizer.strategies import SPECIAL_TOKENS, examples, small_texts, special_tokens, texts_with_special

from groundup._native import WordCounter
from groundup.tokenizer.byte_characters import to_bytes
from groundup.tokenizer.reference import count_words, learn_merges

PARTS = [*SPECIAL_TOKENS, *["x", "1", "'", "'l", "l", "'re", "你好", "👍🏽", "é"], " y", "\r\n", "  ", "\u3000"]


def encoded(tokens):
    return [token.encode() for token in tokens]


def counted(text: str, special=(), **options) -> WordCounter:
    counter = WordCounter(encoded(special))
    counter.add_text(text.encode(), **options)
    return counter


def train(words: dict[bytes, int], num_merges: int):
    counter = WordCounter([])
    counter.add_words(list(words), list(words.values()))
    return counter.train(num_merges)


# ---- Counting ----


@examples(100)
@given(texts_with_special(), special_tokens, st.integers(1, 64), st.integers(1, 4))
def test_counts_are_those_of_the_reference(text, special, chunk_bytes, num_threads):
    counter = counted(text, special, chunk_bytes=chunk_bytes, num_threads=num_threads)
    assert dict(counter.words()) == count_words(text, special)


# With white space inside, at a change of classes, of several bytes a character, one inside another; none at all.
DELIMITERS = [["<|endoftext|>"], ["<a>", "<a><a>"], ["x y", "y x y"], ["é\n"], ["a1", "1a1"], []]


@pytest.mark.parametrize("special", DELIMITERS)
@pytest.mark.parametrize("num_threads", [1, 3])
def test_no_cut_changes_the_counts(special, num_threads, tmp_path):
    rng = random.Random(str(special))
    parts = [*PARTS, *special * 3]
    text = "".join(rng.choice(parts) for _ in range(300))
    expected = count_words(text, special)
    path = tmp_path / "text.txt"
    path.write_bytes(text.encode())
    for chunk_bytes in range(1, 65):
        assert dict(counted(text, special, chunk_bytes=chunk_bytes, num_threads=num_threads).words()) == expected
        counter = WordCounter(encoded(special))
        counter.add_file(path, num_threads, chunk_bytes=chunk_bytes)
        assert dict(counter.words()) == expected


def test_a_character_is_never_cut():
    text = "é你👍" * 40 + " é你👍"
    for chunk_bytes in range(1, 65):
        assert dict(counted(text, chunk_bytes=chunk_bytes).words()) == count_words(text)


def test_the_number_of_threads_changes_nothing(shared):
    text = (shared / "data/shakespeare/input.txt").read_bytes()[:300_000]
    results = []
    for num_threads in range(1, 17):
        counter = WordCounter([b"the"])
        counter.add_text(text, num_threads, chunk_bytes=1000)
        results.append((counter.words(), counter.train(60)))
    assert all(result == results[0] for result in results)


def test_neither_order_nor_cuts_nor_threads_change_the_merges(shared, tmp_path):
    text = (shared / "data/shakespeare/input.txt").read_text(encoding="utf-8")[:200_000]
    documents = text.split("\n\n")
    path = tmp_path / "text.txt"
    rng = random.Random(4)
    expected = counted("<|endoftext|>".join(documents), ["<|endoftext|>"]).train(200)
    for repeat in range(50):
        rng.shuffle(documents)
        counter = WordCounter([b"<|endoftext|>"])
        half = "<|endoftext|>".join(documents[: rng.randrange(len(documents))])
        path.write_bytes(half.encode())
        counter.add_file(path, 1 + repeat % 16, chunk_bytes=rng.randint(1, 20_000))
        rest = documents[half.count("<|endoftext|>") + 1 :] if half else documents
        counter.add_text("<|endoftext|>".join(rest).encode(), rng.randint(1, 16), chunk_bytes=rng.randint(1, 20_000))
        assert counter.train(200) == expected, repeat


@pytest.mark.parametrize(
    "content", ["", " \n\t \n", "no final newline", "a\r\nb\r\n\r\nc", "\ufeffwith a mark", "\n\nx\n", "x<|endoftext|>"]
)
def test_files_of_every_form(content, tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(content.encode())
    counter = WordCounter([b"<|endoftext|>"])
    counter.add_file(path)
    assert dict(counter.words()) == count_words(content, ["<|endoftext|>"])
    assert counter.num_bytes == len(content.replace("<|endoftext|>", "").encode())
    assert counter.num_words == len(counter.words())


def test_words_come_in_a_fixed_order():
    assert counted("b a c c").words() == [(b" c", 2), (b" a", 1), (b"b", 1)]


def test_counts_of_several_texts_add_up():
    counter = counted("a b " * 2000)
    counter.add_text(b"a b")
    counter.add_words([b" b", b""], [2**40, 5])
    assert dict(counter.words()) == {b"a": 2, b" a": 1999, b" b": 2001 + 2**40, b" ": 1}


@pytest.mark.parametrize("chunk_bytes", [0, 1, 100])
@pytest.mark.parametrize("num_threads", [1, 4])
@pytest.mark.parametrize("size", [0, 7, 5000, 9999])
def test_of_a_text_that_is_not_utf8_nothing_is_kept(chunk_bytes, num_threads, size, tmp_path):
    text = (b"some words \xc3\xa9 " * 1000)[:size] + b" \xff " + b"more \xfe text " * 900
    path = tmp_path / "text.txt"
    path.write_bytes(text)
    counter = counted("kept")
    for add, source in ((counter.add_text, text), (counter.add_file, path)):
        with pytest.raises(ValueError, match=rf"not UTF-8: byte 0xff at byte offset {size + 1}$"):
            add(source, num_threads, chunk_bytes=chunk_bytes)
    assert counter.words() == [(b"kept", 1)]


def test_text_that_is_nothing_but_broken_is_found_at_once(tmp_path):
    path = tmp_path / "noise.bin"
    path.write_bytes(b"ab" + b"\xbf" * 3_000_000)
    with pytest.raises(ValueError, match=rf"'{path}' is not UTF-8: byte 0xbf at byte offset 2$"):
        WordCounter([]).add_file(path, chunk_bytes=64)


def test_a_character_cut_short_by_the_end_is_an_error(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("abc é".encode()[:-1])
    with pytest.raises(ValueError, match=r"byte offset 4$"):
        WordCounter([]).add_file(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        WordCounter([]).add_file(tmp_path / "missing.txt")
    with pytest.raises(IsADirectoryError):
        WordCounter([]).add_file(tmp_path)


def test_an_empty_special_token_is_an_error():
    with pytest.raises(ValueError, match="special token is empty"):
        WordCounter([b"a", b""])


def test_progress_ends_with_all_bytes_and_may_stop_the_work(tmp_path):
    path = tmp_path / "texté.txt"
    path.write_bytes(b"word " * 10_000)
    seen = []
    counter = WordCounter([])
    counter.add_file(path, 2, seen.append, chunk_bytes=1000)
    assert seen == sorted(seen) and seen[-1] == 50_000

    def stop(done):
        raise KeyboardInterrupt

    other = WordCounter([])
    with pytest.raises(KeyboardInterrupt):
        other.add_file(path, 2, stop, chunk_bytes=1000)
    with pytest.raises(KeyboardInterrupt):
        counter.train(100, stop)
    # Nothing, or all of it, where the work was done before it could be stopped.
    assert other.num_words in (0, counter.num_words)


def test_a_signal_stops_the_work():
    class Stopped(Exception):
        pass

    def handler(number, frame):
        raise Stopped

    previous = signal.signal(signal.SIGUSR1, handler)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1))
    counter = WordCounter([])
    try:
        with pytest.raises(Stopped):
            timer.start()
            for _ in range(1000):
                counter.add_text(b"some words " * 3_000_000)
    finally:
        timer.cancel()
        with contextlib.suppress(Stopped):
            timer.join()
        signal.signal(signal.SIGUSR1, previous)


@pytest.mark.parametrize("word", ["ab" * 400_000, "".join(random.Random(1).choices("abcdefgh", k=800_000))])
def test_a_signal_stops_a_merge_before_its_end(word):
    """The handler runs in the midst of the first merges; what raises there is the last thing that happens."""
    counter = counted(word)
    calls = []

    def send(done):
        calls.append(done)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        counter.train(500, send)
    assert len(calls) == 1 and calls[0] < 64
    assert len(counter.train(20)) == 20  # the counts are as they were


# ---- Training ----

words_with_counts = st.dictionaries(
    st.one_of(
        small_texts.map(str.encode),
        st.binary(max_size=12),
        st.text("ab", max_size=30).map(str.encode),
        st.lists(st.sampled_from([b"\x00", b"\x7f", b"\x80", b"\xff", b"a"]), max_size=9).map(b"".join),
    ),
    st.integers(1, 3),
    max_size=30,
)


@examples(100)
@given(words_with_counts, st.integers(0, 200))
def test_merges_are_those_of_the_reference(words, num_merges):
    assert train(words, num_merges) == learn_merges(words, num_merges)


def test_overlapping_pairs():
    for word in [*(b"a" * n for n in range(1, 40)), b"ababab", b"abababa", b"aabaab" * 5, b"abcabcab" * 9]:
        assert train({word: 1}, 50) == learn_merges({word: 1}, 50)


def test_tokens_with_zero_bytes_are_compared_whole():
    words = {b"\x00\x00x": 1, b"\x00y": 1, b"ab\x00" * 4: 1, b"ab" * 4: 1, b"ab\x00c" * 9: 2}
    assert train(words, 100) == learn_merges(words, 100)


def test_counts_are_64_bits():
    assert train({b"ab": 2**33, b"cd": 2**32 + 5, b"ef": 2**34}, 3) == [(b"e", b"f"), (b"a", b"b"), (b"c", b"d")]


def test_one_long_word_is_no_trouble():
    rng = random.Random(0)
    protein = "".join(rng.choice("ACDEFGHIKLMNPQRSTVWY") for _ in range(10_000))
    assert counted(protein).train(30) == learn_merges({protein.encode(): 1}, 30)
    assert len(counted(protein * 100).train(300)) == 300


def test_training_ends_when_no_pair_is_left():
    assert counted("aaaa").train(10**6) == [(b"a", b"a"), (b"aa", b"aa")]
    assert counted("").train(5) == [] and counted("ab").train(0) == []


def test_words_counted_zero_times_do_not_exist():
    assert train({b"ab": 0, b"cd": 1}, 5) == [(b"c", b"d")]


def test_merges_of_corpus_en_are_those_of_the_course(shared):
    lines = (shared / "data/cs336/train-bpe-reference-merges.txt").read_text(encoding="utf-8").splitlines()
    expected = [tuple(map(to_bytes, line.split(" "))) for line in lines]
    counter = WordCounter([b"<|endoftext|>"])
    counter.add_file(shared / "data/cs336/corpus.en")
    assert counter.train(500 - 257) == expected


def test_as_many_counts_as_words_are_needed():
    with pytest.raises(ValueError, match="as many counts as words"):
        WordCounter([]).add_words([b"a"], [1, 2])
