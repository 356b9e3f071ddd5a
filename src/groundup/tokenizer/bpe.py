"""The tokenizer: text to ids and back, by byte-level BPE. The front door of this room.

Checks and choices are here; the work is done by the native core (`native/`), and `reference.py` has the same
algorithm to read. Learning a vocabulary is in `train.py`, files are in `formats.py`, `stored_encoders.py` makes
loading fast. A load is to take milliseconds, so what this module imports is next to nothing: all else comes with
the calls that need it, numpy and regex too.
"""

from __future__ import annotations

from groundup import _native
from groundup.annotations import TYPE_CHECKING
from groundup.errors import TokenizerError
from groundup.tokenizer import stored_encoders
from groundup.tokenizer.explained import explained, name_special
from groundup.tokenizer.facts import TokenizerFacts
from groundup.tokenizer.patterns import GPT2_PATTERN, scanner_name
from groundup.tokenizer.segments import Segments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Literal, SupportsIndex

    import numpy

    from groundup.files import StrPath
    from groundup.tokenizer.streaming import StreamingDecoder
    from groundup.tokenizer.train import BpeTrainer, train_bpe, train_bpe_from_counts, train_bpe_from_iterator
    from groundup.tokenizer.vocabulary import Merge, Normalization, Vocabulary

    Text = str | bytes  # bytes are UTF-8
    # What the spelling of a special token in a text is: the token, ordinary text, or an error.
    Special = Literal["token", "text", "error"]

__all__ = [
    "GPT2_PATTERN",
    "BpeTrainer",
    "Tokenizer",
    "train_bpe",
    "train_bpe_from_counts",
    "train_bpe_from_iterator",
]

_STEP_CHARS = 1 << 16  # of a long text in a stream, so that its ids are not all in memory at once


class Tokenizer(TokenizerFacts):
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
        from groundup.tokenizer.vocabulary import make_vocabulary

        self._set_up_anew(make_vocabulary(vocab, merges, special_tokens, pattern))

    @classmethod
    def from_files(
        cls,
        vocab_path: StrPath,
        merges_path: StrPath,
        special_tokens: Sequence[str] | None = None,
        *,
        pattern: str = GPT2_PATTERN,
    ) -> Tokenizer:
        """From GPT-2's vocab.json and merges.txt, which do not say what the special tokens are."""
        from groundup.tokenizer.formats import read_gpt2

        return cls.from_vocabulary(read_gpt2(vocab_path, merges_path, special_tokens, pattern))

    @classmethod
    def load(cls, path: StrPath) -> Tokenizer:
        """From a tokenizer.json of byte-level BPE, or a folder that has one.

        Its added tokens are the special tokens. Those that it would have put around every text, as Llama 3's
        <|begin_of_text|>, are not put there: add their ids where you want them. What a large file was found to
        hold is kept in the user's cache folder, for the next load of the same file (`stored_encoders.py`).
        """
        path = stored_encoders.tokenizer_file(path)
        found = stored_encoders.find(path)
        if found is not None:
            self = cls.__new__(cls)
            self._set_up(*found)
            return self
        from groundup.tokenizer.formats import parse_huggingface, read_source

        source = read_source(path)
        self = cls.from_vocabulary(parse_huggingface(source, path))
        stored_encoders.keep(source, self._encoder, self.pattern, self.normalization, lambda: self.fingerprint)
        return self

    @classmethod
    def from_tiktoken(
        cls, path: StrPath, special_tokens: Mapping[str, int] | None = None, *, pattern: str
    ) -> Tokenizer:
        """From a .tiktoken file, which says neither the special tokens nor the pattern (see `patterns`)."""
        from groundup.tokenizer.formats import read_tiktoken

        return cls.from_vocabulary(read_tiktoken(path, special_tokens or {}, pattern))

    @classmethod
    def from_vocabulary(cls, vocabulary: Vocabulary) -> Tokenizer:
        """From parts that are checked."""
        self = cls.__new__(cls)
        self._set_up_anew(vocabulary)
        return self

    def _set_up_anew(self, vocabulary: Vocabulary) -> None:
        encoder = _native.Encoder(
            list(vocabulary.ordinary_ids().items()),
            vocabulary.merges,
            [(token.encode(), id) for token, id in vocabulary.special_tokens.items()],
            ignore_merges=vocabulary.ignore_merges,
            pattern=scanner_name(vocabulary.pattern) or "gpt2",  # without a scanner it gets nothing but pre-tokens
        )
        self._set_up(encoder, vocabulary.pattern, vocabulary.normalization)
        self._vocabulary = vocabulary

    def _set_up(
        self, encoder: _native.Encoder, pattern: str, normalization: Normalization, fingerprint: str | None = None
    ) -> None:
        super()._set_up(encoder, pattern, normalization, fingerprint)
        self._segments = Segments(encoder, self._special_tokens, pattern, normalization)

    def save(self, path: StrPath) -> None:
        """Write a tokenizer.json at `path`, or in it if it is a folder; other tools read it, with the same ids."""
        from groundup.tokenizer.formats import write_huggingface

        write_huggingface(stored_encoders.tokenizer_file(path), self._parts())

    def save_gpt2(self, vocab_path: StrPath, merges_path: StrPath) -> None:
        """Write GPT-2's vocab.json and merges.txt."""
        from groundup.tokenizer.formats import write_gpt2

        write_gpt2(vocab_path, merges_path, self._parts())

    def save_tiktoken(self, path: StrPath) -> None:
        """Write a .tiktoken file, if tiktoken gives our ids; it has no place for special tokens and the pattern."""
        from groundup.tokenizer.formats import write_tiktoken

        write_tiktoken(path, self._parts())

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
        text = self._segments.readable(text)
        if errors == "replace" and isinstance(text, str):
            from groundup.tokenizer.surrogates import replace_surrogates

            text = replace_surrogates(text)
        elif errors not in ("strict", "replace"):
            raise TokenizerError(f"errors is {errors!r}; it must be 'strict' or 'replace'")
        recognise = self._recognise(special, [text])
        try:
            if isinstance(text, bytes) or not self._segments.are_needed([text]):
                return self._encoder.encode(text, recognise, _checked_threads(num_threads))
            return self._segments.encode(text, recognise)
        except ValueError as error:
            raise explained(error, [text]) from error

    def encode_to_array(self, text: Text, *, special: Special = "token", num_threads: int | None = 1) -> numpy.ndarray:
        """The ids of a text, as `encode` gives them, as a 1-D array of type `dtype`."""
        text = self._segments.readable(text)
        if self._segments.are_needed([text]):
            import numpy

            return numpy.array(self.encode(text, special=special), dtype=self.dtype)
        recognise = self._recognise(special, [text])
        to_array = self._encoder.encode_array_16 if self._is_narrow else self._encoder.encode_array
        try:
            return to_array(text, recognise, _checked_threads(num_threads))
        except ValueError as error:
            raise explained(error, [text]) from error

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
        if self._segments.changes(text):
            raise TokenizerError("the text is not in NFC, to which this tokenizer brings it first: normalize it before")
        ids = self.encode(text, special=special)
        return ids, self._encoder.spans(text, ids, unit == "character")

    def count_tokens(self, text: Text, *, special: Special = "token", num_threads: int | None = 1) -> int:
        """How many ids `encode` gives.

        The ids are not kept, unless the text has to be cut or normalized in Python (a pattern of your own, NFC).
        """
        text = self._segments.readable(text)
        if self._segments.are_needed([text]):
            return len(self.encode(text, special=special))
        recognise = self._recognise(special, [text])
        try:
            return self._encoder.count_tokens(text, recognise, _checked_threads(num_threads))
        except ValueError as error:
            raise explained(error, [text]) from error

    def encode_batch(
        self, texts: Sequence[Text], *, special: Special = "token", num_threads: int | None = None
    ) -> list[list[int]]:
        """The ids of each text, as `encode` gives them; in several threads, by default all processors'."""
        texts = self._segments.readable_texts(texts)
        if self._segments.are_needed(texts):
            return [self.encode(text, special=special) for text in texts]
        recognise = self._recognise(special, texts)
        try:
            return self._encoder.encode_batch(texts, recognise, _checked_threads(num_threads))
        except ValueError as error:
            raise explained(error, texts) from error

    def encode_batch_to_arrays(
        self, texts: Sequence[Text], *, special: Special = "token", num_threads: int | None = None
    ) -> list[numpy.ndarray]:
        """As `encode_batch`, each text's ids a 1-D array of type `dtype`: a part of one array that holds them all."""
        from itertools import pairwise

        ids, ends = self.encode_joined(texts, special=special, num_threads=num_threads)
        return [ids[begin:end] for begin, end in pairwise([0, *ends.tolist()])]

    def encode_joined(
        self,
        texts: Sequence[Text],
        *,
        special: Special = "token",
        end_of_text: Sequence[bool] = (),
        num_threads: int | None = None,
    ) -> tuple[numpy.ndarray, numpy.ndarray]:
        """The ids of all texts in one array of type `dtype`, and where those of each text end (uint64).

        After the texts for which `end_of_text`, if it is given, is true comes the id of <|endoftext|>, which counts
        as theirs.

        >>> tokenizer = Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<|endoftext|>"])
        >>> ids, ends = tokenizer.encode_joined(["ab", "c"], end_of_text=[False, True])
        >>> ids.tolist(), ends.tolist()
        ([97, 98, 99, 256], [2, 4])
        """
        marks, end_id = bytes(map(bool, end_of_text)), self.end_of_text_id
        if marks and len(marks) != len(texts):
            raise TokenizerError(f"end_of_text has {len(marks)} values for {len(texts)} texts; give one for each")
        if any(marks) and end_id is None:
            raise TokenizerError("the tokenizer has no <|endoftext|>, which is to follow a text; leave it out")
        end_id = end_id or 0
        texts = self._segments.readable_texts(texts)
        if self._segments.are_needed(texts):
            import numpy

            ids, ends = self._segments.joined(texts, lambda text: self.encode(text, special=special), marks, end_id)
            return numpy.array(ids, dtype=self.dtype), numpy.array(ends, dtype=numpy.uint64)
        recognise = self._recognise(special, texts)
        join = self._encoder.encode_joined_16 if self._is_narrow else self._encoder.encode_joined
        try:
            return join(texts, recognise, _checked_threads(num_threads), marks=marks, end_id=end_id)
        except ValueError as error:
            raise explained(error, texts) from error

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
        from groundup.files import open_atomic
        from groundup.tokenizer import file_ids

        num_threads = _checked_threads(num_threads)
        if self._segments.may_be_needed:
            arrays = file_ids.iter_streamed(
                lambda texts: self.encode_iterable(texts, special=special), path, self.dtype
            )
        else:
            recognise = special == "token"
            arrays = file_ids.iter_native(self._encoder, path, recognise, num_threads, self._is_narrow)
        num_ids = 0
        with open_atomic(out) as file:
            for ids in arrays:
                file.write(ids.astype(self.dtype.newbyteorder("<"), copy=False).data)
                num_ids += len(ids)
        return num_ids

    def encode_iterable(self, iterable: Iterable[str], *, special: Special = "token") -> Iterator[int]:
        """The ids of `"".join(iterable)`, one by one, without joining it.

        Cuts may fall anywhere: within a word, white space, a special token. Memory holds one pre-token (with
        a pattern of your own, the text up to the next special token) and a bounded cache.
        """
        self._recognise(special, [])  # a wrong argument is an error now, not at the first id
        return self._iter_ids(iterable, special)

    def _iter_ids(self, texts: Iterable[str], special: Special) -> Iterator[int]:
        from groundup.tokenizer.streaming import SpecialGuard

        longest = max(map(len, self._special_tokens), default=0)
        guard = SpecialGuard(self._refuse_special, longest) if special == "error" else None
        stream = self._segments.stream(special == "token")
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
                    raise explained(error, [], offset) from error
                yield from ids
                offset += len(part)
        try:
            ids = stream.finish()
        except ValueError as error:
            raise explained(error, []) from error
        yield from ids

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
                import operator

                return self._encoder.decode_bytes([operator.index(id) for id in ids])
        except ValueError as error:
            raise TokenizerError(f"{error}, whose ids end at {self.vocab_size - 1}") from error

    def decoder(self) -> StreamingDecoder:
        """A decoder that takes ids one at a time and never shows half a character."""
        from groundup.tokenizer.streaming import StreamingDecoder

        return StreamingDecoder(self.token_bytes)

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one id."""
        return self.decode_bytes([id])

    def __reduce__(self) -> tuple[object, tuple[Vocabulary]]:
        return type(self).from_vocabulary, (self._parts(),)

    def __repr__(self) -> str:
        special = ", ".join(self._special_tokens) or "none"
        return f"<Tokenizer: {self._encoder.num_tokens} tokens, special: {special}>"

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
            raise explained(error, [], offset) from error
        if found is not None:
            raise name_special(text, found[0], self.token_bytes(found[1]).decode(), offset)


def _checked_threads(num_threads: int | None) -> int:
    if num_threads is not None and num_threads < 1:
        raise TokenizerError(f"num_threads is {num_threads}; it must be at least 1, or None for all processors")
    return num_threads or 0


def __getattr__(name: str) -> object:
    """The names of `train.py` that are handed on here, imported with the first that is wanted."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from groundup.tokenizer import train

    return getattr(train, name)
