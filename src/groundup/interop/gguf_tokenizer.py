"""A tokenizer inside a GGUF file, as llama.cpp keeps byte-level BPE: tokens by name, merges, and the name of a cut.

The pattern itself is not stored: llama.cpp knows a few by name, and rules that go with each.
"""

from dataclasses import dataclass

from groundup.errors import TokenizerError
from groundup.tokenizer.byte_names import read_merges, read_tokens, write_merges, write_tokens
from groundup.tokenizer.patterns import (
    GPT2_PATTERN,
    LLAMA3_PATTERN,
    O200K_PATTERN,
    QWEN2_PATTERN,
    SMOLLM_PATTERN,
    scanner_name,
)
from groundup.tokenizer.vocabulary import Vocabulary, make_vocabulary

# Of the cuts that both know: our name of the scanner, llama.cpp's name, the pattern, and whether a pre-token that is
# a token as a whole is looked up there.
_CUTS = (
    ("gpt2", "gpt-2", GPT2_PATTERN, False),
    ("llama3", "llama-bpe", LLAMA3_PATTERN, True),
    ("qwen2", "qwen2", QWEN2_PATTERN, False),
    ("smollm", "smollm", SMOLLM_PATTERN, False),
    ("o200k", "gpt-4o", O200K_PATTERN, False),
)
MODEL = "gpt2"  # byte-level BPE, in llama.cpp's words
NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5


@dataclass(frozen=True)
class GgufTokenizer:
    """The fields of a GGUF file that make a tokenizer: `cut` is tokenizer.ggml.pre, the lists are by id or by rank."""

    cut: str
    tokens: list[str]
    types: list[int]
    merges: list[str]


def to_gguf(vocabulary: Vocabulary, num_rows: int) -> GgufTokenizer:
    """The tokenizer in llama.cpp's terms, for a model with that many rows; ids without a token are marked unused.

    Raises TokenizerError for a cut that llama.cpp does not have, and for special tokens that names cannot express.
    """
    if vocabulary.normalization is not None:
        raise TokenizerError(
            f"this tokenizer brings text to {vocabulary.normalization}, which llama.cpp does not; no GGUF file can "
            "say so"
        )
    names = write_tokens(vocabulary)
    special = set(vocabulary.special_tokens.values())
    tokens, types = [f"[PAD{id}]" for id in range(num_rows)], [UNUSED] * num_rows
    for name, id in names.items():
        tokens[id], types[id] = name, CONTROL if id in special else NORMAL
    merges = [f"{left} {right}" for left, right in write_merges(vocabulary, names)]
    return GgufTokenizer(_cut_name(vocabulary), tokens, types, merges)


def from_gguf(found: GgufTokenizer) -> Vocabulary:
    """The vocabulary of a GGUF file. Raises TokenizerError for a cut that we do not have, and for damaged lists."""
    known = {theirs: (pattern, whole) for _, theirs, pattern, whole in _CUTS}
    if found.cut not in known:
        raise TokenizerError(f"its text is cut as {found.cut!r}; only {', '.join(known)} are read")
    if len(found.types) != len(found.tokens):
        raise TokenizerError(f"it has {len(found.tokens)} tokens and {len(found.types)} types of tokens")
    pattern, ignore_merges = known[found.cut]
    ids = [id for id, kind in enumerate(found.types) if kind != UNUSED]
    names = {found.tokens[id]: id for id in ids}
    if len(names) < len(ids):
        raise TokenizerError("two of its tokens have the same name")
    special = {found.tokens[id]: id for id in ids if found.types[id] in (CONTROL, USER_DEFINED)}
    tokens = read_tokens(names, special)
    merges = read_merges(enumerate(found.merges), {name: tokens[id] for name, id in names.items()}, "merge")
    return make_vocabulary(tokens, merges, special, pattern, ignore_merges=ignore_merges)


def _cut_name(vocabulary: Vocabulary) -> str:
    scanner = scanner_name(vocabulary.pattern)
    for ours, theirs, _, ignore_merges in _CUTS:
        if ours == scanner and ignore_merges == vocabulary.ignore_merges:
            return theirs
    rule = "ignore_merges" if vocabulary.ignore_merges else "no ignore_merges"
    raise TokenizerError(
        f"llama.cpp has no cut for the pattern {vocabulary.pattern[:60]!r} with {rule}; it has those of "
        f"{', '.join(ours for ours, *_ in _CUTS)}"
    )
