"""Hugging Face's tokenizer.json, of the families that use byte-level BPE: GPT-2, Llama 3, Qwen, GPT-NeoX, ...

A file is read only if we would give exactly its ids, those with `add_special_tokens=False`; what we do not
have (other normalizers, other ways to cut text, unknown tokens) is refused by name.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from groundup.errors import TokenizerError
from groundup.files import StrPath, write_json
from groundup.tokenizer.byte_characters import is_byte_name
from groundup.tokenizer.byte_names import is_mistaken_name, read_merges, read_tokens, write_merges, write_tokens
from groundup.tokenizer.json_fields import expect, field, naming, parse_object, read_bytes
from groundup.tokenizer.normalization import is_untouched_by_nfc
from groundup.tokenizer.patterns import GPT2_PATTERN, SMOLLM_PATTERN
from groundup.tokenizer.shared_syntax import foreign_syntax, from_shared_spelling, to_shared_spelling
from groundup.tokenizer.special import check_special_tokens
from groundup.tokenizer.vocabulary import Merge, Normalization, Vocabulary, make_vocabulary

# What an option must be for the file to mean what we do; absent or null is always that.
_NEUTRAL_FILE = {"truncation": None, "padding": None}
_NEUTRAL_MODEL = {
    "type": "BPE",
    "dropout": 0,
    "continuing_subword_prefix": "",
    "end_of_word_suffix": "",
    "byte_fallback": False,
}
_NEUTRAL_ADDED = {"single_word": False, "lstrip": False, "rstrip": False}


def read_huggingface(path: StrPath) -> Vocabulary:
    """The vocabulary in a tokenizer.json of byte-level BPE; its added tokens, special or not, are the special tokens.

    A post-processor that puts special tokens around a text (Llama 3's <|begin_of_text|>) is not applied: the
    ids are those of the text alone. Raises TokenizerError, naming the file, if it is malformed or asks for
    what is not done here.
    """
    return parse_huggingface(read_source(path), path)


def read_source(path: StrPath) -> bytes:
    """The content of a file. Raises TokenizerError, naming the file."""
    with naming(path):
        return read_bytes(path)


def parse_huggingface(content: bytes, path: StrPath) -> Vocabulary:
    """The vocabulary in a file of this content; `path` is for errors."""
    with naming(path):
        file = parse_object(content)
        _refuse_options(file, _NEUTRAL_FILE, "")
        normalization = _read_normalization(file.get("normalizer"))
        pattern = _read_pattern(file.get("pre_tokenizer"))
        for step in _steps(file.get("post_processor"), "post_processor", "processors"):
            _check_post_processor(step)
        _check_decoder(file.get("decoder"))
        model = field(file, "model", dict)
        _refuse_options(model, _NEUTRAL_MODEL, "model.")
        ignore_merges = model.get("ignore_merges") or False
        if not isinstance(ignore_merges, bool):
            raise TokenizerError(f"model.ignore_merges is {json.dumps(ignore_merges)[:80]}; it must be true or false")
        names = field(model, "vocab", dict)
        special = _read_added_tokens(file.get("added_tokens", []), names, normalization, ignore_merges)
        tokens = read_tokens(names, special)
        for token, id in special.items():
            if tokens.setdefault(id, token.encode()) != token.encode():
                raise TokenizerError(f"the added token {token!r} has the id of the token {tokens[id]!r}, {id}")
        _refuse_other_ids(special, names)
        if model.get("unk_token") is not None and len([t for t in tokens.values() if len(t) == 1]) < 256:
            raise TokenizerError("it has an unk_token for bytes that it does not know, which we would refuse")
        known = {name: tokens[id] for name, id in names.items()}
        merges = read_merges(enumerate(field(model, "merges", list)), known, "merge")
        _refuse_early_merges(merges)
        options = {"ignore_merges": ignore_merges, "normalization": normalization}
        return make_vocabulary(tokens, merges, special, pattern, **options)


def write_huggingface(path: StrPath, vocabulary: Vocabulary) -> None:
    """Write a tokenizer.json that `tokenizers` and `transformers` read, with the same ids and the same text.

    Special tokens stand in the model's vocabulary as well as among the added tokens, as in GPT-2's own file:
    otherwise readers would number them anew, without gaps. One fault of `tokenizers` shows: the ids of
    "<|début|>", all letters of the byte alphabet, are right, but it decodes the "é" as a byte.
    Raises TokenizerError for a pattern or an order of merges that other readers understand in another way, and
    for special tokens that the format cannot tell from bytes.
    """
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    pre_tokenizer: dict[str, Any] = byte_level
    if vocabulary.pattern != GPT2_PATTERN:
        pattern = to_shared_spelling(vocabulary.pattern)
        _refuse_foreign_syntax(pattern)
        split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        pre_tokenizer = {"type": "Sequence", "pretokenizers": [split, byte_level | {"use_regex": False}]}
    _refuse_early_merges(vocabulary.merges)
    names = write_tokens(vocabulary)
    for token in vocabulary.special_tokens:
        _refuse_mistaken_name(token, vocabulary.ignore_merges)
    options = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    by_id = sorted(vocabulary.special_tokens.items(), key=lambda item: item[1])
    file = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": id, "content": token} | options for token, id in by_id],
        "normalizer": {"type": vocabulary.normalization} if vocabulary.normalization else None,
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
            "ignore_merges": vocabulary.ignore_merges,
            "vocab": names,
            # As pairs: of merges written as lines, readers take one that begins with "#version" for a comment.
            "merges": write_merges(vocabulary, names),
        },
    }
    write_json(path, file)


def _read_added_tokens(
    added: Any, names: Mapping[str, Any], normalization: Normalization, ignore_merges: bool
) -> dict[str, int]:
    """The added tokens, which part a text whether they are called special or not, and their ids."""
    tokens: dict[str, int] = {}
    late: set[str] = set()  # looked for in what is left after the others, and after normalization
    for token in expect(added, list, "added_tokens"):
        expect(token, dict, f"the added token {token!r}")
        content, id = field(token, "content", str), field(token, "id", int)
        _refuse_options(token, _NEUTRAL_ADDED, f"the added token {content!r}: ")
        if is_byte_name(content) and content in names:
            raise TokenizerError(f"the added token {content!r} is also the name of a byte, so that its id means both")
        if content in names:
            _refuse_mistaken_name(content, ignore_merges)
        if tokens.setdefault(content, id) != id or names.get(content, id) != id:
            raise TokenizerError(
                f"the added token {content!r} has two ids, {id} and {names.get(content, tokens[content])}"
            )
        if token.get("normalized"):
            late.add(content)
            if normalization and not is_untouched_by_nfc(content):
                raise TokenizerError(
                    f"the added token {content!r} is looked for in normalized text, where {normalization} may have "
                    "made or changed it; only normalized: false is read for it"
                )
    check_special_tokens(list(tokens))
    _refuse_two_passes(tokens.keys() - late, late)
    return tokens


def _refuse_other_ids(added: Mapping[str, int], names: Mapping[str, Any]) -> None:
    """Refuse ids that readers replace: they number added tokens anew that the model's vocabulary lacks."""
    largest = -1
    for token, id in added.items():
        theirs = names.get(token, max(len(names), largest + 1))
        largest = max(largest, theirs)
        if theirs != id:
            raise TokenizerError(
                f"the added token {token!r} has the id {id}, but Hugging Face's tokenizers number it {theirs}, as the "
                "model's vocabulary lacks it; add it there, or close the gap"
            )


def _refuse_early_merges(merges: Sequence[Merge]) -> None:
    """Refuse a token that is only made by merges that come before those that make its parts.

    We make a merge everywhere in a word before the next one; Hugging Face's tokenizers begin again after each
    place, where an earlier merge may have become possible. In the order in which merges are learned it cannot.
    Llama 3's file has merges out of that order, but one in it for each token, by which it is always made.
    """
    made = [left + right for left, right in merges]
    first = dict(zip(reversed(made), range(len(made) - 1, -1, -1), strict=True))
    lefts_at = [first.get(left, -1) for left, _ in merges]
    rights_at = [first.get(right, -1) for _, right in merges]
    parts_at = list(map(max, lefts_at, rights_at))  # where both parts are there; bytes are from the beginning
    early = [rank for rank, at in enumerate(parts_at) if at > rank]
    if not early:
        return
    fine = {token for rank, token in enumerate(made) if parts_at[rank] <= rank}
    wrong = next((rank for rank in early if made[rank] not in fine), None)
    if wrong is not None:
        raise TokenizerError(
            f"merge {wrong} ({merges[wrong][0]!r} + {merges[wrong][1]!r}) comes before the merge that makes one of "
            "its parts; Hugging Face's tokenizers and we do not merge in the same way then"
        )


def _refuse_two_passes(first: Collection[str], late: Collection[str]) -> None:
    """Refuse added tokens for which it matters that `first` are all found before `late`, not the leftmost of both."""
    beginnings = {token[:end] for token in first for end in range(1, len(token) + 1)}
    for token in late:
        for i in range(len(token)):
            holds = any(token[i:end] in first for end in range(i + 1, len(token) + 1))
            if holds or (i > 0 and token[i:] in beginnings):
                raise TokenizerError(
                    f"the added token {token!r}, normalized: true, can overlap one with normalized: false, which "
                    "Hugging Face's tokenizers look for before it; give all the same"
                )


def _refuse_mistaken_name(token: str, ignore_merges: bool) -> None:
    if ignore_merges and is_mistaken_name(token):
        raise TokenizerError(
            f"the special token {token!r} is, under ignore_merges, also the name of ordinary text; choose another "
            "spelling, such as <|name|>"
        )


def _read_normalization(normalizer: Any) -> Normalization:
    kinds = [step.get("type") for step in _steps(normalizer, "normalizer", "normalizers")]
    if any(kind != "NFC" for kind in kinds):
        raise TokenizerError(f"normalizer is {json.dumps(normalizer)[:80]}; only null and NFC are read")
    return "NFC" if kinds else None


def _read_pattern(pre_tokenizer: Any) -> str:
    """The pattern that the pre-tokenizer cuts by: GPT-2's for ByteLevel alone, that of a Split before it, SmolLM's."""
    steps = _steps(pre_tokenizer, "pre_tokenizer", "pretokenizers")
    *before, last = steps or [{}]
    if last.get("type") != "ByteLevel" or len(before) > 1:
        kinds = ", ".join(str(step.get("type")) for step in steps) or "none"
        raise TokenizerError(f"pre_tokenizer is {kinds}; only ByteLevel, or Split and ByteLevel, is read")
    if last.get("add_prefix_space") is not False:
        raise TokenizerError("pre_tokenizer.add_prefix_space is true; only false is read, a text is encoded as it is")
    digits_first = [(step.get("type"), step.get("individual_digits")) for step in before] == [("Digits", True)]
    if digits_first and last.get("use_regex", True) is True:
        return SMOLLM_PATTERN
    if bool(before) == last.get("use_regex", True):
        raise TokenizerError("the text would be cut by two patterns or by none; only one pattern is read")
    if not before:
        return GPT2_PATTERN
    kind, how = field(before[0], "type", str), (before[0].get("behavior"), before[0].get("invert", False))
    pattern = before[0].get("pattern")
    pattern = pattern.get("Regex") if isinstance(pattern, dict) else None
    if kind != "Split" or how != ("Isolated", False) or not isinstance(pattern, str):
        raise TokenizerError(f"pre_tokenizer cuts by {before[0]!r}; only a Split by Regex, Isolated, is read")
    _refuse_foreign_syntax(pattern)
    return from_shared_spelling(pattern)


def _refuse_foreign_syntax(pattern: str) -> None:
    rest = foreign_syntax(pattern)
    if rest is not None:
        raise TokenizerError(
            f"the pattern {pattern!r} has at {rest[:20]!r} what Hugging Face's tokenizers and we read in different "
            "ways; write it with \\p{...}, \\s, \\d and character classes"
        )


def _check_post_processor(step: Mapping[str, Any]) -> None:
    """Refuse what does more than put special tokens around a text."""
    if step.get("type") == "ByteLevel":  # it moves offsets only
        return
    if step.get("type") != "TemplateProcessing":
        raise TokenizerError(f"post_processor is {step.get('type')}; only ByteLevel and TemplateProcessing are read")
    template = field(step, "single", list)
    pieces = [expect(piece, dict, "a piece of the post_processor's template") for piece in template]
    texts = [piece.get("Sequence") for piece in pieces if "SpecialToken" not in piece]
    if len(texts) != 1 or not isinstance(texts[0], dict) or texts[0].get("id") != "A":
        raise TokenizerError(
            f"the post_processor's template is {json.dumps(template)[:80]}; only special tokens around a text are read"
        )


def _check_decoder(decoder: Any) -> None:
    kinds = [step.get("type") for step in _steps(decoder, "decoder", "decoders")]
    if not kinds or any(kind != "ByteLevel" for kind in kinds):
        raise TokenizerError(f"decoder is {', '.join(map(str, kinds)) or 'none'}; only ByteLevel is read")


def _steps(step: Any, what: str, list_name: str) -> list[dict[str, Any]]:
    """The steps of a Sequence, one step alone, or none."""
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
