"""Targets: counting and training, in the core and from files, by any chunks and threads."""

import gzip
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fuzz.encoding import use_instructions
from fuzz.inputs import random_bytes, random_special, random_text
from fuzz.outcome import Target, expect_equal, outcome
from groundup import _native
from groundup.tokenizer.bpe import train_bpe, train_bpe_from_iterator
from groundup.tokenizer.reference import count_words, learn_merges, train_bpe_reference


@dataclass(frozen=True)
class Counting:
    text: bytes  # perhaps not UTF-8
    special: list[str]
    num_threads: int
    chunk_bytes: int
    num_merges: int
    instructions: int


def make_counting(rng: random.Random) -> Counting:
    text = random_text(rng, rng.choice([60, 400, 2500, 9000])).encode()
    if rng.random() < 0.15:
        place = rng.randrange(len(text) + 1)
        text = text[:place] + random_bytes(rng, 4) + text[place + rng.randrange(3) :]
    chunk_bytes = rng.choice([0, 1, 2, 3, rng.randrange(1, 70), rng.randrange(1, 5000)])
    special = random_special(rng)
    return Counting(text, special, rng.randrange(1, 6), chunk_bytes, rng.randrange(60), rng.randrange(3))


def check_counting(case: Counting) -> None:
    """Counts and merges are the reference's, from memory and a file; what is not UTF-8 is named by its place."""
    use_instructions(case.instructions)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "text.txt"
        path.write_bytes(case.text)
        for add, source, name in (("add_text", case.text, "the text"), ("add_file", path, f"'{path}'")):
            counter = _native.WordCounter([token.encode() for token in case.special])
            added = outcome(
                lambda add=add, counter=counter, source=source: getattr(counter, add)(
                    source, case.num_threads, chunk_bytes=case.chunk_bytes
                ),
                ValueError,
            )
            try:
                text = case.text.decode()
            except UnicodeDecodeError as error:
                place = f"byte 0x{case.text[error.start]:02x} at byte offset {error.start}"
                expect_equal(added, ("error", f"{name} is not UTF-8: {place}"), "error")
                expect_equal(counter.words(), [], "words of text that failed")
                continue
            expected = count_words(text, case.special)
            expect_equal(dict(counter.words()), dict(expected), "counts")
            if len(text) <= 2500:
                expect_equal(counter.train(case.num_merges), learn_merges(expected, case.num_merges), "merges")


@dataclass(frozen=True)
class Words:
    words: dict[bytes, int]
    num_merges: int


def make_words(rng: random.Random) -> Words:
    count = rng.choice([1, 3, 3, rng.randrange(1, 1000), 2**40])
    words: dict[bytes, int] = {}
    for _ in range(rng.randrange(1, 40)):
        unit = random_bytes(rng, 6)
        words[unit * rng.choice([1, 1, 2, rng.randrange(1, 30)])] = rng.randrange(count + 1)
    return Words(words, rng.randrange(250))


def check_words(case: Words) -> None:
    """Merges of words of any bytes are the reference's."""
    counter = _native.WordCounter([])
    counter.add_words(list(case.words), list(case.words.values()))
    counted = {word: count for word, count in case.words.items() if count}
    expect_equal(counter.train(case.num_merges), learn_merges(counted, case.num_merges), "merges")


@dataclass(frozen=True)
class Corpus:
    documents: list[str]
    content: bytes
    name: str
    vocab_size: int
    special: list[str]
    num_threads: int


def make_corpus(rng: random.Random) -> Corpus:
    documents = [random_text(rng, 100) for _ in range(rng.randrange(5))]
    content = "".join(documents).encode()
    name = rng.choice(["text.txt", "text.txt", "text.gz", "text.jsonl", "text.zst", "text.parquet"])
    if name == "text.gz":
        content = gzip.compress(content, mtime=0)
    elif name == "text.jsonl":
        content = b"".join(b'{"text": "%d"}\n' % rng.randrange(10**6) for _ in documents)
    if rng.random() < 0.4:
        place = rng.randrange(len(content) + 1)
        content = content[:place] + random_bytes(rng, 6) + content[place + rng.randrange(9) :]
    special = random_special(rng) if rng.random() < 0.9 else rng.choice([[""], ["x", "x"], ["\ud800"]])
    return Corpus(documents, content, name, rng.choice([0, 256, 258, 270, 300]), special, rng.randrange(5))


def check_corpus(case: Corpus) -> None:
    """train_bpe of whatever a file holds, and of documents: the reference's vocabulary, or an error."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / case.name
        path.write_bytes(case.content)
        threads = case.num_threads
        made = outcome(lambda: train_bpe(path, case.vocab_size, case.special, num_threads=threads))
    if made[0] == "result" and case.name == "text.txt":
        expected = train_bpe_reference(case.content.decode(), case.vocab_size, case.special)
        expect_equal(list(made[1]), list(expected), "vocabulary and merges")
    documents = [*case.documents, "\ud800"] if case.num_threads == 4 else case.documents
    made = outcome(lambda: train_bpe_from_iterator(documents, case.vocab_size, case.special, num_threads=threads))
    if made[0] == "result":
        words = sum((count_words(document, case.special) for document in documents), start=count_words(""))
        num_merges = case.vocab_size - 256 - len(case.special)
        expect_equal(made[1][1], learn_merges(words, num_merges), "merges")


TARGETS = [
    Target("counting", make_counting, check_counting),
    Target("words", make_words, check_words),
    Target("corpus", make_corpus, check_corpus),
]
