"""Lone surrogates: what a Python `str` can hold and UTF-8 cannot, so that it has no bytes to encode.

They come from broken JSON ("\\ud83d") and from file names. UTF-8 knows only whole characters.
"""

from groundup.errors import TokenizerError


def surrogate_error(error: UnicodeEncodeError, offset: int = 0) -> TokenizerError:
    """What to raise for a text that has no UTF-8; the text begins at character `offset` of the whole."""
    return TokenizerError(
        f"the text holds a lone surrogate, {error.object[error.start]!r}, at character {offset + error.start}: half a "
        "character, which no UTF-8 text can hold; mend the text, or have it replaced (errors='replace')"
    )


def replace_surrogates(text: str) -> str:
    r"""`text` with U+FFFD for each lone surrogate; two that form a pair become the character they mean.

    >>> replace_surrogates("a\ud83d!") == "a\ufffd!"
    True
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
