"""Targets: ids to bytes, in lists and arrays of every layout; ids one at a time."""

import random
from dataclasses import dataclass

import numpy as np

from fuzz.encoding import encoder_of
from fuzz.inputs import Parts, random_parts, random_text
from fuzz.outcome import Target, expect_equal, outcome
from groundup.errors import TokenizerError
from groundup.tokenizer.bpe import Tokenizer

_DTYPES = ["uint16", "uint32", "int64"]
_OTHER_DTYPES = ["int8", "uint8", "int16", "int32", "uint64", ">i4", ">u4"]


@dataclass(frozen=True)
class Decoding:
    parts: Parts
    ids: list[int]
    dtype: str
    layout: str


def make_decoding(rng: random.Random) -> Decoding:
    parts = random_parts(rng, random_text(rng, 60))
    known = [id for _, id in parts.tokens]
    ids = [rng.choice(known) for _ in range(rng.choice([0, 1, 3, 50, 5000]))] if known else []
    if rng.random() < 0.4:
        unknown = rng.choice(
            [-1, 0, 1, 2**16, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**64, -(2**80), rng.getrandbits(32)]
        )
        ids.insert(rng.randrange(len(ids) + 1), unknown)
    layout = rng.choice(["whole", "strided", "reversed", "unaligned", "field", "read-only", "column", "broadcast"])
    return Decoding(parts, ids, rng.choice(_DTYPES), layout)


def check_decoding(case: Decoding) -> None:
    """The bytes of the ids or the first unknown one, from lists and arrays."""
    encoder = encoder_of(case.parts)
    tokens = {id: token for token, id in case.parts.tokens}
    unknown = next((id for id in case.ids if id not in tokens), None)
    expected = (
        ("result", b"".join(tokens[id] for id in case.ids))
        if unknown is None
        else ("error", f"id {unknown} is not in the vocabulary")
    )
    for ids in (case.ids, tuple(case.ids)):
        decoded = outcome(lambda ids=ids: encoder.decode_bytes(ids), ValueError)
        assert case.parts.has_ids_twice or decoded == expected, f"{decoded!r:.300} is not {expected!r:.300}"
    limits = np.iinfo(case.dtype)
    fitting = [id for id in case.ids if limits.min <= id <= limits.max]
    array = laid_out(np.array(fitting, case.dtype), case.layout)
    expected = outcome(lambda: encoder.decode_bytes([int(id) for id in array]), ValueError)
    try:
        decoded = outcome(lambda: encoder.decode_bytes(array), ValueError)
    except TypeError:
        # Numbers that lie across their places; the Tokenizer makes a list of them.
        assert case.layout in ("unaligned", "field"), f"{case.layout} {case.dtype} refused"
    else:
        expect_equal(decoded, expected, f"{case.layout} {case.dtype}")


def laid_out(ids: np.ndarray, layout: str) -> np.ndarray:
    """The ids, or some of them, in memory of this layout."""
    if layout == "strided":
        return np.repeat(ids, 3)[::3]
    if layout == "reversed":
        return ids[::-1]
    if layout == "unaligned":
        return np.frombuffer(b"x" + ids.tobytes(), dtype=ids.dtype, offset=1)
    if layout == "field":  # strides that are no multiple of the size
        records = np.zeros(len(ids), dtype=[("byte", np.uint8), ("id", ids.dtype)])
        records["id"] = ids
        return records["id"]
    if layout == "read-only":
        ids.setflags(write=False)
    if layout == "column":
        return np.column_stack([ids, ids])[:, 1]
    if layout == "broadcast":
        return np.broadcast_to(ids[:1], (7 * len(ids[:1]),))
    return ids


@dataclass(frozen=True)
class Showing:
    parts: Parts
    ids: list[int]
    dtype: str


def make_showing(rng: random.Random) -> Showing:
    case = make_decoding(rng)
    return Showing(case.parts, case.ids[:200], rng.choice(_OTHER_DTYPES))


def check_showing(case: Showing) -> None:
    """Tokenizer.decode of anything that holds ids is what its decoder shows, one id at a time."""
    vocab = {id: token for token, id in reversed(case.parts.tokens)}
    made = outcome(lambda: Tokenizer(vocab, []), TokenizerError)
    if made[0] == "error":
        return
    tokenizer: Tokenizer = made[1]
    whole = outcome(lambda: tokenizer.decode(case.ids))
    expect_equal(outcome(lambda: tokenizer.decode(iter(case.ids))), whole, "ids of an iterator")

    def one_by_one() -> str:
        decoder = tokenizer.decoder()
        return "".join([*(decoder.push(id) for id in case.ids), decoder.finish()])

    expect_equal(outcome(one_by_one), whole, "ids one at a time")
    small = [id % 120 for id in case.ids]
    expected = outcome(lambda: tokenizer.decode([int(id) for id in np.array(small, case.dtype)]))
    expect_equal(outcome(lambda: tokenizer.decode(np.array(small, case.dtype))), expected, case.dtype)


TARGETS = [Target("decoding", make_decoding, check_decoding), Target("showing", make_showing, check_showing)]
