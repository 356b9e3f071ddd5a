"""What a tokenizer is made of, checked: tokens, merges, special tokens, pattern, and what other families add.

`bpe.py` encodes with a Vocabulary, `formats.py` reads and writes one. Ids may have gaps; a token that a
merge names is always there.
"""

import hashlib
import json
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from groundup.errors import TokenizerError
from groundup.tokenizer.patterns import GPT2_PATTERN
from groundup.tokenizer.special import check_special_tokens

Merge = tuple[bytes, bytes]
Normalization = Literal["NFC"] | None
LARGEST_ID = 0xFFFFFFFE  # ids have 32 bits in the native core and on disk, and the last value means "none"


@dataclass(frozen=True)
class Vocabulary:
    """The parts of a tokenizer. Equal parts give equal ids for every text."""

    tokens: dict[int, bytes]  # in the order of the ids, special tokens too
    merges: list[Merge]  # in order of creation
    special_tokens: dict[str, int]
    pattern: str = GPT2_PATTERN
    ignore_merges: bool = False  # a pre-token that is a token of ordinary text as a whole is not merged, but looked up
    normalization: Normalization = None  # of the text between special tokens, before it is cut into pre-tokens

    def ordinary_ids(self) -> dict[bytes, int]:
        """The ids of what ordinary text is made of: every token that is not special.

        A special token is among them only if it is a byte, or a merge makes it, that has no other id.
        """
        special = set(self.special_tokens.values())
        ids = {token: id for id, token in self.tokens.items() if id not in special}
        made = {left + right for left, right in self.merges} if special else set()
        for id in special:
            token = self.tokens[id]
            if len(token) == 1 or token in made:
                ids.setdefault(token, id)
        return ids

    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of all that decides the ids; the same whatever file it was read from.

        Of this as JSON, names in order, without white space. What newer families add is there only where it is not
        the default, so that tokenizers from before it existed keep their fingerprint.
        """
        special = sorted([id, token] for token, id in self.special_tokens.items())
        parts = {
            "merges": "[" + ",".join([f'["{left.hex()}","{right.hex()}"]' for left, right in self.merges]) + "]",
            "pattern": json.dumps(self.pattern),
            "special_tokens": json.dumps(special, separators=(",", ":")),
            "tokens": "[" + ",".join([f'[{id},"{self.tokens[id].hex()}"]' for id in sorted(self.tokens)]) + "]",
        }
        if self.ignore_merges:
            parts["ignore_merges"] = "true"
        if self.normalization:
            parts["normalization"] = json.dumps(self.normalization)
        canonical = "{" + ",".join(f'"{name}":{value}' for name, value in sorted(parts.items())) + "}"
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def make_vocabulary(
    tokens: Mapping[int, bytes],
    merges: Sequence[Merge],
    special_tokens: Sequence[str] | Mapping[str, int] | None = None,
    pattern: str = GPT2_PATTERN,
    *,
    ignore_merges: bool = False,
    normalization: Normalization = None,
) -> Vocabulary:
    """A checked Vocabulary, of copies. Special tokens that `tokens` lacks get the ids after the largest one.

    >>> make_vocabulary({0: b"a", 7: b"b"}, [], ["<end>"]).tokens
    {0: b'a', 7: b'b', 8: b'<end>'}

    With ids of their own, special tokens may spell what an ordinary token is as well (GPT-NeoX has "  " twice):

    >>> make_vocabulary({0: b"a"}, [], {"a": 9}).ordinary_ids()
    {b'a': 0}

    Raises TokenizerError for an id outside 0 .. LARGEST_ID or of two tokens, a token that is empty or has two
    ids, a merge that is given twice or names a token which is not there, and special tokens that cannot be.
    """
    names = check_special_tokens(special_tokens if isinstance(special_tokens, str) else list(special_tokens or ()))
    given = dict(special_tokens) if isinstance(special_tokens, Mapping) else {}
    own = _copy_tokens(_with_special(tokens, given))
    given = {name: operator.index(id) for name, id in given.items()}
    ids = _ids_by_token(own, names, set(given.values()))
    _check_merges(merges, ids)
    special: dict[str, int] = {}
    next_id = max(own, default=-1) + 1
    for name in names:
        token = name.encode()
        if name not in given and token not in ids:
            ids[token] = next_id
            own[next_id] = token
            next_id += 1
        special[name] = given.get(name, ids[token])
    own_merges = [merge if isinstance(merge, tuple) else (merge[0], merge[1]) for merge in merges]
    return Vocabulary(own, own_merges, special, pattern, ignore_merges, normalization)


def _with_special(tokens: Mapping[int, bytes], special: Mapping[str, int]) -> dict[int, bytes]:
    """The tokens and the special tokens that came with ids of their own."""
    together = dict(tokens)
    for name, id in special.items():
        if together.setdefault(id, name.encode()) != name.encode():
            raise TokenizerError(f"the special token {name!r} has the id of the token {together[id]!r}, {id}")
    return together


def _ids_by_token(tokens: Mapping[int, bytes], names: Sequence[str], special_ids: set[int]) -> dict[bytes, int]:
    """The id of each token: of a special token with an id of its own, that of the ordinary token if there is one."""
    # A special token of one byte may have an id beside that of the byte: the lower one (SPEC 1.1's layout).
    may_repeat = {name.encode() for name in names if len(name.encode()) == 1}
    ordinary = {id: token for id, token in tokens.items() if id not in special_ids} if special_ids else tokens
    ids: dict[bytes, int] = dict(zip(ordinary.values(), ordinary, strict=True))
    if len(ids) < len(ordinary):
        ids.clear()
        for id, token in ordinary.items():
            if ids.setdefault(token, id) == id:
                continue
            if token not in may_repeat:
                raise TokenizerError(f"ids {ids[token]} and {id} both stand for {token!r}; a token has one id")
            may_repeat.remove(token)
    for id in special_ids:
        ids.setdefault(tokens[id], id)
    return ids


def _copy_tokens(tokens: Mapping[int, bytes]) -> dict[int, bytes]:
    """The tokens in the order of their ids."""
    if set(map(type, tokens)) <= {int} and set(map(type, tokens.values())) <= {bytes} and all(tokens.values()):
        own = dict(tokens)
    else:
        own = dict(_each_checked(tokens))
    for id in (min(own, default=0), max(own, default=0)):
        if not 0 <= id <= LARGEST_ID:
            raise TokenizerError(f"the id {id} of token {own[id]!r} cannot be used; ids lie in 0 .. {LARGEST_ID}")
    ids = sorted(own)
    return own if ids == list(own) else {id: own[id] for id in ids}


def _each_checked(tokens: Mapping[int, bytes]) -> Iterator[tuple[int, bytes]]:
    for id, token in tokens.items():
        if not isinstance(token, bytes) or not token:
            raise TokenizerError(f"token {id} is {token!r}; a token is bytes, one at least")
        try:
            yield operator.index(id), token
        except TypeError:
            raise TokenizerError(f"the id {id!r} of token {token!r} is not an integer") from None


def _check_merges(merges: Sequence[Merge], ids: Mapping[bytes, int]) -> None:
    named = {token for left, right in merges for token in (left, right, left + right)}
    if named - ids.keys():
        rank, token = next(
            (rank, token)
            for rank, (left, right) in enumerate(merges)
            for token in (left, right, left + right)
            if token not in ids
        )
        left, right = merges[rank]
        raise TokenizerError(
            f"merge {rank} ({left!r} + {right!r}) needs the token {token!r}, which the vocabulary lacks"
        )
    if len(set(merges)) < len(merges):
        seen: set[Merge] = set()
        twice = next(merge for merge in merges if merge in seen or seen.add(merge))
        raise TokenizerError(f"the merge {twice[0]!r} + {twice[1]!r} is given twice; each merge has one rank")
