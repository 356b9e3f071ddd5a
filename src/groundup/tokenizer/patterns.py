"""Cutting text into pre-tokens by a regular expression: those of the known families, and patterns of your own.

`scanner_name` says which patterns cut alike; the native core has a scanner for each of them, on Unicode tables
of its own. Any other pattern runs here, on the `regex` package as it is installed, and slower. `reference.py`
has the readable GPT-2 cut.
"""

import logging
import re
from collections.abc import Callable

from groundup.errors import TokenizerError

logger = logging.getLogger(__name__)

GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
# GPT-4's, as tiktoken 0.14 spells it. White space at the end of the text is one pre-token, line breaks in it or not.
CL100K_PATTERN = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
    r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
)
# The same in Llama 3's tokenizer.json and in older tiktoken: there too, a pre-token ends with the last line break.
LLAMA3_PATTERN = (
    r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
    r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
QWEN2_PATTERN = LLAMA3_PATTERN.replace(r"\p{N}{1,3}", r"\p{N}")  # Qwen 2 to 3: digits one by one
# SmolLM's and StarCoder's: every digit apart first, then GPT-2's cut of what is between, which ends at digits.
SMOLLM_PATTERN = r"""\p{N}|'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"""
# GPT-4o's, spelled alike by tiktoken and in the tokenizer.json of gpt-oss and Llama 4.
O200K_PATTERN = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
    r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
)
# Other spellings of the same cut, as files have them: of GPT-2 by tiktoken 0.14, the first release and Hugging Face;
# of Llama 3's by minbpe.
_TIKTOKEN_GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_RELEASED_GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_SPELLED_OUT_GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_MINBPE_LLAMA3 = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"""
    r"""|\s*[\r\n]|\s+(?!\S)|\s+"""
)

_SCANNERS = {
    **dict.fromkeys([GPT2_PATTERN, _TIKTOKEN_GPT2, _RELEASED_GPT2, _SPELLED_OUT_GPT2], "gpt2"),
    CL100K_PATTERN: "cl100k",
    **dict.fromkeys([LLAMA3_PATTERN, _MINBPE_LLAMA3], "llama3"),
    QWEN2_PATTERN: "qwen2",
    O200K_PATTERN: "o200k",
    SMOLLM_PATTERN: "smollm",
}


def scanner_name(pattern: str) -> str | None:
    """The name of the cut that `pattern` makes, one name for all spellings of it; None for a pattern of your own.

    >>> scanner_name(QWEN2_PATTERN), scanner_name(".")
    ('qwen2', None)
    """
    return _SCANNERS.get(pattern)


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
    logger.info("the pattern %r runs on `regex`, many times slower than those with a scanner in the core", pattern)

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


# What tiktoken 0.14 writes with `$` and {m,n}+ in the syntax that others read alike: no character may follow.
_SHARED_SPELLINGS = {
    pattern: pattern.replace(r"\s++$", r"\s++(?![\s\S])").replace("{1,3}+", "{1,3}")
    for pattern in (CL100K_PATTERN, _TIKTOKEN_GPT2)
}
_FAMILY_SPELLINGS = {shared: pattern for pattern, shared in _SHARED_SPELLINGS.items()}


def to_shared_spelling(pattern: str) -> str:
    r"""A pattern that cuts alike in the engines of others: another spelling of tiktoken's, all others as they are.

    >>> to_shared_spelling(CL100K_PATTERN).endswith(r"|\s++(?![\s\S])|\s*[\r\n]|\s+(?!\S)|\s")
    True
    """
    return _SHARED_SPELLINGS.get(pattern, pattern)


def from_shared_spelling(pattern: str) -> str:
    """The pattern that `to_shared_spelling` wrote so."""
    return _FAMILY_SPELLINGS.get(pattern, pattern)
