"""Tokenizer files that other tools share: Hugging Face's tokenizer.json, GPT-2's vocab.json and merges.txt.

A file is read only if we would give exactly its ids: what we do not have (normalisers, other ways to cut
text, unknown tokens) is refused by name. Both formats write tokens in the alphabet of `byte_characters.py`
and special tokens as they are. Nothing here is pickled.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groundup.errors import TokenizerError
from groundup.files import StrPath, write_atomic, write_json
from groundup.tokenizer.byte_characters import is_byte_name, to_bytes, to_characters
from groundup.tokenizer.json_fields import expect, field, naming, read_object, read_text
from groundup.tokenizer.patterns import GPT2_PATTERN, foreign_syntax
from groundup.tokenizer.special import check_special_tokens
from groundup.tokenizer.vocabulary import Merge, Vocabulary, make_vocabulary

TOKENIZER_FILE = "tokenizer.json"

# What an option must be for the file to mean what we do; absent or null is always that.
_NEUTRAL_FILE = {"normalizer": None, "truncation": None, "padding": None}
_NEUTRAL_MODEL = {
    "type": "BPE",
    "dropout": 0,
    "continuing_subword_prefix": "",
    "end_of_word_suffix": "",
    "byte_fallback": False,
    "ignore_merges": False,
}
_NEUTRAL_ADDED = {"single_word": False, "lstrip": False, "rstrip": False}


def read_huggingface(path: StrPath) -> Vocabulary:
    """The vocabulary in a tokenizer.json of byte-level BPE; its added tokens are the special tokens.

    Raises TokenizerError, naming the file, if it is malformed or asks for what is not done here.
    """
    with naming(path):
        file = read_object(path)
        _refuse_options(file, _NEUTRAL_FILE, "")
        pattern = _read_pattern(file.get("pre_tokenizer"))
        _require_byte_level(file.get("post_processor") or {"type": "ByteLevel"}, "post_processor", "processors")
        _require_byte_level(file.get("decoder"), "decoder", "decoders")
        model = field(file, "model", dict)
        _refuse_options(model, _NEUTRAL_MODEL, "model.")
        names = field(model, "vocab", dict)
        special = _read_added_tokens(file.get("added_tokens", []), names)
        tokens = _read_tokens(names, special)
        for token, id in special.items():
            if tokens.setdefault(id, token.encode()) != token.encode():
                raise TokenizerError(f"the added token {token!r} has the id of the token {tokens[id]!r}, {id}")
        if model.get("unk_token") is not None and len([t for t in tokens.values() if len(t) == 1]) < 256:
            raise TokenizerError("it has an unk_token for bytes that it does not know, which we would refuse")
        known = {name: tokens[id] for name, id in names.items()}
        merges = _read_merges(enumerate(field(model, "merges", list)), known, "merge")
        return make_vocabulary(tokens, merges, list(special), pattern)


def write_huggingface(path: StrPath, vocabulary: Vocabulary) -> None:
    """Write a tokenizer.json that `tokenizers` and `transformers` read, with the same ids and the same text.

    Special tokens stand in the model's vocabulary as well as among the added tokens, as in GPT-2's own file:
    otherwise readers would number them anew, without gaps. One fault of `tokenizers` shows: the ids of
    "<|début|>", all letters of the byte alphabet, are right, but it decodes the "é" as a byte.
    Raises TokenizerError for a pattern that other readers understand in another way, and for special tokens
    that the format cannot tell from bytes.
    """
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    pre_tokenizer: dict[str, Any] = byte_level
    if vocabulary.pattern != GPT2_PATTERN:
        _refuse_foreign_syntax(vocabulary.pattern)
        split = {"type": "Split", "pattern": {"Regex": vocabulary.pattern}, "behavior": "Isolated", "invert": False}
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, byte_level | {"use_regex": False}]}
    names = _write_tokens(vocabulary)
    options = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    by_id = sorted(vocabulary.special_tokens.items(), key=lambda item: item[1])
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id, "content": token} | options for token, id in by_id],
        "normalizer": None,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": names,
            # As pairs: of merges written as lines, readers take one that begins with "#version" for a comment.
            "merges": _write_merges(vocabulary, names),
        },
    }
    write_json(path, file)


def read_gpt2(
    vocab_path: StrPath,
    merges_path: StrPath,
    special_tokens: Sequence[str] | None = None,
    pattern: str = GPT2_PATTERN,
) -> Vocabulary:
    """The vocabulary in GPT-2's two files, which say neither the special tokens nor the pattern.

    Raises TokenizerError, naming the file and, in the merges, the line.
    """
    special = check_special_tokens(special_tokens or ())
    with naming(vocab_path):
        names = read_object(vocab_path)
        tokens = _read_tokens(names, special)
        known = {name: tokens[id] for name, id in names.items()}
    with naming(merges_path):
        lines = [(number, line) for number, line in enumerate(read_text(merges_path).splitlines(), 1) if line]
        # Only the first line is a header: from the second merge on, "#version:" can be a token.
        if lines and lines[0][0] == 1 and lines[0][1].startswith("#version"):
            del lines[0]
        return make_vocabulary(tokens, _read_merges(lines, known, "line"), special, pattern)


def write_gpt2(vocab_path: StrPath, merges_path: StrPath, vocabulary: Vocabulary) -> None:
    """Write vocab.json and merges.txt. Raises TokenizerError for a pattern that is not GPT-2's."""
    if vocabulary.pattern != GPT2_PATTERN:
        raise TokenizerError("GPT-2's files have no place for a pattern of your own; save a tokenizer.json")
    names = _write_tokens(vocabulary)
    lines = ["#version: 0.2", *(f"{left} {right}" for left, right in _write_merges(vocabulary, names))]
    write_atomic(vocab_path, json.dumps(names, ensure_ascii=False) + "\n")
    write_atomic(merges_path, "\n".join(lines) + "\n")


def _read_tokens(names: Mapping[str, Any], special: Iterable[str]) -> dict[int, bytes]:
    """Names and ids of a vocabulary object as ids and bytes."""
    raw = {name for name in special if not is_byte_name(name)}
    tokens: dict[int, bytes] = {}
    for name, id in names.items():
        if type(id) is not int:
            raise TokenizerError(f"the id of the token {name!r} is {id!r}; it must be an integer")
        token = name.encode() if name in raw else to_bytes(name)
        if tokens.setdefault(id, token) is not token:
            raise TokenizerError(f"the tokens {tokens[id]!r} and {token!r} have the same id, {id}")
    return tokens


def _write_tokens(vocabulary: Vocabulary) -> dict[str, int]:
    """The vocabulary object: a name for each token, and its id."""
    special = {id: token for token, id in vocabulary.special_tokens.items()}
    ordinary = set(vocabulary.ordinary_ids().values())
    names: dict[str, int] = {}
    for id, token in vocabulary.tokens.items():
        name = to_characters(token)
        spelling = special.get(id, name)
        # A special token goes by its own spelling, under which no byte and no merge is found.
        if spelling in names or (spelling != name and (id in ordinary or is_byte_name(spelling))):
            raise TokenizerError(
                f"the special token {spelling!r} cannot be saved: it is a byte or a token of ordinary text as well, "
                "and the file has one name for both; choose another spelling, such as <|name|>"
            )
        names[spelling] = id
    return names


def _read_merges(numbered: Iterable[tuple[int, Any]], known: Mapping[str, bytes], what: str) -> list[Merge]:
    """Merges, each "Ġ t" or ["Ġ", "t"], as bytes; `known` are the tokens of the vocabulary by their names."""
    merges: list[Merge] = []
    for number, merge in numbered:
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(parts, list) or len(parts) != 2 or not all(type(part) is str and part for part in parts):
            raise TokenizerError(f"{what} {number}: {merge!r} is not a merge; two tokens are needed, as in 'Ġ t'")
        try:
            # A name that is not known is a fault of the vocabulary, and make_vocabulary says so.
            left, right = (known.get(part) or to_bytes(part) for part in parts)
        except TokenizerError as error:
            raise TokenizerError(f"{what} {number}: {error}") from error
        merges.append((left, right))
    return merges


def _write_merges(vocabulary: Vocabulary, names: Mapping[str, int]) -> list[list[str]]:
    by_token = {vocabulary.tokens[id]: name for name, id in names.items()}
    return [[by_token[left], by_token[right]] for left, right in vocabulary.merges]


def _read_added_tokens(added: Any, names: Mapping[str, Any]) -> dict[str, int]:
    tokens: dict[str, int] = {}
    for token in expect(added, list, "added_tokens"):
        expect(token, dict, f"the added token {token!r}")
        content, id = field(token, "content", str), field(token, "id", int)
        _refuse_options(token, _NEUTRAL_ADDED, f"the added token {content!r}: ")
        if is_byte_name(content) and content in names:
            raise TokenizerError(f"the added token {content!r} is also the name of a byte, so that its id means both")
        if tokens.setdefault(content, id) != id or names.get(content, id) != id:
            raise TokenizerError(
                f"the added token {content!r} has two ids, {id} and {names.get(content, tokens[content])}"
            )
    check_special_tokens(list(tokens))
    return tokens


def _read_pattern(pre_tokenizer: Any) -> str:
    """The pattern that the pre-tokenizer cuts by: GPT-2's for ByteLevel alone, that of a Split before it."""
    steps = _steps(pre_tokenizer, "pre_tokenizer", "pretokenizers")
    *before, last = steps or [{}]
    if last.get("type") != "ByteLevel" or len(before) > 1:
        kinds = ", ".join(str(step.get("type")) for step in steps) or "none"
        raise TokenizerError(f"pre_tokenizer is {kinds}; only ByteLevel, or Split and ByteLevel, is read")
    if last.get("add_prefix_space") is not False:
        raise TokenizerError("pre_tokenizer.add_prefix_space is true; only false is read, a text is encoded as it is")
    if bool(before) == last.get("use_regex", True):
        raise TokenizerError("the text would be cut by two patterns or by none; only one pattern is read")
    if not before:
        return GPT2_PATTERN
    kind, how = field(before[0], "type", str), (before[0].get("behavior"), before[0].get("invert", False))
    pattern = (before[0].get("pattern") or {}).get("Regex")
    if kind != "Split" or how != ("Isolated", False) or not isinstance(pattern, str):
        raise TokenizerError(f"pre_tokenizer cuts by {before[0]!r}; only a Split by Regex, Isolated, is read")
    _refuse_foreign_syntax(pattern)
    return pattern


def _refuse_foreign_syntax(pattern: str) -> None:
    rest = foreign_syntax(pattern)
    if pattern != GPT2_PATTERN and rest is not None:
        raise TokenizerError(
            f"the pattern {pattern!r} has at {rest[:20]!r} what Hugging Face's tokenizers and we read in different "
            "ways; write it with \\p{...}, \\s, \\d and character classes"
        )


def _require_byte_level(step: Any, what: str, list_name: str) -> None:
    kinds = [step.get("type") for step in _steps(step, what, list_name)]
    if set(kinds) != {"ByteLevel"}:
        raise TokenizerError(f"{what} is {', '.join(map(str, kinds)) or 'none'}; only ByteLevel is read")


def _steps(step: Any, what: str, list_name: str) -> list[dict[str, Any]]:
    if step is None:
        return []
    expect(step, dict, what)
    steps = field(step, list_name, list) if step.get("type") == "Sequence" else [step]
    return [expect(one, dict, what) for one in steps]


def _refuse_options(options: Mapping[str, Any], neutral: Mapping[str, Any], where: str) -> None:
    for name, wanted in neutral.items():
        value = options.get(name)
        if value is not None and value != wanted:
            raise TokenizerError(f"{where}{name} is {json.dumps(value)[:80]}; only {json.dumps(wanted)} is read")
