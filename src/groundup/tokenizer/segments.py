"""What Python does to the text between special tokens: a pattern of your own cuts it, Qwen's NFC normalizes it.

Most tokenizers have neither; then all is done by the native core, which finds special tokens itself.
"""

from __future__ import annotations

from groundup.annotations import TYPE_CHECKING
from groundup.errors import TokenizerError
from groundup.tokenizer.patterns import pre_tokenizer, scanner_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from groundup import _native
    from groundup.tokenizer.normalization import IdStream
    from groundup.tokenizer.special import SpecialSplitter
    from groundup.tokenizer.vocabulary import Normalization


class Segments:
    """Encodes a text by its segments, the special tokens and what is between two. Threads may share it."""

    def __init__(
        self, encoder: _native.Encoder, special_tokens: Mapping[str, int], pattern: str, normalization: Normalization
    ) -> None:
        self._encoder = encoder
        self._special_tokens = special_tokens
        self._cut = None if scanner_name(pattern) else pre_tokenizer(pattern)
        self._normalizes = normalization is not None
        self._splitters: dict[bool, SpecialSplitter] = {}

    @property
    def may_be_needed(self) -> bool:
        """Whether there are texts that the core cannot encode alone."""
        return self._cut is not None or self._normalizes

    def are_needed(self, texts: Sequence[str | bytes]) -> bool:
        """Whether the core cannot encode these texts alone."""
        return self._cut is not None or (self._normalizes and any(map(self.changes, texts)))

    def changes(self, text: str | bytes) -> bool:
        """Whether normalizing changes the text; bytes are those of one that `readable` left as they were."""
        if not self._normalizes or isinstance(text, bytes) or text.isascii():
            return False
        from groundup.tokenizer.normalization import is_nfc

        return not is_nfc(text)

    def readable(self, text: str | bytes) -> str | bytes:
        """The text as the core takes it, or as str where Python has to look into it."""
        if isinstance(text, str) or not self.may_be_needed:
            return text
        try:
            return text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise TokenizerError(
                f"the text is not UTF-8: byte {text[error.start]:#04x} at byte offset {error.start}"
            ) from error

    def readable_texts(self, texts: Sequence[str | bytes]) -> list[str | bytes]:
        """The same for each of several texts."""
        return [self.readable(text) for text in texts] if self.may_be_needed else list(texts)

    def joined(
        self, texts: Sequence[str | bytes], encode: Callable[[str | bytes], list[int]], marks: bytes, end_id: int
    ) -> tuple[list[int], list[int]]:
        """The ids of all texts, each by `encode`, and where those of each end; after the marked ones comes `end_id`."""
        ids: list[int] = []
        ends: list[int] = []
        for text, mark in zip(texts, marks or bytes(len(texts)), strict=True):
            ids += encode(text)
            ids += [end_id] * mark
            ends.append(len(ids))
        return ids, ends

    def encode(self, text: str, recognise: bool) -> list[int]:
        """The ids of a text, in which special tokens are recognised or not."""
        text.encode()  # a lone surrogate is to be named by its place in the text, not in its pre-token
        segments = self._splitter(recognise).split(text)
        return [id for segment in segments for id in self._encode_segment(*segment)]

    def stream(self, recognise: bool) -> IdStream:
        """What encodes a text that arrives in pieces."""
        if self._cut is not None:
            from groundup.tokenizer.streaming import PatternStream

            return PatternStream(self._splitter(recognise), self._encode_segment)
        if self._normalizes:
            from groundup.tokenizer.normalization import NormalizingStream

            splitter = self._splitter(recognise)
            return NormalizingStream(splitter, dict(self._special_tokens), lambda: self._encoder.stream(False))
        return self._encoder.stream(recognise)

    def _encode_segment(self, text: str, is_special: bool) -> list[int]:
        """The ids of a special token, or of the text between two."""
        if is_special:
            return [self._special_tokens[text]]
        if self.changes(text):
            from groundup.tokenizer.normalization import to_nfc

            text = to_nfc(text)
        if self._cut is None:
            return self._encoder.encode(text, False)
        return self._encoder.encode_words([word.encode() for word in self._cut(text)])

    def _splitter(self, recognise: bool) -> SpecialSplitter:
        if recognise not in self._splitters:
            from groundup.tokenizer.special import SpecialSplitter

            self._splitters[recognise] = SpecialSplitter(list(self._special_tokens) if recognise else [])
        return self._splitters[recognise]
