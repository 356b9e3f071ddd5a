"""GPT-2's vocab.json and merges.txt, which say neither the special tokens nor the pattern."""

import json
from collections.abc import Sequence

from groundup.errors import TokenizerError
from groundup.files import StrPath, write_atomic
from groundup.tokenizer.byte_names import read_merges, read_tokens, write_merges, write_tokens
from groundup.tokenizer.json_fields import naming, read_object, read_text
from groundup.tokenizer.patterns import GPT2_PATTERN, scanner_name
from groundup.tokenizer.special import check_special_tokens
from groundup.tokenizer.vocabulary import Vocabulary, make_vocabulary


def read_gpt2(
    vocab_path: StrPath,
    merges_path: StrPath,
    special_tokens: Sequence[str] | None = None,
    pattern: str = GPT2_PATTERN,
) -> Vocabulary:
    """The vocabulary in GPT-2's two files; what they do not say comes from the caller.

    Raises TokenizerError, naming the file and, in the merges, the line.
    """
    special = check_special_tokens(special_tokens or ())
    with naming(vocab_path):
        names = read_object(vocab_path)
        tokens = read_tokens(names, special)
        known = {name: tokens[id] for name, id in names.items()}
    with naming(merges_path):
        lines = [(number, line) for number, line in enumerate(read_text(merges_path).splitlines(), 1) if line]
        # Only the first line is a header: from the second merge on, "#version:" can be a token.
        if lines and lines[0][0] == 1 and lines[0][1].startswith("#version"):
            del lines[0]
        return make_vocabulary(tokens, read_merges(lines, known, "line"), special, pattern)


def write_gpt2(vocab_path: StrPath, merges_path: StrPath, vocabulary: Vocabulary) -> None:
    """Write vocab.json and merges.txt. Raises TokenizerError for what the files cannot say."""
    if scanner_name(vocabulary.pattern) != "gpt2":
        raise TokenizerError("GPT-2's files have no place for a pattern of your own; save a tokenizer.json")
    if vocabulary.ignore_merges or vocabulary.normalization:
        raise TokenizerError(
            f"GPT-2's files cannot say ignore_merges ({vocabulary.ignore_merges}) nor normalization "
            f"({vocabulary.normalization}); save a tokenizer.json"
        )
    names = write_tokens(vocabulary)
    if len(set(vocabulary.tokens.values())) < len(vocabulary.tokens):
        raise TokenizerError("GPT-2's files cannot say which of two ids for the same bytes is the special token's")
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in write_merges(vocabulary, names))]
    write_atomic(vocab_path, json.dumps(names, ensure_ascii=False) + "\n")
    write_atomic(merges_path, "\n".join(lines) + "\n")
