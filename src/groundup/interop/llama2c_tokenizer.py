"""llama2.c's tokenizer file: a score and the bytes of every token. No merges, no pattern, no special tokens.

llama2.c starts from whole characters (from bytes where it lacks one) and joins the two neighbours whose join has
the highest score, as SentencePiece does. That is byte-level BPE with a merge for every way to cut a token in two,
the best first, and so it is read. What it has built in: id 1 begins and ends a text, which is our <|endoftext|>;
ids 3 to 258 are the bytes; a text is given a space at its beginning, which here is the writer's to type.
Source: Karpathy, llama2.c (2023), run.c and tokenizer.py.
"""

import struct
from collections.abc import Mapping
from pathlib import Path

from groundup.errors import TokenizerError
from groundup.files import write_atomic
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.json_fields import naming, read_bytes
from groundup.tokenizer.vocabulary import Merge, make_vocabulary

UNKNOWN_ID, TEXT_ID, END_ID, FIRST_BYTE_ID, NUM_FIXED = 0, 1, 2, 3, 259
_END_OF_TEXT = "<|endoftext|>"
_MARKS = {UNKNOWN_ID: b"<unk>", TEXT_ID: b"\n<s>\n", END_ID: b"\n</s>\n"}  # as they stand in llama2.c's files
_BETWEEN_WORDS = r" *[^ ]+| +"  # cuts before a space after something else
_NOWHERE = r"[\s\S]+"


def read_tokenizer_bin(path: Path, vocab_size: int) -> Tokenizer:
    """The tokenizer in a file of llama2.c, for a model with that many rows.

    A byte that a token stands for as well goes by the token's id, as in llama2.c; its own id then has no text.
    Raises TokenizerError, naming the file, for one that is damaged or that no merges can express.
    """
    with naming(path):
        pieces = _read_pieces(read_bytes(path), vocab_size)
        tokens = _tokens(pieces)
        special = {"<unk>": UNKNOWN_ID} if pieces[UNKNOWN_ID][1] == _MARKS[UNKNOWN_ID] else {}
        special |= {_END_OF_TEXT: TEXT_ID}
        special |= {"</s>": END_ID} if pieces[END_ID][1] == _MARKS[END_ID] else {}
        ordinary = {id: token for id, token in tokens.items() if id not in special.values()}
        merges = _merges(ordinary, pieces)
        made = {left + right for left, right in merges}
        lone = [token for token in ordinary.values() if len(token) > 1 and token not in made]
        stranded = sorted(token for token in lone if _is_one_character(token))
        pattern = _NOWHERE if any(b" " in token.lstrip(b" ") for token in ordinary.values()) else _BETWEEN_WORDS
        if not stranded:
            return Tokenizer.from_vocabulary(make_vocabulary(ordinary, merges, special, pattern))
        return _with_whole_characters(ordinary, merges, special, pattern, stranded)


def _with_whole_characters(
    ordinary: Mapping[int, bytes], merges: list[Merge], special: dict[str, int], pattern: str, stranded: list[bytes]
) -> Tokenizer:
    """The tokenizer where some characters cannot be made of their bytes, as parts of them are no tokens.

    They are cut out of the text and looked up whole (`ignore_merges`). That must change nothing else: they are in
    no longer token, and every token that is looked up would have been made by the merges too.
    """
    for token in ordinary.values():
        if any(character in token and character != token for character in stranded):
            raise TokenizerError(f"the token {token!r} cannot be made by merges of bytes, parts of it are missing")
    plain = Tokenizer.from_vocabulary(make_vocabulary(ordinary, merges, special, pattern))
    for id, token in ordinary.items():
        if token not in stranded and _is_text(token) and plain.encode(token, special="text") != [id]:
            raise TokenizerError(f"the token {token!r} is one that its own merges do not make")
    characters = b"".join(stranded).decode()
    rest = rf" *[^ {characters}]+| +" if pattern == _BETWEEN_WORDS else rf"[^{characters}]+"
    vocabulary = make_vocabulary(ordinary, merges, special, f"[{characters}]|{rest}", ignore_merges=True)
    return Tokenizer.from_vocabulary(vocabulary)


def write_tokenizer_bin(path: Path, tokenizer: Tokenizer, order: list[int]) -> None:
    """Write the tokenizer for llama2.c; `order` has our id for each of its ids, as `layout` gives it.

    Its scores are our order of merges. What the file cannot say is lost: the pattern, and which tokens are special.
    """
    tokens = tokenizer.vocab
    ranks: dict[bytes, int] = {}
    joined: set[bytes] = set()  # parts of merges of more than one character
    for rank, (left, right) in enumerate(tokenizer.merges):
        ranks.setdefault(left + right, rank)
        if not _is_one_character(left + right):
            joined |= {left, right}
    pieces = [tokens.get(id, b"") for id in order]
    pieces[TEXT_ID] = _MARKS[TEXT_ID]
    if tokenizer.special_tokens.get("</s>") == order[END_ID]:
        pieces[END_ID] = _MARKS[END_ID]
    for byte in range(256):
        # llama2.c finds the byte itself in either spelling, but joins only what is spelled as it is.
        if bytes([byte]) not in joined or pieces[FIRST_BYTE_ID + byte] != bytes([byte]) or byte == 0:
            pieces[FIRST_BYTE_ID + byte] = b"<0x%02X>" % byte
    scored = [id for id in range(len(pieces)) if id >= NUM_FIXED or (id != TEXT_ID and pieces[id] in ranks)]
    scored.sort(key=lambda id: _place(pieces[id], ranks, id))
    scores = dict.fromkeys(range(len(pieces)), 0.0) | {id: -float(place) for place, id in enumerate(scored)}
    parts = [struct.pack("<i", max(map(len, pieces)))]
    parts += [struct.pack("<fi", scores[id], len(piece)) + piece for id, piece in enumerate(pieces)]
    write_atomic(path, b"".join(parts))


def layout(tokenizer: Tokenizer, vocab_size: int) -> list[int]:
    """Our id for each id of llama2.c: <|endoftext|> at 1, the bytes from 3 on, then all others in their order.

    The ids 0 and 2, which llama2.c never draws on in a text, go to the last two tokens. A tokenizer that came from
    llama2.c stays as it is. Raises TokenizerError for one that lacks a byte or <|endoftext|>.
    """
    tokens, end_id = tokenizer.vocab, tokenizer.end_of_text_id
    if end_id is None:
        raise TokenizerError("the tokenizer has no <|endoftext|>, with which llama2.c begins every text")
    fixed = range(FIRST_BYTE_ID, NUM_FIXED)
    if end_id == TEXT_ID and all(tokens.get(id, b"%c" % (id - 3)) == b"%c" % (id - FIRST_BYTE_ID) for id in fixed):
        return list(range(vocab_size))
    special = set(tokenizer.special_tokens.values())
    ids = {token: id for id, token in tokens.items() if len(token) == 1 and id not in special}
    if missing := [byte for byte in range(256) if bytes([byte]) not in ids]:
        raise TokenizerError(f"the tokenizer lacks a token for byte {missing[0]}; llama2.c needs all 256")
    byte_ids = [ids[bytes([byte])] for byte in range(256)]
    placed = {end_id, *byte_ids}
    others = [id for id in range(vocab_size) if id not in placed]
    if len(others) < 2:
        raise TokenizerError(f"the vocabulary has {vocab_size} entries; llama2.c needs at least {NUM_FIXED}")
    *others, second, first = others
    return [first, end_id, second, *byte_ids, *others]


def _read_pieces(content: bytes, vocab_size: int) -> list[tuple[float, bytes]]:
    """The score and the bytes of each id."""
    pieces: list[tuple[float, bytes]] = []
    place = 4  # after the length of the longest
    for id in range(vocab_size):
        if place + 8 > len(content):
            raise TokenizerError(f"it ends after {id} of the {vocab_size} tokens of the model")
        score, length = struct.unpack_from("<fi", content, place)
        place += 8
        if not 0 <= length <= len(content) - place or score != score:
            raise TokenizerError(f"token {id} has {length} bytes and the score {score}; it is no tokenizer of llama2.c")
        pieces.append((score, content[place : place + length]))
        place += length
    if place != len(content):
        raise TokenizerError(f"it goes on after the {vocab_size} tokens of the model; it belongs to another one")
    if vocab_size < NUM_FIXED:
        raise TokenizerError(f"it has {vocab_size} tokens; llama2.c has at least {NUM_FIXED}")
    return pieces


def _tokens(pieces: list[tuple[float, bytes]]) -> dict[int, bytes]:
    """The bytes of each id that has a text of its own."""
    tokens: dict[int, bytes] = {}
    first: dict[bytes, int] = {}
    for id, (_, piece) in enumerate(pieces):
        byte = id - FIRST_BYTE_ID
        if 0 <= byte < 256 and piece not in (b"<0x%02X>" % byte, bytes([byte])):
            raise TokenizerError(f"the token {id} is {piece!r}; in llama2.c it is the byte {byte}")
        if 0 <= byte < 256 or id == TEXT_ID or not piece:
            continue
        if first.setdefault(piece, id) != id:
            raise TokenizerError(f"the tokens {first[piece]} and {id} are both {piece!r}")
        tokens[id] = piece
    for byte in range(256):
        if bytes([byte]) not in first:
            tokens[FIRST_BYTE_ID + byte] = bytes([byte])
    return dict(sorted(tokens.items()))


def _merges(tokens: Mapping[int, bytes], pieces: list[tuple[float, bytes]]) -> list[Merge]:
    """A merge for every way to cut a token in two tokens: within characters first, then by score, then by id.

    Bytes that the file spells as "<0x0A>" make characters only, which llama2.c finds whole: it joins spellings.
    """
    known, spelled = set(tokens.values()), {piece for _, piece in pieces}
    ids = [id for id, token in tokens.items() if len(token) > 1]
    ids.sort(key=lambda id: (not _is_within_a_character(tokens[id]), -pieces[id][0], id))
    merges: list[Merge] = []
    for token in map(tokens.__getitem__, ids):
        parts = known if _is_one_character(token) else spelled
        merges += [
            (token[:cut], token[cut:]) for cut in range(1, len(token)) if token[:cut] in parts and token[cut:] in parts
        ]
    return merges


def _place(token: bytes, ranks: Mapping[bytes, int], id: int) -> tuple[int, int]:
    """Where a token stands in the order of scores: parts of characters, merged ones by rank, whole characters."""
    if token not in ranks or _is_one_character(token):
        return 2, id
    return int(not _is_within_a_character(token)), ranks[token]


def _is_text(token: bytes) -> bool:
    return token.decode(errors="ignore").encode() == token


def _is_one_character(token: bytes) -> bool:
    return len(token.decode(errors="ignore")) == 1 and _is_text(token)


def _is_within_a_character(token: bytes) -> bool:
    """Whether it is a character of several bytes, or a part of one: no character begins or ends inside."""
    begins = [byte for byte in token if byte >= 0xC0]
    return all(byte >= 0x80 for byte in token) and (not begins or (len(begins) == 1 and token[0] >= 0xC0))
