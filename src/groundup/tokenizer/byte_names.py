"""Vocabulary objects and merges as GPT-2 and Hugging Face write them: every token by a name, in JSON.

A token's name is its bytes in the alphabet of `byte_characters.py`; that of a special token is its spelling.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from groundup.errors import TokenizerError
from groundup.tokenizer.byte_characters import is_byte_name, to_bytes, to_characters
from groundup.tokenizer.vocabulary import Merge, Vocabulary


def read_tokens(names: Mapping[str, Any], special: Iterable[str]) -> dict[int, bytes]:
    """Names and ids of a vocabulary object as ids and bytes. Raises TokenizerError for those that cannot be."""
    raw = {name for name in special if not is_byte_name(name)}
    if set(map(type, names.values())) - {int}:
        name, id = next((name, id) for name, id in names.items() if type(id) is not int)
        raise TokenizerError(f"the id of the token {name!r} is {id!r}; it must be an integer")
    tokens = {id: name.encode() if name in raw else to_bytes(name) for name, id in names.items()}
    if len(tokens) < len(names):
        id = next(id for id, count in Counter(names.values()).items() if count > 1)
        first, second, *_ = (name.encode() if name in raw else to_bytes(name) for name in names if names[name] == id)
        raise TokenizerError(f"the tokens {first!r} and {second!r} have the same id, {id}")
    return tokens


def write_tokens(vocabulary: Vocabulary) -> dict[str, int]:
    """The vocabulary object: a name for each token, and its id.

    Raises TokenizerError for special tokens that the names cannot tell from bytes.
    """
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


def read_merges(numbered: Iterable[tuple[int, Any]], known: Mapping[str, bytes], what: str) -> list[Merge]:
    """Merges, each "Ġ t" or ["Ġ", "t"], as bytes; `known` are the tokens of the vocabulary by their names.

    Raises TokenizerError that names the merge by its number, as `what` number.
    """
    numbered = list(numbered)
    pairs = [merge.split(" ") if isinstance(merge, str) else merge for _, merge in numbered]
    if set(map(type, pairs)) <= {list} and "" not in known:
        # Mostly each part is the name of a token, and that is all there is to see.
        with contextlib.suppress(KeyError, TypeError, ValueError):
            return [(known[left], known[right]) for left, right in pairs]
    merges: list[Merge] = []
    for (number, merge), parts in zip(numbered, pairs, strict=True):
        if not isinstance(parts, list) or len(parts) != 2 or not all(type(part) is str and part for part in parts):
            raise TokenizerError(f"{what} {number}: {merge!r} is not a merge; two tokens are needed, as in 'Ġ t'")
        try:
            # A name that is not known is a fault of the vocabulary, and make_vocabulary says so.
            left, right = (known.get(part) or to_bytes(part) for part in parts)
        except TokenizerError as error:
            raise TokenizerError(f"{what} {number}: {error}") from error
        merges.append((left, right))
    return merges


def write_merges(vocabulary: Vocabulary, names: Mapping[str, int]) -> list[list[str]]:
    """The merges, as pairs of the names that `write_tokens` gave.

    Raises TokenizerError for a merge of a token that is nothing but special: no text comes to it.
    """
    ordinary = vocabulary.ordinary_ids()
    by_id = {id: name for name, id in names.items()}
    for rank, merge in enumerate(vocabulary.merges):
        for token in merge:
            if token not in ordinary:
                raise TokenizerError(
                    f"merge {rank} ({merge[0]!r} + {merge[1]!r}) cannot be saved: its part {token!r} is a special "
                    "token that no merge makes; leave the merge out, which changes no ids"
                )
    return [[by_id[ordinary[left]], by_id[ordinary[right]]] for left, right in vocabulary.merges]


def is_mistaken_name(spelling: str) -> bool:
    """Whether a special token's spelling, taken for a name in the byte alphabet, is other text: "Ġa" is " a"."""
    try:
        token = to_bytes(spelling)
        token.decode()
    except (TokenizerError, UnicodeDecodeError):
        return False
    return token != spelling.encode()
