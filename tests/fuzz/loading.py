"""Targets: tokenizer files that are damaged: in their structure, and byte by byte."""

import base64
import json
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.inputs import random_merges, random_special, random_text
from fuzz.outcome import Target, expect_equal, outcome
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.byte_characters import to_characters
from groundup.tokenizer.patterns import CL100K_PATTERN, GPT2_PATTERN
from groundup.tokenizer.reference import Pair

_ODD_VALUES: list[Any] = [
    *[None, True, False, 0, 1, -1, 2**31, 2**32 - 1, 2**32, 2**64, 10**400, 0.5, 1e308, float("nan"), float("inf")],
    *["", "a", " ", "a b", "a b c", "Ġ", "\x00", "é", "\ud800", "\uffff", "𝄞", "x" * 3000, "BPE", "ByteLevel", "Split"],
    *["Sequence", "NFC", "(", "[", r"\p{L}+", "(?<=a)b", "a{2,1}", "a{9999999999}", "a**", "(?:", "\\"],
    *[[], {}, [[]], {"": {}}, ["a"], ["a", "b"], ["a", "b", "c"], {"type": "Split"}, {"type": "Sequence"}, [None] * 3],
]


@dataclass(frozen=True)
class Files:
    """The content of one or two files, and the special tokens that come with them."""

    contents: list[bytes]
    special: list[str]
    text: str


def make_huggingface(rng: random.Random) -> Files:
    text, tokens, merges, special = _vocabulary(rng)
    names = {to_characters(token): id for id, token in enumerate(tokens)}
    added = [{"id": names.setdefault(token, len(names)), "content": token, "special": True} for token in special]
    byte_level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    cut: dict[str, Any] = byte_level
    if rng.random() < 0.4:
        pattern = {"Regex": rng.choice([CL100K_PATTERN, GPT2_PATTERN, r"\s+|\S"])}
        split = {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}
        cut = {"type": "Sequence", "pretokenizers": [split, byte_level | {"use_regex": False}]}
    pairs: list[Any] = [[to_characters(left), to_characters(right)] for left, right in merges]
    if rng.random() < 0.4:
        pairs = [" ".join(pair) for pair in pairs]
    file: dict[str, Any] = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": rng.choice([None, None, {"type": "NFC"}]),
        "pre_tokenizer": cut,
        "post_processor": rng.choice([None, byte_level]),
        "decoder": byte_level,
        "model": {"type": "BPE", "ignore_merges": rng.random() < 0.3, "vocab": names, "merges": pairs},
    }
    for _ in range(rng.choice([0, 1, 1, 2, 5])):
        file = mutate_json(rng, file)
    return Files([damage(rng, _json(rng, file))], [], text)


def check_huggingface(case: Files) -> None:
    """A tokenizer.json is read or refused; one that is read encodes, and comes back as it was when it is saved."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tokenizer.json").write_bytes(case.contents[0])
        tokenizer = _read(lambda: Tokenizer.load(folder), case.text)
        if tokenizer is None:
            return
        saved = outcome(lambda: tokenizer.save(folder / "again.json"))
        if saved[0] == "result":
            again = outcome(lambda: Tokenizer.load(folder / "again.json").fingerprint)
            expect_equal(again, ("result", tokenizer.fingerprint), "the file that was saved")


def make_gpt2(rng: random.Random) -> Files:
    text, tokens, merges, special = _vocabulary(rng)
    names: Any = {to_characters(token): id for id, token in enumerate(tokens)}
    lines = [f"{to_characters(left)} {to_characters(right)}" for left, right in merges]
    for _ in range(rng.choice([0, 0, 1, 3])):
        names = mutate_json(rng, names)
        lines.insert(rng.randrange(len(lines) + 1), rng.choice(["", " ", "a", "a b c", "é\u2028 b", "#version: 0.2"]))
    vocab, merged = _json(rng, names), "\n".join(["#version: 0.2", *lines]).encode()
    if rng.random() < 0.5:
        return Files([damage(rng, vocab), merged], special, text)
    return Files([vocab, damage(rng, merged)], special, text)


def check_gpt2(case: Files) -> None:
    """vocab.json and merges.txt are read or refused; what is read can be saved and read again."""
    with tempfile.TemporaryDirectory() as name:
        vocab, merges = Path(name) / "vocab.json", Path(name) / "merges.txt"
        vocab.write_bytes(case.contents[0])
        merges.write_bytes(case.contents[1])
        tokenizer = _read(lambda: Tokenizer.from_files(vocab, merges, case.special), case.text)
        if tokenizer is None:
            return
        if outcome(lambda: tokenizer.save_gpt2(vocab, merges))[0] == "result":
            again = outcome(lambda: Tokenizer.from_files(vocab, merges, list(tokenizer.special_tokens)).fingerprint)
            expect_equal(again, ("result", tokenizer.fingerprint), "the files that were saved")


def make_tiktoken(rng: random.Random) -> Files:
    text, tokens, _, special = _vocabulary(rng)
    lines = [base64.b64encode(token) + b" %d" % rank for rank, token in enumerate(tokens)]
    for _ in range(rng.choice([0, 0, 1, 3])):
        place = rng.randrange(len(lines))
        odd = [b"", b" ", b"IQ==", b"IQ== -1", b"IQ== 1_0", b"IQ== 99999999999", b"= 5", b" 5", b"IQ== 5 6", b"\xff 5"]
        lines.insert(rng.randrange(len(lines)), rng.choice([*odd, lines[place], b"IQ== " + b"9" * 5000]))
        del lines[rng.randrange(len(lines))]
    if rng.random() < 0.2:
        rng.shuffle(lines)
    return Files([damage(rng, b"\n".join(lines))], special, text)


def check_tiktoken(case: Files) -> None:
    """A .tiktoken file is read or refused."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "ranks.tiktoken"
        path.write_bytes(case.contents[0])
        special = {token: 2**20 + place for place, token in enumerate(case.special)}
        tokenizer = _read(lambda: Tokenizer.from_tiktoken(path, special, pattern=GPT2_PATTERN), case.text)
        if tokenizer is None:
            return
        if outcome(lambda: tokenizer.save_tiktoken(path))[0] == "result":
            again = outcome(lambda: Tokenizer.from_tiktoken(path, special, pattern=GPT2_PATTERN).fingerprint)
            expect_equal(again, ("result", tokenizer.fingerprint), "the file that was saved")


def mutate_json(rng: random.Random, value: Any) -> Any:
    """A copy in which one thing, anywhere, is another value, is missing, or is there twice."""
    if not isinstance(value, dict | list) or not value or rng.random() < 0.1:
        return rng.choice(_ODD_VALUES)
    if isinstance(value, list):
        place = rng.randrange(len(value))
        how = rng.random()
        if how < 0.5:
            return [*value[:place], mutate_json(rng, value[place]), *value[place + 1 :]]
        return value[:place] + value[place + 1 :] if how < 0.75 else [*value[:place], value[place], *value[place:]]
    name = rng.choice(list(value))
    how = rng.random()
    if how < 0.6:
        return value | {name: mutate_json(rng, value[name])}
    changed = {key: item for key, item in value.items() if key != name}
    if how < 0.8:
        return changed
    odd = rng.choice([item for item in _ODD_VALUES if isinstance(item, str)])
    return changed | {odd: value[name]}


def damage(rng: random.Random, content: bytes) -> bytes:
    """The same bytes, most of the time; or cut short, with bits flipped, or with a part of it missing or repeated."""
    how = rng.random()
    place = rng.randrange(len(content) + 1)
    if how < 0.5:
        return content
    if how < 0.6:
        return content[:place]
    if how < 0.75:
        flipped = bytearray(content)
        for _ in range(rng.randrange(1, 4)):
            if flipped:
                flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    end = place + rng.choice([1, 2, rng.randrange(1, 100)])
    if how < 0.85:
        return content[:place] + content[end:]
    if how < 0.95:
        return content[:end] + content[place:]
    odd = [b"\x00", b"\xff", b'"', b"{" * 3000, b"[" * 100_000, b"\\ud800", b"9" * 5000, b"\n", b"\r", b"\xef\xbb\xbf"]
    return content[:place] + rng.choice(odd) + content[place:]


TARGETS = [
    Target("huggingface", make_huggingface, check_huggingface),
    Target("gpt2", make_gpt2, check_gpt2),
    Target("tiktoken", make_tiktoken, check_tiktoken),
]


def _vocabulary(rng: random.Random) -> tuple[str, list[bytes], list[Pair], list[str]]:
    """A text, tokens (the bytes first), merges and special tokens for a file that can be read."""
    text = random_text(rng, 100)
    merges = list(dict.fromkeys(random_merges(rng, text)))
    tokens = [bytes([byte]) for byte in range(256)]
    tokens += [token for pair in merges for token in (*pair, b"".join(pair))]
    return text, list(dict.fromkeys(tokens)), merges, random_special(rng)


def _json(rng: random.Random, value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, 1]))
    return text.encode("utf-8", "surrogatepass")


def _read(read: Callable[[], Tokenizer], text: str) -> Tokenizer | None:
    """The tokenizer, if the files are not refused, after it has encoded the text or refused it."""
    made = outcome(read)
    if made[0] == "error":
        return None
    tokenizer: Tokenizer = made[1]
    ids = outcome(lambda: tokenizer.encode(text))
    if ids[0] == "result":
        outcome(lambda: tokenizer.decode(ids[1]))
    return tokenizer
