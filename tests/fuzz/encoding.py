"""Targets: text to ids by any vocabulary, in the core and through the Tokenizer; where words begin."""

import random
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from fuzz.inputs import Parts, random_bytes, random_merges, random_parts, random_special, random_text
from fuzz.outcome import Target, expect_equal, outcome
from groundup import _native
from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.reference import Pair, ReferenceTokenizer, pre_tokenize


@dataclass(frozen=True)
class Encoding:
    text: str
    parts: Parts
    cache_bytes: int
    special: bool
    num_threads: int
    instructions: int  # of those that this processor has


def encoder_of(parts: Parts, cache_bytes: int = 1 << 20, *, ignore_merges: bool = False) -> _native.Encoder:
    """The core's encoder, with special tokens under the ids that the tokens give them."""
    ids = _lowest_ids(parts)
    special = [(token.encode(), ids[token.encode()]) for token in parts.special]
    return _native.Encoder(parts.tokens, parts.merges, special, cache_bytes, ignore_merges=ignore_merges)


def reference_of(parts: Parts) -> ReferenceTokenizer:
    reference = ReferenceTokenizer({}, parts.merges, [])
    reference.ids = _lowest_ids(parts)  # a dict from ids cannot hold an id twice
    reference.special_tokens = parts.special
    return reference


def use_instructions(number: int) -> None:
    sets = _native.instruction_sets()
    _native.use_instruction_set(sets[number % len(sets)])


def make_encoding(rng: random.Random) -> Encoding:
    text = random_text(rng, rng.choice([60, 60, 400, 400, 1500]))
    cache = rng.choice([0, 1, 30_000, 100_000, 1 << 20])
    return Encoding(
        text, random_parts(rng, text), cache, rng.random() < 0.7, rng.choice([1, 1, 2, 5]), rng.randrange(3)
    )


def check_encoding(case: Encoding) -> None:
    """One text: the reference's ids or its error, from str and bytes, the first and the second time, in a batch."""
    use_instructions(case.instructions)
    reference = reference_of(case.parts)
    expected = outcome(lambda: reference.encode(case.text, special=case.special), TokenizerError)
    encoder = encoder_of(case.parts, case.cache_bytes)
    for _ in range(2):
        expect_equal(outcome(lambda: encoder.encode(case.text, case.special), ValueError), expected, "ids")
    as_bytes = case.text.encode()
    expect_equal(outcome(lambda: encoder.encode_array(as_bytes, case.special).tolist(), ValueError), expected, "array")
    counted = outcome(lambda: encoder.count_tokens(case.text, case.special), ValueError)
    expect_equal(counted, ("result", len(expected[1])) if expected[0] == "result" else expected, "count")
    batch = [case.text, "", case.text] * 7
    ids = outcome(lambda: encoder.encode_batch(batch, case.special, case.num_threads), ValueError)
    expect_equal(ids, ("result", [expected[1], [], expected[1]] * 7) if expected[0] == "result" else expected, "batch")
    words = [word.encode() for word in pre_tokenize(case.text)]
    spelled = outcome(lambda: [reference.ids[t] for word in words for t in reference.apply_merges(word)], KeyError)
    if spelled[0] == "result":
        expect_equal(outcome(lambda: encoder.encode_words(words), ValueError), spelled, "words")


@dataclass(frozen=True)
class LongText:
    unit: str
    size: int  # in characters; above a megabyte it is shared out to threads
    parts: Parts
    special: bool
    num_threads: int


def make_long_text(rng: random.Random) -> LongText:
    unit = random_text(rng, rng.choice([9, 400, 4000])) or "x"
    parts = random_parts(rng, unit)
    return LongText(unit, rng.randrange(1 << 19, 3 << 19), parts, rng.random() < 0.7, rng.randrange(6))


def check_long_text(case: LongText) -> None:
    """A text of a megabyte or more: the ids of one thread, of several, of a stream; as many as are counted."""
    text = (case.unit * (case.size // len(case.unit) + 1))[: case.size]
    encoder = encoder_of(case.parts)
    kind, whole = outcome(lambda: encoder.encode_array(text, case.special), ValueError)
    again = outcome(lambda: encoder.encode_array(text, case.special, case.num_threads), ValueError)
    counted = outcome(lambda: encoder.count_tokens(text, case.special, case.num_threads), ValueError)
    stream = encoder.stream(case.special)
    streamed = outcome(lambda: np.array(stream.push(text) + stream.finish(), np.uint32), ValueError)
    if kind == "error":  # whose thread comes first says which token is missing
        assert again[0] == counted[0] == streamed[0] == "error"
        return
    assert np.array_equal(again[1], whole) and np.array_equal(streamed[1], whole), "other ids"
    expect_equal(counted, ("result", len(whole)), "count")
    assert case.parts.has_ids_twice or encoder.decode_bytes(whole) == text.encode(), "the text back"


@dataclass(frozen=True)
class Spans:
    text: str
    parts: Parts
    ids: list[int]


def make_spans(rng: random.Random) -> Spans:
    text = random_text(rng, 60)
    parts = random_parts(rng, text)
    known = [id for _, id in parts.tokens] or [0]
    ids = [
        rng.choice([rng.choice(known), rng.choice(known), rng.getrandbits(33), -1]) for _ in range(rng.randrange(40))
    ]
    return Spans(text, parts, ids)


def check_spans(case: Spans) -> None:
    """Spans of the ids of a text part it; those of any other ids stay within it or are refused."""
    encoder = encoder_of(case.parts)
    outcome(lambda: encoder.spans(case.text, case.ids, False), ValueError)
    outcome(lambda: encoder.spans(case.text, case.ids, True), ValueError)
    kind, ids = outcome(lambda: encoder.encode(case.text, True), ValueError)
    if kind == "error" or case.parts.has_ids_twice:
        return
    text = case.text.encode()
    spans = encoder.spans(case.text, ids, False)
    pieces = [encoder.decode_bytes([id]) for id in ids]
    expect_equal([text[begin:end] for begin, end in spans], pieces, "bytes of the spans")
    starts = [len(text[:begin].decode(errors="ignore")) for begin, _ in spans]
    ends = [len(text[:end].decode(errors="replace")) for _, end in spans]
    expect_equal(encoder.spans(case.text, ids, True), list(zip(starts, ends, strict=True)), "characters of the spans")


@dataclass(frozen=True)
class LongWord:
    word: bytes
    merges: list[Pair]


def make_long_word(rng: random.Random) -> LongWord:
    letters = "ab" if rng.random() < 0.7 else "abcé "
    unit = "".join(rng.choice(letters) for _ in range(rng.randrange(1, 9))).encode()
    size = rng.choice([60, 64, 65, 300, 3000, 20_000])
    word = unit * (size // len(unit)) if rng.random() < 0.6 else bytes(rng.choices(unit, k=size))
    merges = random_merges(rng, word[:150].decode(errors="ignore"))
    return LongWord(word, list(dict.fromkeys(merges)))


def check_long_word(case: LongWord) -> None:
    """A word of any length: the two ways to spell it agree, and the reference with them while it is fast enough."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"".join(pair) for pair in case.merges]
    parts = Parts([(token, id) for id, token in enumerate(dict.fromkeys(tokens))], case.merges)
    spelled = encoder_of(parts).encode_words([case.word])
    # A merge given twice changes nothing, but makes the core take the other way.
    merged = encoder_of(replace(parts, merges=[*case.merges, *case.merges[:1]])).encode_words([case.word])
    expect_equal(spelled, merged, "ids")
    if len(case.word) <= 300:
        reference = reference_of(parts)
        expect_equal(spelled, [reference.ids[token] for token in reference.apply_merges(case.word)], "ids")


@dataclass(frozen=True)
class WholeWords:
    words: list[bytes]
    parts: Parts


def make_whole_words(rng: random.Random) -> WholeWords:
    words = [random_bytes(rng, rng.choice([4, 20, 300])) for _ in range(rng.randrange(1, 9))]
    text = b" ".join(words).decode("latin-1")
    parts = random_parts(rng, text)
    whole = [(word, rng.randrange(2**32 - 1)) for word in words if word and rng.random() < 0.5]
    return WholeWords(words * 2, replace(parts, tokens=[*parts.tokens, *whole]))


def check_whole_words(case: WholeWords) -> None:
    """Words of any bytes, with ignore_merges: those that are tokens as a whole are not merged."""
    reference = reference_of(case.parts)
    ids = reference.ids
    expected: list[int] | None = []
    for word in filter(None, case.words):
        tokens = (word,) if word in ids else reference.apply_merges(word)
        if not all(token in ids for token in tokens):
            expected = None
            break
        expected += [ids[token] for token in tokens]
    encoder = encoder_of(case.parts, ignore_merges=True)
    kind, result = outcome(lambda: encoder.encode_words(case.words), ValueError)
    if expected is None:
        assert kind == "error" and "the vocabulary has no token" in result, result
    else:
        expect_equal(result, expected, "ids")


@dataclass(frozen=True)
class Scan:
    text: bytes  # perhaps not UTF-8
    instructions: int


def make_scan(rng: random.Random) -> Scan:
    text = random_text(rng, rng.choice([100, 1500, 5000])).encode()
    if rng.random() < 0.3:
        place = rng.randrange(len(text) + 1)
        text = text[:place] + random_bytes(rng, 4) + text[place + rng.randrange(3) :]
    return Scan(text, rng.randrange(3))


def check_scan(case: Scan) -> None:
    """Where words begin: the two scanners agree with the reference, or name the byte that is not UTF-8."""
    use_instructions(case.instructions)
    try:
        words = [word.encode() for word in pre_tokenize(case.text.decode())]
    except UnicodeDecodeError as error:
        offset = error.start
        expected = ("error", f"the text is not UTF-8: byte 0x{case.text[offset]:02x} at byte offset {offset}")
        expect_equal(outcome(lambda: _native.pre_tokenize(case.text), ValueError), expected, "pre-tokens")
        expect_equal(outcome(lambda: _native.word_starts(case.text), ValueError), expected, "starts")
        return
    expect_equal(_native.pre_tokenize(case.text), words, "pre-tokens")
    starts = list(accumulate(map(len, words), initial=0))[:-1]
    expect_equal(_native.word_starts(case.text), starts, "starts")


@dataclass(frozen=True)
class Construction:
    vocab: dict[int, bytes]
    merges: list[Pair]
    special: list[str]
    text: str
    mode: str


def make_construction(rng: random.Random) -> Construction:
    text = random_text(rng, 200)
    parts = random_parts(rng, text)
    vocab = {id: token for token, id in parts.tokens}
    if rng.random() < 0.3:
        vocab[rng.choice([-1, 2**32 - 1, 2**32, 2**70, 0, 7])] = rng.choice([b"", b"a", b"new", text.encode()])
    merges = parts.merges + rng.choice([[], [], [(b"", b"a")], parts.merges[:1], [(b"no", b"where")]])
    special = rng.choice([random_special(rng), random_special(rng), ["", "x"], ["x", "x"], ["\ud800"]])
    if rng.random() < 0.1:
        text += rng.choice(["\ud83d", "\udc80"]) + random_text(rng, 9)
    return Construction(vocab, merges, special, text, rng.choice(["token", "text", "error"]))


def check_construction(case: Construction) -> None:
    """A Tokenizer from anything: made or refused; then texts are encoded or refused, and come back."""
    made = outcome(lambda: Tokenizer(case.vocab, case.merges, case.special))
    if made[0] == "error":
        return
    tokenizer: Tokenizer = made[1]
    result = outcome(lambda: tokenizer.encode(case.text, special=case.mode))  # type: ignore[arg-type]
    batch = outcome(lambda: tokenizer.encode_batch([case.text] * 3, special=case.mode))  # type: ignore[arg-type]
    assert result[0] == batch[0], f"{result} alone, {batch} in a batch"
    if result[0] == "result":
        expect_equal(tokenizer.decode(result[1]), case.text, "the text back")
        expect_equal(batch[1], [result[1]] * 3, "batch")
    replaced = outcome(lambda: tokenizer.encode(case.text, errors="replace"))
    if replaced[0] == "result":
        ids = tokenizer.encode_to_array(case.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
        expect_equal(ids.tolist(), replaced[1], "array")


TARGETS = [
    Target("encoding", make_encoding, check_encoding),
    Target("long-text", make_long_text, check_long_text),
    Target("spans", make_spans, check_spans),
    Target("long-word", make_long_word, check_long_word),
    Target("whole-words", make_whole_words, check_whole_words),
    Target("scan", make_scan, check_scan),
    Target("construction", make_construction, check_construction),
]


def _lowest_ids(parts: Parts) -> dict[bytes, int]:
    ids: dict[bytes, int] = {}
    for token, id in parts.tokens:
        ids[token] = min(id, ids.get(token, id))
    return ids
