"""What a tokenizer is made of, checked: tokens, merges, special tokens, pattern.

`bpe.py` encodes with a Vocabulary, `formats.py` reads and writes one. Ids may have gaps; a token that a
merge names is always there.
"""

import hashlib
import json
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from groundup.errors import TokenizerError
from groundup.tokenizer.patterns import GPT2_PATTERN
from groundup.tokenizer.special import check_special_tokens

Merge = tuple[bytes, bytes]
LARGEST_ID = 0xFFFFFFFE  # ids have 32 bits in the native core and on disk, and the last value means "none"


@dataclass(frozen=True)
class Vocabulary:
    """The parts of a tokenizer. Equal parts give equal ids for every text."""

    tokens: dict[int, bytes]  # in the order of the ids, special tokens too
    merges: list[Merge]  # in order of creation
    special_tokens: dict[str, int]
    pattern: str = GPT2_PATTERN

    def ordinary_ids(self) -> dict[bytes, int]:
        """The ids of what ordinary text is made of: every token that is a byte or comes from a merge.

        A special token is not among them, whatever its spelling, unless a byte or a merge makes it as well.
        """
        made = {left + right for left, right in self.merges}
        special = set(self.special_tokens.values())
        # In the order of the ids: of a one-byte special token and the byte itself, the byte comes later and stays.
        return {token: id for id, token in self.tokens.items() if id not in special or len(token) == 1 or token in made}

    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of all that decides the ids; the same whatever file it was read from."""
        parts = {
            "merges": [[left.hex(), right.hex()] for left, right in self.merges],
            "pattern": self.pattern,
            "special_tokens": sorted([id, token] for token, id in self.special_tokens.items()),
            "tokens": [[id, token.hex()] for id, token in sorted(self.tokens.items())],
        }
        canonical = json.dumps(parts, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def make_vocabulary(
    tokens: Mapping[int, bytes],
    merges: Sequence[Merge],
    special_tokens: Sequence[str] | None = None,
    pattern: str = GPT2_PATTERN,
) -> Vocabulary:
    """A checked Vocabulary, of copies. Special tokens that `tokens` lacks get the ids after the largest one.

    >>> make_vocabulary({0: b"a", 7: b"b"}, [], ["<end>"]).tokens
    {0: b'a', 7: b'b', 8: b'<end>'}

    Raises TokenizerError for an id outside 0 .. LARGEST_ID, a token that is empty or has two ids, a merge
    that is given twice or names a token which is not there, and special tokens that cannot be.
    """
    names = check_special_tokens(special_tokens or ())
    own = _copy_tokens(tokens)
    # A special token of one byte may have an id beside that of the byte: the lower one (SPEC 1.1's layout).
    may_repeat = {name.encode() for name in names if len(name.encode()) == 1}
    ids: dict[bytes, int] = {}
    for id, token in own.items():
        if token not in ids:
            ids[token] = id
        elif token in may_repeat:
            may_repeat.remove(token)
        else:
            raise TokenizerError(f"ids {ids[token]} and {id} both stand for {token!r}; a token has one id")
    _check_merges(merges, ids)
    special: dict[str, int] = {}
    next_id = max(own, default=-1) + 1
    for name in names:
        token = name.encode()
        if token not in ids:
            ids[token] = next_id
            own[next_id] = token
            next_id += 1
        special[name] = ids[token]
    return Vocabulary(own, [(left, right) for left, right in merges], special, pattern)


def _copy_tokens(tokens: Mapping[int, bytes]) -> dict[int, bytes]:
    """The tokens in the order of their ids."""
    own: dict[int, bytes] = {}
    for id, token in tokens.items():
        if not isinstance(token, bytes) or not token:
            raise TokenizerError(f"token {id} is {token!r}; a token is bytes, one at least")
        try:
            own[operator.index(id)] = token
        except TypeError:
            raise TokenizerError(f"the id {id!r} of token {token!r} is not an integer") from None
    for id in (min(own, default=0), max(own, default=0)):
        if not 0 <= id <= LARGEST_ID:
            raise TokenizerError(f"the id {id} of token {own[id]!r} cannot be used; ids lie in 0 .. {LARGEST_ID}")
    return dict(sorted(own.items()))


def _check_merges(merges: Sequence[Merge], ids: Mapping[bytes, int]) -> None:
    for rank, (left, right) in enumerate(merges):
        for token in (left, right, left + right):
            if token not in ids:
                raise TokenizerError(
                    f"merge {rank} ({left!r} + {right!r}) needs the token {token!r}, which the vocabulary lacks"
                )
    if len(set(merges)) < len(merges):
        seen: set[Merge] = set()
        twice = next(merge for merge in merges if merge in seen or seen.add(merge))
        raise TokenizerError(f"the merge {twice[0]!r} + {twice[1]!r} is given twice; each merge has one rank")
