"""Learning a BPE vocabulary: text -> counted pre-tokens -> merges -> vocabulary.

Plain text files under the patterns that the native core has (`patterns.py`) are read, cut and counted by it.
What is compressed, JSON or Parquet comes through `corpus`, a pattern of your own runs on `regex`; both are
counted from here, piece by piece. The merges are always learned in the core. `reference.py` has the algorithm to read.
"""

import logging
import operator
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import SupportsIndex

from groundup import _native
from groundup.corpus import Source, expand_paths, has_fields, is_plain_text, iter_documents
from groundup.corpus.reading import iter_bytes, iter_text, open_source
from groundup.errors import DataError, TokenizerError
from groundup.files import StrPath
from groundup.tokenizer.learning import Learning
from groundup.tokenizer.patterns import GPT2_PATTERN, pre_tokenizer, scanner_name
from groundup.tokenizer.pieces import iter_separable
from groundup.tokenizer.special import SegmentStream, SpecialSplitter, check_special_tokens
from groundup.tokenizer.surrogates import surrogate_error
from groundup.tokenizer.vocabulary import Merge

logger = logging.getLogger(__name__)

# Called with "count" and bytes of text, or "merge" and merges: how many are done and, if known, to be done.
Progress = Callable[[str, int, int | None], None]

_PIECE_CHARS = 1 << 20
_LARGEST_COUNT = (1 << 64) - 1


def train_bpe(
    paths: StrPath | Sequence[StrPath],
    vocab_size: int,
    special_tokens: Sequence[str] = (),
    *,
    merges: Sequence[Merge] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    pattern: str = GPT2_PATTERN,
    text_field: str = "text",
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[int, bytes], list[Merge]]:
    """The vocabulary and the merges, in order of creation, that byte-level BPE learns from files.

    Ids: the special tokens in the order given, the 256 bytes, the merges. Learning ends at `vocab_size`, or
    earlier when no pair of tokens is left. The text is split at special tokens, literal and longest first,
    and at ends of files and of documents in JSON lines and Parquet; then cut into pre-tokens; the most
    frequent pair of neighbours merges, of several the greatest as Python compares tuples of bytes.
    The result depends on neither threads, chunks, nor the order and the form of the files (text, .jsonl,
    .parquet, each plain or in .gz or .zst). Memory grows with the distinct pre-tokens, not with the text.

    Learning goes on from `merges`, with the result of one go where they come from the same text. A pair that
    occurs less often than `min_frequency`, or makes a token of more than `max_token_length` bytes, is never
    merged.

    Source: Sennrich, Haddow, Birch, Neural Machine Translation of Rare Words with Subword Units (2016),
    arXiv:1508.07909; on bytes: Radford et al., Language Models are Unsupervised Multitask Learners (2019).
    Raises TokenizerError for a vocab_size, special tokens or merges that cannot be, DataError for files
    that cannot be read or are not UTF-8 (with the byte offset).
    """
    how = Learning(merges, min_frequency, max_token_length)
    trainer = BpeTrainer(special_tokens, pattern=pattern, num_threads=num_threads, progress=progress)
    how.num_merges(vocab_size, trainer.special_tokens)
    sources = expand_paths(paths)
    sizes = [Path(source).stat().st_size if is_plain_text(source) else None for source in sources]
    trainer.total_bytes = None if None in sizes else sum(size or 0 for size in sizes)
    for source in sources:
        trainer.add_file(source, text_field=text_field)
    return trainer.learn(vocab_size, how)


def train_bpe_from_iterator(
    documents: Iterable[str],
    vocab_size: int,
    special_tokens: Sequence[str] = (),
    *,
    merges: Sequence[Merge] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    pattern: str = GPT2_PATTERN,
    num_threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[int, bytes], list[Merge]]:
    """The same from documents in memory, or made one by one; nothing merges from one into the next.

    >>> vocab, merges = train_bpe_from_iterator(["the cat ate the hat"], 260, ["<|endoftext|>"])
    >>> merges
    [(b'a', b't'), (b't', b'h'), (b'th', b'e')]
    >>> vocab[0], vocab[1 + ord("a")], vocab[257]
    (b'<|endoftext|>', b'a', b'at')
    """
    how = Learning(merges, min_frequency, max_token_length)
    trainer = BpeTrainer(special_tokens, pattern=pattern, num_threads=num_threads, progress=progress)
    how.num_merges(vocab_size, trainer.special_tokens)
    trainer.add_documents(documents)
    return trainer.learn(vocab_size, how)


def train_bpe_from_counts(
    counts: Mapping[str, int] | Mapping[bytes, int],
    vocab_size: int,
    special_tokens: Sequence[str] = (),
    *,
    merges: Sequence[Merge] = (),
    min_frequency: int = 1,
    max_token_length: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[int, bytes], list[Merge]]:
    """The same from words that are pre-tokens already, with the number of times that each occurs.

    >>> train_bpe_from_counts({"low": 5, "lower": 2, "widest": 3, "newest": 6}, 256 + 3)[1]
    [(b's', b't'), (b'e', b'st'), (b'o', b'w')]
    """
    how = Learning(merges, min_frequency, max_token_length)
    trainer = BpeTrainer(special_tokens, progress=progress)
    how.num_merges(vocab_size, trainer.special_tokens)
    trainer.add_counts(counts)
    return trainer.learn(vocab_size, how)


class BpeTrainer:
    """Counts pre-tokens from as many sources as you like; then learns vocabularies, of several sizes if asked.

    After an error while counting, the counts hold a part of that source: begin anew.
    """

    def __init__(
        self,
        special_tokens: Sequence[str] = (),
        *,
        pattern: str = GPT2_PATTERN,
        num_threads: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        if num_threads is not None and num_threads < 1:
            raise TokenizerError(f"num_threads is {num_threads}; it must be at least 1, or None for all processors")
        self.special_tokens = check_special_tokens(special_tokens)
        self.total_bytes: int | None = None  # to be counted, as far as is known; for the progress
        scanner = scanner_name(pattern)
        self._scanner = scanner or "gpt2"  # without a scanner the core gets nothing but pre-tokens
        self._counter = _native.WordCounter([token.encode() for token in self.special_tokens], pattern=self._scanner)
        self._cut = None if scanner else pre_tokenizer(pattern)
        self._splitter = SpecialSplitter(self.special_tokens if self._cut else [])
        self._num_threads = num_threads or _native.default_num_threads()
        self._progress = progress or (lambda stage, done, total: None)
        self._bytes_done = 0

    def word_counts(self) -> dict[bytes, int]:
        """How often each pre-token was counted so far, the most frequent first; of equals the one that sorts first.

        >>> trainer = BpeTrainer()
        >>> trainer.add_documents(["to be or not to be"])
        >>> trainer.word_counts()
        {b' be': 2, b' not': 1, b' or': 1, b' to': 1, b'to': 1}
        """
        return dict(self._counter.words())

    def add_file(self, source: Source, *, text_field: str = "text") -> None:
        """Count the text of a file, or of each document in it. Raises DataError."""
        if has_fields(source):
            self.add_documents(iter_documents(source, text_field=text_field))
        elif self._cut is None and is_plain_text(source):
            self._add_plain_file(str(source))
        else:
            with open_source(source) as file:
                texts = iter_text(iter_bytes(file, source, _PIECE_CHARS), source)
                if self._cut is None:
                    self.add_documents(iter_separable(texts, self.special_tokens, scanner=self._scanner))
                else:
                    self.add_documents(self._segments(texts))

    def add_documents(self, documents: Iterable[str]) -> None:
        """Count texts, each on its own."""
        waiting: deque[Future[int]] = deque()
        with ThreadPoolExecutor(self._num_threads) as pool:
            try:
                for batch in _batches(documents):
                    waiting.append(pool.submit(self._count, batch))
                    if len(waiting) > self._num_threads:  # what is read and not counted yet stays small
                        self._report(waiting.popleft().result())
                while waiting:
                    self._report(waiting.popleft().result())
            except BaseException:  # Ctrl-C too: what has not begun is not waited for
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def add_counts(self, counts: Mapping[str, int] | Mapping[bytes, int]) -> None:
        """Count words that are pre-tokens already, so many times each. Raises TokenizerError.

        The counts of all words, each times its bytes, must fit 64 bits together.
        """
        words = list(_iter_counted(counts))
        total = self._counter.num_bytes + sum(len(word) * count for word, count in words)
        if total > _LARGEST_COUNT:
            raise TokenizerError(f"the words have {total} bytes in all, and counts have 64 bits: divide the counts")
        self._counter.add_words([word for word, _ in words], [count for _, count in words])

    def train(
        self,
        vocab_size: int,
        *,
        merges: Sequence[Merge] = (),
        min_frequency: int = 1,
        max_token_length: int | None = None,
    ) -> tuple[dict[int, bytes], list[Merge]]:
        """The vocabulary and the merges for all that was counted, as `train_bpe` gives them."""
        return self.learn(vocab_size, Learning(merges, min_frequency, max_token_length))

    def learn(self, vocab_size: int, how: Learning) -> tuple[dict[int, bytes], list[Merge]]:
        """The same, with options that are checked already."""
        num_merges = how.num_merges(vocab_size, self.special_tokens)
        logger.info("counted %d distinct pre-tokens", self._counter.num_words)
        try:
            merges = self._counter.train(
                num_merges,
                lambda done: self._progress("merge", done, num_merges),
                known_merges=how.merges,
                min_frequency=min(how.min_frequency, _LARGEST_COUNT),
                max_token_bytes=None if how.max_token_length is None else min(how.max_token_length, _LARGEST_COUNT),
            )
        except ValueError as error:
            raise TokenizerError(str(error)) from error
        tokens = [token.encode() for token in self.special_tokens]
        tokens += [bytes([byte]) for byte in range(256)]
        tokens += [left + right for left, right in merges]
        return dict(enumerate(tokens)), merges

    def _add_plain_file(self, path: str) -> None:
        before = self._bytes_done

        def report(done: int) -> None:
            self._report(before + done - self._bytes_done)

        try:
            self._counter.add_file(path, self._num_threads, report)
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise DataError(f"{error}; convert the file to UTF-8") from error

    def _count(self, texts: Iterable[str]) -> int:
        """Count texts in the calling thread; how many bytes they had. The core's counter may be shared."""
        num_bytes = 0
        words: Counter[str] = Counter()
        for text in texts:
            try:
                encoded = text.encode()
            except UnicodeEncodeError as error:
                raise surrogate_error(error) from error
            num_bytes += len(encoded)
            if self._cut is None:
                self._counter.add_text(encoded, 1)
                continue
            for segment, is_special in self._splitter.split(text):
                if not is_special:
                    words.update(self._cut(segment))
        self._counter.add_words([word.encode() for word in words], list(words.values()))
        return num_bytes

    def _report(self, num_bytes: int) -> None:
        self._bytes_done += num_bytes
        self._progress("count", self._bytes_done, self.total_bytes)

    def _segments(self, texts: Iterable[str]) -> Iterator[str]:
        """What stands between special tokens; for patterns of your own, which may look ahead without limit."""
        stream = SegmentStream(self._splitter)
        for text in texts:
            yield from (segment for segment, is_special in stream.push(text) if not is_special)
        yield from (segment for segment, is_special in stream.finish() if not is_special)


def _iter_counted(counts: Mapping[str, int] | Mapping[bytes, int]) -> Iterator[tuple[bytes, int]]:
    """The words as bytes, with their counts. Raises TokenizerError for what is neither."""
    for word, count in counts.items():
        if not isinstance(word, str | bytes) or not isinstance(count, SupportsIndex):
            raise TokenizerError(f"the count of {word!r} is {count!r}; a word is str or bytes, a count an int")
        if operator.index(count) < 0:
            raise TokenizerError(f"the count of {word!r} is {count}; it must be at least 0")
        try:
            yield word if isinstance(word, bytes) else word.encode(), operator.index(count)
        except UnicodeEncodeError as error:
            raise surrogate_error(error) from error


def _batches(texts: Iterable[str]) -> Iterator[list[str]]:
    """Texts in lists that hold about a million characters, enough work for a thread."""
    batch: list[str] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += len(text)
        if size >= _PIECE_CHARS:
            yield batch
            batch, size = [], 0
    yield batch
