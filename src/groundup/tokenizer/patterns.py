"""Cutting text into pre-tokens by a regular expression: the GPT-2 pattern, and patterns of your own.

The GPT-2 pattern is the default and runs in the native core, on Unicode tables of its own. Any other
pattern runs here, on the `regex` package as it is installed. `reference.py` has the readable GPT-2 cut.
"""

import re
from collections.abc import Callable

from groundup.errors import TokenizerError

GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""


def pre_tokenizer(pattern: str) -> Callable[[str], list[str]]:
    r"""A function that cuts a text into its pre-tokens: the matches of `pattern` and the text between them.

    The text between matches is kept, as pre-tokens of its own, so that the pieces always join to the whole
    (Hugging Face calls this "Isolated"; tiktoken drops such text without a word). Raises TokenizerError if
    the pattern is not a regular expression.

    >>> pre_tokenizer(r"\p{L}+")("to be, or")
    ['to', ' ', 'be', ', ', 'or']
    """
    import regex  # 27 ms, for those who bring a pattern of their own

    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise TokenizerError(f"the pattern {pattern!r} is not a regular expression: {error}") from error

    def cut(text: str) -> list[str]:
        pieces: list[str] = []
        end = 0
        for match in compiled.finditer(text):
            pieces.append(text[end : match.start()])
            pieces.append(match.group())
            end = match.end()
        pieces.append(text[end:])
        return [piece for piece in pieces if piece]

    return cut


# Syntax that `regex` and Oniguruma, the engine of Hugging Face's tokenizers, understand alike. Left out on
# purpose: ^ and $ (ends of the text here, of lines there), \w and \b (other characters), \h (white space
# here, hexadecimal digits there), classes in classes, back references, inline flags, {m,n}+ (possessive here).
_SHARED_ESCAPE = r"\\(?: [pP]\{\^?\w+\} | [sSdDrntfv] | [^\w\s] )"
_SHARED_SYNTAX = re.compile(
    rf"""(?: [^\\\[\](){{}}?*+^$]                                                  # itself, . and |
           | {_SHARED_ESCAPE}
           | \[ \^? (?: (?! -- | && | \|\| | ~~ ) [^\\\[\]] | {_SHARED_ESCAPE} )+ \]
           | \( (?! \? ) | \( \? (?: i?: | <?[=!] | > ) | \)
           | (?: [?*+] | \{{ \d+ (?: ,\d* )? \}} (?! \+ ) ) \??
           | [?*+] \+
         )*""",
    re.VERBOSE,
)


def foreign_syntax(pattern: str) -> str | None:
    r"""The part of `pattern`, from its start on, that other engines read in another way; None if there is none.

    >>> foreign_syntax(r"\p{L}+|\w+")
    '\\w+'
    """
    match = _SHARED_SYNTAX.match(pattern)
    assert match is not None  # it matches the empty text
    return pattern[match.end() :] or None
