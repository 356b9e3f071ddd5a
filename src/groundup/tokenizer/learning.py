"""What learning merges is told besides the text: merges to go on from, and which pairs are never merged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groundup.errors import TokenizerError
from groundup.tokenizer.vocabulary import Merge


@dataclass(frozen=True)
class Learning:
    """Checked on the way in, so that a mistake shows before hours of text are read. Raises TokenizerError."""

    merges: Sequence[Merge] = ()  # done first, in this order; the same text learned in one go would begin with them
    min_frequency: int = 1  # pairs that occur less often are never merged; where all do, learning ends
    max_token_length: int | None = None  # in bytes; pairs that would make a longer token are passed over

    def __post_init__(self) -> None:
        if self.min_frequency < 1:
            raise TokenizerError(f"min_frequency is {self.min_frequency}; it must be at least 1")
        if self.max_token_length is not None and self.max_token_length < 1:
            raise TokenizerError(
                f"max_token_length is {self.max_token_length}; it must be at least 1, or None for tokens of any length"
            )
        object.__setattr__(self, "merges", list(iter_checked(self.merges)))

    def num_merges(self, vocab_size: int, special_tokens: Sequence[str]) -> int:
        """How many merges a vocabulary has room for. Raises TokenizerError if even what is given does not fit."""
        fixed = 256 + len(special_tokens)
        if vocab_size < fixed + len(self.merges):
            given = f" and {len(self.merges)} merges to go on from" if self.merges else ""
            raise TokenizerError(
                f"vocab_size is {vocab_size}; it must be at least {fixed + len(self.merges)}: the 256 bytes and "
                f"{len(special_tokens)} special tokens{given}"
            )
        return vocab_size - fixed


def iter_checked(merges: Iterable[Merge]) -> Iterable[Merge]:
    """The merges, as far as a training can have made them: of bytes and of earlier ones, each token once.

    >>> list(iter_checked([(b"t", b"h"), (b"the", b"n")]))
    Traceback (most recent call last):
    groundup.errors.TokenizerError: merge 1 joins b'the', which is neither a byte nor made by an earlier one
    """
    made = {bytes([byte]) for byte in range(256)}
    for rank, merge in enumerate(merges):
        try:
            left, right = merge
        except (TypeError, ValueError):
            raise TokenizerError(f"merge {rank} is {merge!r}; a merge is a pair of bytes") from None
        for part in (left, right):
            if part not in made:
                raise TokenizerError(f"merge {rank} joins {part!r}, which is neither a byte nor made by an earlier one")
        if left + right in made:
            raise TokenizerError(f"merge {rank} makes {left + right!r}, which an earlier one makes already")
        made.add(left + right)
        yield left, right
