"""Errors of the native core, and special tokens where there may be none, as errors that name the place."""

from __future__ import annotations

from groundup.annotations import TYPE_CHECKING
from groundup.errors import TokenizerError

if TYPE_CHECKING:
    from collections.abc import Sequence


def explained(error: ValueError, texts: Sequence[str | bytes], offset: int = 0) -> TokenizerError:
    """The error of the core as one of ours; it names the text if there are several.

    `offset` is the place, in characters, of the one text in a longer one.
    """
    if isinstance(error, TokenizerError):
        return error
    if not isinstance(error, UnicodeEncodeError):
        return TokenizerError(str(error))
    from groundup.tokenizer.surrogates import surrogate_error

    found = surrogate_error(error, offset)
    if len(texts) < 2:
        return found
    number = next(number for number, text in enumerate(texts) if text is error.object)
    return TokenizerError(f"text {number}: {found}")


def name_special(text: str | bytes, byte: int, token: str, offset: int) -> TokenizerError:
    """The error for a special token at a byte of a text, which begins at character `offset` of the whole."""
    encoded = text if isinstance(text, bytes) else text.encode()
    place = offset + len(encoded[:byte].decode())
    return TokenizerError(
        f"the text holds the special token {token!r} at character {place}; remove it, or say with special='token' "
        "or special='text' what it is"
    )
