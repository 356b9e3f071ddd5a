"""What a pattern must be for others to cut alike: the syntax that `regex` and Hugging Face's engine share.

`patterns.py` has the patterns, `huggingface_files.py` writes and reads them.
"""

import re

from groundup.tokenizer.patterns import CL100K_PATTERN, TIKTOKEN_GPT2_PATTERN

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
    for pattern in (CL100K_PATTERN, TIKTOKEN_GPT2_PATTERN)
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
