"""tiktoken's files: a token and its rank a line. The rank is the id, and there are no merges.

tiktoken joins, of two neighbours whose bytes together are a token, those that make the lowest rank, the
leftmost first; a pre-token that is a token as a whole is looked up before that. Here the merges that give
the same ids are found out, once, when a file is read. Source: https://github.com/openai/tiktoken.
"""

import base64
import binascii
from collections.abc import Mapping

from groundup.errors import TokenizerError
from groundup.files import StrPath, write_atomic
from groundup.tokenizer.json_fields import naming, read_bytes
from groundup.tokenizer.vocabulary import Merge, Vocabulary, make_vocabulary

_LONGEST_TOKEN = 1024  # finding out how a token is made takes time that grows with the square of its length
_NO_TOKEN = 1 << 62  # higher than any rank


def read_tiktoken(path: StrPath, special_tokens: Mapping[str, int], pattern: str) -> Vocabulary:
    """The vocabulary in a .tiktoken file, which says neither the special tokens nor the pattern.

    Raises TokenizerError, naming the file and the line, if it is malformed, and for ranks in an order in
    which no merges are.
    """
    with naming(path):
        ranks = _read_ranks(path)
        merges, unmade = merges_of_ranks(ranks)
        tokens = {rank: token for token, rank in ranks.items()}
        return make_vocabulary(tokens, merges, special_tokens, pattern, ignore_merges=bool(unmade))


def write_tiktoken(path: StrPath, vocabulary: Vocabulary) -> None:
    """Write the tokens of ordinary text; the special tokens, their ids and the pattern are to be given to tiktoken.

    Raises TokenizerError if tiktoken, which merges in the order of the ids, would give other ids.
    """
    ranks = dict(sorted(vocabulary.ordinary_ids().items(), key=lambda item: item[1]))
    refusal = "a tiktoken file would not give the same ids: "
    if vocabulary.normalization:
        raise TokenizerError(f"{refusal}tiktoken does no {vocabulary.normalization}; save a tokenizer.json")
    missing = [bytes([byte]) for byte in range(256) if bytes([byte]) not in ranks]
    if missing:
        raise TokenizerError(f"{refusal}tiktoken needs all 256 bytes, and the vocabulary lacks {missing[0]!r}")
    merges, unmade = merges_of_ranks(ranks)
    if unmade and not vocabulary.ignore_merges:
        raise TokenizerError(f"{refusal}no merge makes the token {unmade[0]!r}, which tiktoken looks up as a whole")
    # Merges that tiktoken never comes by, such as other ways to make the same token, change nothing.
    needed = set(merges)
    ours = [merge for merge in vocabulary.merges if merge in needed]
    if ours != merges:
        first = next(i for i, merge in enumerate(merges) if ours[i : i + 1] != [merge])
        raise TokenizerError(
            f"{refusal}by the order of the ids merge {first} is {merges[first]}, but the vocabulary has "
            f"{ours[first] if first < len(ours) else 'none'} there; save a tokenizer.json"
        )
    lines = (base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items())
    write_atomic(path, b"".join(lines))


def merges_of_ranks(ranks: Mapping[bytes, int]) -> tuple[list[Merge], list[bytes]]:
    """The merges in the order of the ranks, one for each token, and the tokens that merging never makes.

    >>> merges_of_ranks({b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"abc": 4, b"cba": 5})
    ([(b'b', b'c'), (b'a', b'bc')], [b'cba'])

    A token's merge is the last one by which tiktoken makes it from its own bytes. Within a longer word, too,
    it is made of no other two parts: up to there nothing crossed its ends, so that between them the same
    merges came in the same order. Costs about 2 s for 200,000 tokens. Raises TokenizerError if a part has a
    higher rank than the token: then tiktoken goes back and forth between ranks, and merges do not.
    """
    merges: list[Merge] = []
    unmade: list[bytes] = []
    for token in sorted(ranks, key=ranks.__getitem__):
        if len(token) < 2:
            continue
        cut = _last_cut(token, ranks)
        if cut is None:
            unmade.append(token)
            continue
        parts = token[:cut], token[cut:]
        for part in parts:
            if len(part) > 1 and ranks[part] > ranks[token]:
                raise TokenizerError(
                    f"the token {token!r} of rank {ranks[token]} is made of {part!r}, which has a higher rank, "
                    f"{ranks[part]}; only ranks in the order of merging can be used"
                )
        merges.append(parts)
    return merges, unmade


def _last_cut(token: bytes, ranks: Mapping[bytes, int]) -> int | None:
    """Where the two parts meet of which tiktoken makes the token in the end; None if it is left with more."""
    cuts = list(range(len(token) + 1))
    pair_ranks = [ranks.get(token[i : i + 2], _NO_TOKEN) for i in range(len(token) - 1)]
    while len(cuts) > 3:
        lowest = min(pair_ranks)
        if lowest == _NO_TOKEN:
            return None
        i = pair_ranks.index(lowest)
        del cuts[i + 1], pair_ranks[i]
        if i:
            pair_ranks[i - 1] = ranks.get(token[cuts[i - 1] : cuts[i + 1]], _NO_TOKEN)
        if i < len(pair_ranks):
            pair_ranks[i] = ranks.get(token[cuts[i] : cuts[i + 2]], _NO_TOKEN)
    return cuts[1]


def _read_ranks(path: StrPath) -> dict[bytes, int]:
    ranks: dict[bytes, int] = {}
    by_rank: dict[int, bytes] = {}
    for number, line in enumerate(read_bytes(path).splitlines(), 1):
        if not line:
            continue
        try:
            encoded, digits = line.split()
            token, rank = base64.b64decode(encoded, validate=True), int(digits)
        except (ValueError, binascii.Error):
            raise TokenizerError(
                f"line {number}: {line[:60]!r} is not a token in base64, a space and its rank, as in 'IQ== 0'"
            ) from None
        if not token or rank < 0:
            raise TokenizerError(f"line {number}: the token {token!r} of rank {rank} cannot be; ranks begin at 0")
        if len(token) > _LONGEST_TOKEN:
            raise TokenizerError(
                f"line {number}: a token of {len(token)} bytes; no vocabulary for text has more than "
                f"{_LONGEST_TOKEN}, and none is read"
            )
        if token in ranks or rank in by_rank:
            raise TokenizerError(
                f"line {number}: token {token!r} and rank {rank} were given as "
                f"{by_rank.get(rank, token)!r} {ranks.get(token, rank)} before; each stands for one of the other"
            )
        ranks[token] = rank
        by_rank[rank] = token
    if not ranks:
        raise TokenizerError("it holds no tokens; lines such as 'IQ== 0' are needed")
    return ranks
