"""Cutting text into pre-tokens by a regular expression: those of the known families, and patterns of your own.

`scanner_name` says which patterns cut alike; the native core has a scanner for each of them, on Unicode tables
of its own. Any other pattern runs here, on the `regex` package as it is installed, and slower. `reference.py`
has the readable GPT-2 cut.
"""

from __future__ import annotations

from groundup.annotations import TYPE_CHECKING
from groundup.errors import TokenizerError

if TYPE_CHECKING:
    from collections.abc import Callable

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
TIKTOKEN_GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
_RELEASED_GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_SPELLED_OUT_GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
_MINBPE_LLAMA3 = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"""
    r"""|\s*[\r\n]|\s+(?!\S)|\s+"""
)

_SCANNERS = {
    **dict.fromkeys([GPT2_PATTERN, TIKTOKEN_GPT2_PATTERN, _RELEASED_GPT2, _SPELLED_OUT_GPT2], "gpt2"),
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
    import logging

    import regex  # 27 ms, for those who bring a pattern of their own

    try:
        compiled = regex.compile(pattern)
    except regex.error as error:
        raise TokenizerError(f"the pattern {pattern!r} is not a regular expression: {error}") from error
    logger = logging.getLogger(__name__)
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
