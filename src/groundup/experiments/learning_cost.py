"""What learning a vocabulary costs: time by stage and peak memory, each time in a process of its own.

A process of its own because memory that was freed stays with a process, and a second run would begin with it.
"""

import multiprocessing
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from groundup.corpus import END_OF_TEXT, expand_paths
from groundup.corpus.reading import iter_bytes, open_source
from groundup.environment import peak_memory_bytes
from groundup.tokenizer.reference import count_words, learn_merges
from groundup.tokenizer.train import BpeTrainer

FIRST_MERGES = 1024
_READ_BYTES = 1 << 20


@dataclass(frozen=True)
class LearningCost:
    """One run. `read_s` is a pass that only reads and unpacks; `count_s` holds the reading that counting needs.

    A word is a pre-token. `tokens` are the entries in the order of their ids; `times` says how often each of them is
    a whole word.
    """

    text_bytes: int
    num_words: int
    distinct_words: int
    read_s: float
    count_s: float
    first_merges_s: float
    merge_s: float
    memory_before_bytes: int
    peak_memory_bytes: int
    tokens: tuple[bytes, ...]
    times: Mapping[bytes, int]

    @property
    def total_s(self) -> float:
        return self.count_s + self.merge_s


def learning_cost(path: str, vocab_size: int) -> LearningCost:
    """Learn `vocab_size` entries, the end of a text among them, from the files at `path`, in a new process."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(_learn, path, vocab_size).result()


def _learn(path: str, vocab_size: int) -> LearningCost:
    before_bytes = peak_memory_bytes()
    sources = expand_paths(path)
    start = time.perf_counter()
    text_bytes = 0
    for source in sources:
        with open_source(source) as file:
            text_bytes += sum(map(len, iter_bytes(file, source, _READ_BYTES)))
    read = time.perf_counter()
    merged_at: dict[int, float] = {}

    def note(stage: str, done: int, total: int | None) -> None:
        if stage == "merge":
            merged_at.setdefault(done, time.perf_counter())

    trainer = BpeTrainer([END_OF_TEXT], progress=note)
    for source in sources:
        trainer.add_file(source)
    counted = time.perf_counter()
    vocab, _ = trainer.train(vocab_size)
    end = time.perf_counter()
    peak_bytes = peak_memory_bytes()
    counts = trainer.word_counts()
    return LearningCost(
        text_bytes=text_bytes,
        num_words=sum(counts.values()),
        distinct_words=len(counts),
        read_s=read - start,
        count_s=counted - read,
        first_merges_s=merged_at.get(FIRST_MERGES, end) - counted,
        merge_s=end - counted,
        memory_before_bytes=before_bytes,
        peak_memory_bytes=peak_bytes,
        tokens=tuple(vocab.values()),
        times={token: counts.get(token, 0) for token in vocab.values()},
    )


def readable_cost(path: str, *, num_bytes: int, num_merges: int) -> tuple[float, float]:
    """Seconds that `tokenizer/reference.py` spends on counting and on merging the first `num_bytes` of a text."""
    source = expand_paths(path)[0]
    with open_source(source) as file:
        text = next(iter_bytes(file, source, max(num_bytes, _READ_BYTES)))[:num_bytes].decode(errors="ignore")
    start = time.perf_counter()
    words = count_words(text, [END_OF_TEXT])
    counted = time.perf_counter()
    learn_merges(words, num_merges)
    return counted - start, time.perf_counter() - counted
