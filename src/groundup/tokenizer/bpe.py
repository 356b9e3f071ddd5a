"""The tokenizer: text to ids and back, by byte-level BPE. The front door of this room.

Checks, choices and errors are here; the work is done by the native core (`native/`), and `reference.py`
has the same algorithm to read. Learning a vocabulary is in `train.py`, files are in `formats.py`.
Importing this module loads neither numpy nor regex; they come with the calls that need them.
"""

import itertools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, SupportsIndex

from groundup import _native
from groundup.corpus import END_OF_TEXT
from groundup.errors import TokenizerError
from groundup.files import StrPath, open_atomic
from groundup.tokenizer.formats import (
    TOKENIZER_FILE,
    read_gpt2,
    read_huggingface,
    read_tiktoken,
    write_gpt2,
    write_huggingface,
    write_tiktoken,
)
from groundup.tokenizer.normalization import NormalizingStream, is_nfc, to_nfc
from groundup.tokenizer.patterns import GPT2_PATTERN, pre_tokenizer, scanner_name
from groundup.tokenizer.special import SpecialSplitter
from groundup.tokenizer.streaming import PatternStream, SpecialGuard, StreamingDecoder
from groundup.tokenizer.surrogates import replace_surrogates, surrogate_error
from groundup.tokenizer.train import BpeTrainer, train_bpe, train_bpe_from_counts, train_bpe_from_iterator
from groundup.tokenizer.vocabulary import Merge, Normalization, Vocabulary, make_vocabulary

if TYPE_CHECKING:
    import numpy

__all__ = [
    "GPT2_PATTERN",
    "BpeTrainer",
    "Special",
    "Tokenizer",
    "train_bpe",
    "train_bpe_from_counts",
    "train_bpe_from_iterator",
]

Text = str | bytes  # bytes are UTF-8

# What the spelling of a special token in a text is: the token, ordinary text, or an error.
Special = Literal["token", "text", "error"]

_STEP_CHARS = 1 << 16  # of a long text in a stream, so that its ids are not all in memory at once


class Tokenizer:
    """A vocabulary that turns text into ids and ids into text. It never changes; threads may share it.

    >>> vocab = dict(enumerate([b" ", b"a", b"c", b"e", b"h", b"t", b"th", b" c", b" a", b"the", b" at"]))
    >>> merges = [(b"t", b"h"), (b" ", b"c"), (b" ", b"a"), (b"th", b"e"), (b" a", b"t")]
    >>> Tokenizer(vocab, merges).encode("the cat ate")
    [9, 7, 1, 5, 10, 3]

    Encoding splits the text at special tokens (literal, longest first), cuts the rest into pre-tokens by
    `pattern`, and joins neighbours within each by the merges in their order. With GPT-2's vocabulary the
    ids are tiktoken's. Wrong input raises TokenizerError.
    """

    def __init__(
        self,
        vocab: Mapping[int, bytes],
        merges: Sequence[Merge],
        special_tokens: Sequence[str] | None = None,
        *,
        pattern: str = GPT2_PATTERN,
    ) -> None:
        """Special tokens that `vocab` lacks get the ids after its largest. The arguments are copied."""
        self._set_up(make_vocabulary(vocab, merges, special_tokens, pattern))

    @classmethod
    def from_files(
        cls,
        vocab_path: StrPath,
        merges_path: StrPath,
        special_tokens: Sequence[str] | None = None,
        *,
        pattern: str = GPT2_PATTERN,
    ) -> "Tokenizer":
        """From GPT-2's vocab.json and merges.txt, which do not say what the special tokens are."""
        return cls.from_vocabulary(read_gpt2(vocab_path, merges_path, special_tokens, pattern))

    @classmethod
    def load(cls, path: StrPath) -> "Tokenizer":
        """From a tokenizer.json of byte-level BPE, or a folder that has one.

        Its added tokens are the special tokens. Those that it would have put around every text, as Llama 3's
        <|begin_of_text|>, are not put there: add their ids where you want them.
        """
        return cls.from_vocabulary(read_huggingface(_tokenizer_file(path)))

    @classmethod
    def from_tiktoken(
        cls, path: StrPath, special_tokens: Mapping[str, int] | None = None, *, pattern: str
    ) -> "Tokenizer":
        """From a .tiktoken file, which says neither the special tokens nor the pattern (see `patterns`)."""
        return cls.from_vocabulary(read_tiktoken(path, special_tokens or {}, pattern))

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary) -> "Tokenizer":
        """From parts that are checked."""
        self = cls.__new__(cls)
        self._set_up(vocabulary)
        return self

    def _set_up(self, vocabulary: Vocabulary) -> None:
        special = vocabulary.special_tokens
        scanner = scanner_name(vocabulary.pattern)
        self._vocabulary = vocabulary
        self._encoder = _native.Encoder(
            list(vocabulary.ordinary_ids().items()),
            vocabulary.merges,
            [(token.encode(), id) for token, id in special.items()],
            ignore_merges=vocabulary.ignore_merges,
            pattern=scanner or "gpt2",  # without a scanner it gets nothing but pre-tokens
        )
        self._longest_special = max(map(len, special), default=0)
        self._cut = None if scanner else pre_tokenizer(vocabulary.pattern)
        self._normalizes = vocabulary.normalization is not None
        splits_here = self._cut is not None or self._normalizes
        self._splitters = {True: SpecialSplitter(list(special) if splits_here else []), False: SpecialSplitter([])}

    def save(self, path: StrPath) -> None:
        """Write a tokenizer.json at `path`, or in it if it is a folder; other tools read it, with the same ids."""
        write_huggingface(_tokenizer_file(path), self._vocabulary)

    def save_gpt2(self, vocab_path: StrPath, merges_path: StrPath) -> None:
        """Write GPT-2's vocab.json and merges.txt."""
        write_gpt2(vocab_path, merges_path, self._vocabulary)

    def save_tiktoken(self, path: StrPath) -> None:
        """Write a .tiktoken file, if tiktoken gives our ids; it has no place for special tokens and the pattern."""
        write_tiktoken(path, self._vocabulary)

    def encode(
        self,
        text: Text,
        *,
        special: Special = "token",
        errors: Literal["strict", "replace"] = "strict",
        num_threads: int | None = 1,
    ) -> list[int]:
        """The ids of a text, given as str or in UTF-8, which spares a long str the way there.

        `special` says what the spelling of a special token is: the token, ordinary text (for text from
        strangers), or an error. A lone surrogate is an error that names its place, or with
        `errors="replace"` counts as U+FFFD. A text of megabytes can be shared out to threads (None: all
        processors); the ids are the same.
        """
        text = self._readable(text)
        if errors == "replace" and isinstance(text, str):
            text = replace_surrogates(text)
        elif errors not in ("strict", "replace"):
            raise TokenizerError(f"errors is {errors!r}; it must be 'strict' or 'replace'")
        recognise = self._recognise(special, [text])
        try:
            if isinstance(text, bytes) or not self._goes_by_segments([text]):
                return self._encoder.encode(text, recognise, _checked_threads(num_threads))
            text.encode()  # a lone surrogate is to be named by its place in the text, not in its pre-token
            segments = self._splitters[recognise].split(text)
            return [id for segment in segments for id in self._encode_segment(*segment)]
        except ValueError as error:
            raise _explained(error, [text]) from error

    def encode_to_array(
        self, text: Text, *, special: Special = "token", num_threads: int | None = 1
    ) -> "numpy.ndarray":
        """The ids of a text, as `encode` gives them, as a 1-D array of type `dtype`."""
        text = self._readable(text)
        if self._goes_by_segments([text]):
            import numpy

            return numpy.array(self.encode(text, special=special), dtype=self.dtype)
        recognise = self._recognise(special, [text])
        to_array = self._encoder.encode_array_16 if self._is_narrow else self._encoder.encode_array
        try:
            return to_array(text, recognise, _checked_threads(num_threads))
        except ValueError as error:
            raise _explained(error, [text]) from error

    def encode_with_offsets(
        self, text: str, *, special: Special = "token", unit: Literal["character", "byte"] = "character"
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """The ids of a text, and for each where in the text it begins and ends (end exclusive).

        >>> vocab = {i: bytes([i]) for i in range(256)}
        >>> Tokenizer(vocab, []).encode_with_offsets("né")
        ([110, 195, 169], [(0, 1), (1, 2), (1, 2)])

        Counted in characters, one that several ids share belongs to each of them; in bytes of the UTF-8, the
        spans join without a gap. A tokenizer that normalizes gives spans for text in that form only.
        """
        if unit not in ("character", "byte"):
            raise TokenizerError(f"unit is {unit!r}; it must be 'character' or 'byte'")
        if self._normalizes and not is_nfc(text):
            raise TokenizerError("the text is not in NFC, to which this tokenizer brings it first: normalize it before")
        ids = self.encode(text, special=special)
        return ids, self._encoder.spans(text, ids, unit == "character")

    def count_tokens(self, text: Text, *, special: Special = "token", num_threads: int | None = 1) -> int:
        """How many ids `encode` gives.

        The ids are not kept, unless the text has to be cut or normalized in Python (a pattern of your own, NFC).
        """
        text = self._readable(text)
        if self._goes_by_segments([text]):
            return len(self.encode(text, special=special))
        recognise = self._recognise(special, [text])
        try:
            return self._encoder.count_tokens(text, recognise, _checked_threads(num_threads))
        except ValueError as error:
            raise _explained(error, [text]) from error

    def encode_batch(
        self, texts: Sequence[Text], *, special: Special = "token", num_threads: int | None = None
    ) -> list[list[int]]:
        """The ids of each text, as `encode` gives them; in several threads, by default all processors'."""
        texts = self._readable_texts(texts)
        if self._goes_by_segments(texts):
            return [self.encode(text, special=special) for text in texts]
        recognise = self._recognise(special, texts)
        try:
            return self._encoder.encode_batch(texts, recognise, _checked_threads(num_threads))
        except ValueError as error:
            raise _explained(error, texts) from error

    def encode_batch_to_arrays(
        self, texts: Sequence[Text], *, special: Special = "token", num_threads: int | None = None
    ) -> "list[numpy.ndarray]":
        """As `encode_batch`, each text's ids a 1-D array of type `dtype`: a part of one array that holds them all."""
        ids, ends = self.encode_joined(texts, special=special, num_threads=num_threads)
        return [ids[begin:end] for begin, end in itertools.pairwise([0, *ends.tolist()])]

    def encode_joined(
        self,
        texts: Sequence[Text],
        *,
        special: Special = "token",
        end_of_text: Sequence[bool] = (),
        num_threads: int | None = None,
    ) -> "tuple[numpy.ndarray, numpy.ndarray]":
        """The ids of all texts in one array of type `dtype`, and where those of each text end (uint64).

        After the texts for which `end_of_text`, if it is given, is true comes the id of <|endoftext|>, which counts
        as theirs.

        >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<|endoftext|>"])
        >>> ids, ends = tokenizer.encode_joined(["ab", "c"], end_of_text=[False, True])
        >>> ids.tolist(), ends.tolist()
        ([97, 98, 99, 256], [2, 4])
        """
        if end_of_text and len(end_of_text) != len(texts):
            raise TokenizerError(f"end_of_text has {len(end_of_text)} values for {len(texts)} texts; give one for each")
        if any(end_of_text) and self.end_of_text_id is None:
            raise TokenizerError(f"the tokenizer has no {END_OF_TEXT}, which is to follow a text; leave it out")
        marks, end_id = bytes(end_of_text), self.end_of_text_id or 0
        texts = self._readable_texts(texts)
        if self._goes_by_segments(texts):
            return self._joined_segments(texts, special, marks, end_id)
        recognise = self._recognise(special, texts)
        join = self._encoder.encode_joined_16 if self._is_narrow else self._encoder.encode_joined
        try:
            return join(texts, recognise, _checked_threads(num_threads), marks=marks, end_id=end_id)
        except ValueError as error:
            raise _explained(error, texts) from error

    def _joined_segments(
        self, texts: Sequence[Text], special: Special, marks: bytes, end_id: int
    ) -> "tuple[numpy.ndarray, numpy.ndarray]":
        import numpy

        ids: list[int] = []
        ends: list[int] = []
        for text, mark in zip(texts, marks or bytes(len(texts)), strict=True):
            ids += self.encode(text, special=special)
            ids += [end_id] * mark
            ends.append(len(ids))
        return numpy.array(ids, dtype=self.dtype), numpy.array(ends, dtype=numpy.uint64)

    def encode_file(
        self,
        path: StrPath,
        out: StrPath,
        *,
        special: Literal["token", "text"] = "token",
        num_threads: int | None = None,
    ) -> int:
        """Write the ids of a UTF-8 text file to `out`; how many there are. Memory does not grow with the file.

        The ids stand one after the other as numbers of type `dtype`, little-endian, without a header: nanoGPT's
        .bin, which `groundup.data` opens as a dataset. `out` is there whole or not at all. Raises TokenizerError,
        which names the file, for text that is not UTF-8, and OSError for files.
        """
        if special not in ("token", "text"):
            raise TokenizerError(f"special is {special!r}; for a file it must be 'token' or 'text'")
        recognise = special == "token"
        num_ids = 0
        with open_atomic(out) as file:
            for ids in self._iter_arrays(path, recognise, _checked_threads(num_threads)):
                file.write(ids.astype(self.dtype.newbyteorder("<"), copy=False).data)
                num_ids += len(ids)
        return num_ids

    def _iter_arrays(self, path: StrPath, recognise: bool, num_threads: int) -> "Iterator[numpy.ndarray]":
        """The ids of a file, some megabytes of it at a time."""
        try:
            if self._cut is None and not self._normalizes:
                parts = _native.FileIds(self._encoder, path, recognise, num_threads)
                read = parts.next_16 if self._is_narrow else parts.next
                while (ids := read()) is not None:
                    yield ids
                return
            import numpy

            with Path(path).open(encoding="utf-8", newline="") as file:
                texts = iter(lambda: file.read(_STEP_CHARS), "")
                ids = self.encode_iterable(texts, special="token" if recognise else "text")
                while len(part := numpy.fromiter(itertools.islice(ids, _STEP_CHARS), dtype=self.dtype)):
                    yield part
        except UnicodeDecodeError as error:
            raise TokenizerError(f"'{path}' is not UTF-8: {error.reason}") from error
        except ValueError as error:
            raise _explained(error, []) from error

    def encode_iterable(self, iterable: Iterable[str], *, special: Special = "token") -> Iterator[int]:
        """The ids of `"".join(iterable)`, one by one, without joining it.

        Cuts may fall anywhere: within a word, white space, a special token. Memory holds one pre-token (with
        a pattern of your own, the text up to the next special token) and a bounded cache.
        """
        self._recognise(special, [])  # a wrong argument is an error now, not at the first id
        return self._iter_ids(iterable, special)

    def _iter_ids(self, texts: Iterable[str], special: Special) -> Iterator[int]:
        recognise = special == "token"
        guard = SpecialGuard(self._refuse_special, self._longest_special) if special == "error" else None
        if self._cut is not None:
            stream = PatternStream(self._splitters[recognise], self._encode_segment)
        elif self._normalizes:
            open_stream = partial(self._encoder.stream, False)
            stream = NormalizingStream(self._splitters[recognise], self._vocabulary.special_tokens, open_stream)
        else:
            stream = self._encoder.stream(recognise)
        offset = 0
        for text in texts:
            for start in range(0, len(text), _STEP_CHARS):
                part = text[start : start + _STEP_CHARS]
                # Only our own errors are explained: what `texts` raises goes through as it is.
                try:
                    part.encode()  # as in encode
                    if guard:
                        guard.check(part)
                    ids = stream.push(part)
                except ValueError as error:
                    raise _explained(error, [], offset) from error
                yield from ids
                offset += len(part)
        try:
            ids = stream.finish()
        except ValueError as error:
            raise _explained(error, []) from error
        yield from ids

    def _readable(self, text: Text) -> Text:
        """The text as the core takes it, or as str where Python has to look into it."""
        if isinstance(text, str) or (self._cut is None and not self._normalizes):
            return text
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TokenizerError(
                f"the text is not UTF-8: byte {text[error.start]:#04x} at byte offset {error.start}"
            ) from error

    def _readable_texts(self, texts: Sequence[Text]) -> list[Text]:
        looks_inside = self._cut is not None or self._normalizes
        return [self._readable(text) for text in texts] if looks_inside else list(texts)

    def _goes_by_segments(self, texts: Sequence[Text]) -> bool:
        """Whether there is work for Python between special tokens: a pattern of your own, text to normalize."""
        if self._cut is not None:
            return True
        return self._normalizes and not all(isinstance(text, bytes) or is_nfc(text) for text in texts)

    def _encode_segment(self, text: str, is_special: bool) -> list[int]:
        """The ids of a special token, or of the text between two."""
        if is_special:
            return [self._vocabulary.special_tokens[text]]
        if self._normalizes:
            text = to_nfc(text)
        if self._cut is None:
            return self._encoder.encode(text, False)
        return self._encoder.encode_words([word.encode() for word in self._cut(text)])

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of the ids: their bytes as UTF-8, with U+FFFD for what is not. An unknown id is an error."""
        return self.decode_bytes(ids).decode("utf-8", errors="replace")

    def decode_batch(self, texts: Iterable[Iterable[SupportsIndex]]) -> list[str]:
        """The text of each row of ids, as `decode` gives it."""
        return [self.decode(ids) for ids in texts]

    def decode_bytes(self, ids: Iterable[SupportsIndex]) -> bytes:
        """The bytes of the ids, which need not be whole characters. Arrays and tensors of ids are fine too."""
        try:
            try:
                return self._encoder.decode_bytes(ids)  # type: ignore[arg-type]
            except TypeError:  # neither a list nor an array that the core reads
                return self._encoder.decode_bytes([operator.index(id) for id in ids])
        except ValueError as error:
            raise TokenizerError(f"{error}, whose ids end at {self.vocab_size - 1}") from error

    def decoder(self) -> StreamingDecoder:
        """A decoder that takes ids one at a time and never shows half a character."""
        return StreamingDecoder(self.token_bytes)

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one id."""
        return self.decode_bytes([id])

    @property
    def vocab(self) -> dict[int, bytes]:
        """The bytes of each id, special tokens included (a copy)."""
        return dict(self._vocabulary.tokens)

    @property
    def merges(self) -> list[Merge]:
        """The merges in order of creation (a copy)."""
        return list(self._vocabulary.merges)

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of each special token (a copy)."""
        return dict(self._vocabulary.special_tokens)

    @property
    def pattern(self) -> str:
        """The regular expression that cuts text into pre-tokens."""
        return self._vocabulary.pattern

    @property
    def ignore_merges(self) -> bool:
        """Whether a pre-token that is a token as a whole is looked up, not merged (Llama 3, tiktoken)."""
        return self._vocabulary.ignore_merges

    @property
    def normalization(self) -> Normalization:
        """What is done to the text between special tokens before it is cut: "NFC" (Qwen) or nothing."""
        return self._vocabulary.normalization

    @cached_property
    def vocab_size(self) -> int:
        """The largest id plus one: the rows an embedding needs. Ids may have gaps."""
        return max(self._vocabulary.tokens, default=-1) + 1

    @property
    def end_of_text_id(self) -> int | None:
        """The id of <|endoftext|>, if it is a special token."""
        return self._vocabulary.special_tokens.get(END_OF_TEXT)

    @property
    def dtype(self) -> "numpy.dtype":
        """The type of ids at rest: uint16 if the largest is at most 65,535 (half the bytes), else uint32."""
        import numpy

        return numpy.dtype(numpy.uint16 if self._is_narrow else numpy.uint32)

    @cached_property
    def _is_narrow(self) -> bool:
        return self.vocab_size <= 1 << 16

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides the ids, in hexadecimal: equal for equal tokenizers, however stored."""
        return self._vocabulary.fingerprint()

    def byte_lengths(self) -> "numpy.ndarray":
        """For each id below vocab_size how many bytes of text it stands for (int64); 0: special tokens and gaps."""
        import numpy

        lengths = numpy.zeros(self.vocab_size, dtype=numpy.int64)
        special = set(self._vocabulary.special_tokens.values())
        for id, token in self._vocabulary.tokens.items():
            lengths[id] = 0 if id in special else len(token)
        return lengths

    def __reduce__(self) -> tuple[object, tuple[Vocabulary]]:
        return type(self).from_vocabulary, (self._vocabulary,)

    def __repr__(self) -> str:
        special = ", ".join(self._vocabulary.special_tokens) or "none"
        return f"<Tokenizer: {len(self._vocabulary.tokens)} tokens, special: {special}>"

    def _recognise(self, special: Special, texts: Sequence[Text]) -> bool:
        """Whether special tokens become ids of their own; refuses those in `texts` if they are an error."""
        if special not in ("token", "text", "error"):
            raise TokenizerError(f"special is {special!r}; it must be 'token', 'text' or 'error'")
        if special == "error":
            for text in texts:
                self._refuse_special(text)
        return special == "token"

    def _refuse_special(self, text: Text, offset: int = 0) -> None:
        try:
            found = self._encoder.find_special(text)
        except UnicodeEncodeError as error:
            raise surrogate_error(error, offset) from error
        if found is None:
            return
        encoded = text if isinstance(text, bytes) else text.encode()
        place = offset + len(encoded[: found[0]].decode())
        token = self._vocabulary.tokens[found[1]].decode()
        raise TokenizerError(
            f"the text holds the special token {token!r} at character {place}; remove it, or say with special='token' "
            "or special='text' what it is"
        )


def _tokenizer_file(path: StrPath) -> Path:
    return Path(path) / TOKENIZER_FILE if Path(path).is_dir() else Path(path)


def _checked_threads(num_threads: int | None) -> int:
    if num_threads is not None and num_threads < 1:
        raise TokenizerError(f"num_threads is {num_threads}; it must be at least 1, or None for all processors")
    return num_threads or 0


def _explained(error: ValueError, texts: Sequence[Text], offset: int = 0) -> TokenizerError:
    """The error of the core as one of ours; it names the text if there are several."""
    if isinstance(error, TokenizerError):
        return error
    if not isinstance(error, UnicodeEncodeError):
        return TokenizerError(str(error))
    explained = surrogate_error(error, offset)
    if len(texts) < 2:
        return explained
    number = next(number for number, text in enumerate(texts) if text is error.object)
    return TokenizerError(f"text {number}: {explained}")
