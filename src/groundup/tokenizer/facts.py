"""What a tokenizer tells about itself; `bpe.py` has the tokenizer. As there, next to nothing is imported."""

from __future__ import annotations

from groundup.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

    from groundup import _native
    from groundup.tokenizer.vocabulary import Merge, Normalization, Vocabulary

_END_OF_TEXT = "<|endoftext|>"  # groundup.corpus.END_OF_TEXT, which takes longer to import than a tokenizer to load


class TokenizerFacts:
    """Its tokens, merges and special tokens, its pattern, and what follows from them."""

    def _set_up(
        self, encoder: _native.Encoder, pattern: str, normalization: Normalization, fingerprint: str | None = None
    ) -> None:
        self._encoder = encoder
        self._pattern = pattern
        self._normalization: Normalization = normalization
        self._fingerprint = fingerprint
        self._vocabulary: Vocabulary | None = None  # see _parts
        self._special_tokens = encoder.special_tokens()
        self._vocab_size = encoder.end_id

    @property
    def vocab(self) -> dict[int, bytes]:
        """The bytes of each id, special tokens included (a copy)."""
        return dict(self._parts().tokens)

    @property
    def merges(self) -> list[Merge]:
        """The merges in order of creation (a copy)."""
        return list(self._parts().merges)

    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of each special token (a copy)."""
        return dict(self._special_tokens)

    @property
    def pattern(self) -> str:
        """The regular expression that cuts text into pre-tokens."""
        return self._pattern

    @property
    def ignore_merges(self) -> bool:
        """Whether a pre-token that is a token as a whole is looked up, not merged (Llama 3, tiktoken)."""
        return self._encoder.ignore_merges

    @property
    def normalization(self) -> Normalization:
        """What is done to the text between special tokens before it is cut: "NFC" (Qwen) or nothing."""
        return self._normalization

    @property
    def vocab_size(self) -> int:
        """The largest id plus one: the rows an embedding needs. Ids may have gaps."""
        return self._vocab_size

    @property
    def end_of_text_id(self) -> int | None:
        """The id of <|endoftext|>, if it is a special token."""
        return self._special_tokens.get(_END_OF_TEXT)

    @property
    def dtype(self) -> numpy.dtype:
        """The type of ids at rest: uint16 if the largest is at most 65,535 (half the bytes), else uint32."""
        import numpy

        return numpy.dtype(numpy.uint16 if self._is_narrow else numpy.uint32)

    @property
    def _is_narrow(self) -> bool:
        return self._vocab_size <= 1 << 16

    @property
    def fingerprint(self) -> str:
        """SHA-256 of all that decides the ids, in hexadecimal: equal for equal tokenizers, however stored."""
        if self._fingerprint is None:
            self._fingerprint = self._parts().fingerprint()
        return self._fingerprint

    def byte_lengths(self) -> numpy.ndarray:
        """For each id below vocab_size how many bytes of text it stands for (int64); 0: special tokens and gaps."""
        import numpy

        lengths = numpy.zeros(self.vocab_size, dtype=numpy.int64)
        for id, token in self._encoder.tokens().items():
            lengths[id] = len(token)
        lengths[list(self._special_tokens.values())] = 0
        return lengths

    def _parts(self) -> Vocabulary:
        """All that the tokenizer is made of. The core has it; as Python objects it is there once it was asked for."""
        if self._vocabulary is None:
            from groundup.tokenizer.vocabulary import Vocabulary

            self._vocabulary = Vocabulary(
                self._encoder.tokens(),
                self._encoder.merges(),
                self._special_tokens,
                self._pattern,
                self._encoder.ignore_merges,
                self._normalization,
            )
        return self._vocabulary
