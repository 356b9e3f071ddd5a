"""Byte-level BPE, written to be read: how a vocabulary is learned and how text becomes ids.

This is the lesson and the oracle. The native core (native/) does the same a thousand times faster and is
tested against these functions; `groundup.tokenizer.bpe` is the tokenizer to use.
Read on: docs/lessons/tokenizer.md, step by step from here to native/bpe_train.cpp (no counting anew at each merge)
and native/merger.cpp. Sources: Sennrich et al. 2016 (arXiv 1508.07909); Radford et al. 2019 (GPT-2).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from groundup.errors import TokenizerError
from groundup.tokenizer.unicode_classes import LETTERS, NUMBERS, SPACES

Pair = tuple[bytes, bytes]
Tokens = tuple[bytes, ...]  # a pre-token, as the tokens it consists of so far

# The GPT-2 pattern: contractions; words, numbers and punctuation with the space before them; white space.
#   '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
# `re` knows no \p{...} and its \s is another one, so the classes are spelled out.
PRE_TOKEN = re.compile(
    rf"'(?:[sdmt]|ll|ve|re)| ?[{LETTERS}]+| ?[{NUMBERS}]+| ?[^{SPACES}{LETTERS}{NUMBERS}]+"
    rf"|[{SPACES}]+(?![^{SPACES}])|[{SPACES}]+"
)


def pre_tokenize(text: str) -> list[str]:
    """The pieces that tokens never cross. Joined, they are the text.

    >>> pre_tokenize("I'll go,  then")
    ['I', "'ll", ' go', ',', ' ', ' then']
    """
    return PRE_TOKEN.findall(text)


def split_special(text: str, special_tokens: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """The text in parts, each with whether it is a special token. Of two that fit, the longer one counts.

    >>> list(split_special("x<a><a>y", ["<a>", "<a><a>"]))
    [('x', False), ('<a><a>', True), ('y', False)]
    """
    special_tokens = sorted(special_tokens, key=len, reverse=True)  # `re` takes the first that fits
    if "" in special_tokens:
        raise TokenizerError("a special token is empty: give it at least one character")
    pattern = "|".join(map(re.escape, special_tokens)) or "(?!)"  # (?!) never matches
    for i, part in enumerate(re.split(f"({pattern})", text)):
        if part:
            yield part, i % 2 == 1


def train_bpe_reference(
    text: str, vocab_size: int, special_tokens: Sequence[str] = ()
) -> tuple[dict[int, bytes], list[Pair]]:
    """A vocabulary of at most `vocab_size` entries and the merges in order of creation.

    The special tokens take the first ids, then come the 256 bytes, then the merges.
    """
    entries = [token.encode() for token in dict.fromkeys(special_tokens)] + [bytes([b]) for b in range(256)]
    if vocab_size < len(entries):
        raise TokenizerError(
            f"vocab_size {vocab_size} is too small: 256 bytes and {len(entries) - 256} special tokens "
            f"take {len(entries)} entries"
        )
    merges = learn_merges(count_words(text, special_tokens), vocab_size - len(entries))
    entries += [left + right for left, right in merges]
    return dict(enumerate(entries)), merges


def count_words(text: str, special_tokens: Iterable[str] = ()) -> Counter[bytes]:
    """How often each pre-token occurs, as UTF-8. Special tokens part the text and are not counted.

    >>> count_words("a b<|x|> b", ["<|x|>"])
    Counter({b' b': 2, b'a': 1})
    """
    counts: Counter[bytes] = Counter()
    for part, is_special in split_special(text, special_tokens):
        if not is_special:
            counts.update(word.encode() for word in pre_tokenize(part))
    return counts


def learn_merges(word_counts: Mapping[bytes, int], num_merges: int) -> list[Pair]:
    """The merges: again and again the most frequent pair of neighbours becomes one token.

    On a tie the greatest pair wins, as Python compares tuples of bytes. Ends early when no pair is left.

    >>> words = {b"low": 5, b"lower": 2, b"widest": 3, b"newest": 6}
    >>> [b" ".join(pair).decode() for pair in learn_merges(words, 12)]
    ['s t', 'e st', 'o w', 'l ow', 'w est', 'n e', 'ne west', 'w i', 'wi d', 'wid est', 'low e', 'lowe r']
    """
    words = {tuple(bytes([b]) for b in word): count for word, count in word_counts.items()}
    merges: list[Pair] = []
    while len(merges) < num_merges:
        pair_counts: Counter[Pair] = Counter()
        for word, count in words.items():
            for pair in pairwise(word):
                pair_counts[pair] += count
        if not pair_counts:
            break
        best = max(pair_counts, key=lambda pair: (pair_counts[pair], pair))
        merges.append(best)
        # Most words do not hold the pair: looking first saves most of the time.
        words = {merge_pair(w, best) if best[0] in w else w: count for w, count in words.items()}
    return merges


def merge_pair(word: Tokens, pair: Pair) -> Tokens:
    """The word with every occurrence of the pair joined, from left to right without overlap.

    >>> merge_pair((b"a", b"a", b"a", b"b"), (b"a", b"a"))
    (b'aa', b'a', b'b')
    """
    merged: list[bytes] = []
    i = 0
    while i < len(word):
        if word[i : i + 2] == pair:
            merged.append(pair[0] + pair[1])
            i += 2
        else:
            merged.append(word[i])
            i += 1
    return tuple(merged)


class ReferenceTokenizer:
    """Text to ids and back, with a vocabulary and merges as `train_bpe_reference` gives them.

    >>> vocab = dict(enumerate(b" ,a,c,e,h,t,th, c, a,the, at".split(b",")))
    >>> merges = [(b"t", b"h"), (b" ", b"c"), (b" ", b"a"), (b"th", b"e"), (b" a", b"t")]
    >>> tokenizer = ReferenceTokenizer(vocab, merges)
    >>> tokenizer.encode("the cat ate")
    [9, 7, 1, 5, 10, 3]
    >>> tokenizer.decode([9, 7, 1, 5, 10, 3])
    'the cat ate'
    """

    def __init__(self, vocab: Mapping[int, bytes], merges: Sequence[Pair], special_tokens: Sequence[str] = ()) -> None:
        self.vocab = dict(vocab)
        self.ranks = {pair: rank for rank, pair in reversed(list(enumerate(merges)))}  # a pair's first rank
        self.special_tokens = list(special_tokens)
        for token in map(str.encode, self.special_tokens):
            if token not in self.vocab.values():
                self.vocab[max(self.vocab, default=-1) + 1] = token
        self.ids = {token: id for id, token in sorted(self.vocab.items(), reverse=True)}  # the lowest id

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """The ids of the text. With `special` False the spelling of a special token is ordinary text."""
        tokens: list[bytes] = []
        for part, is_special in split_special(text, self.special_tokens if special else ()):
            if is_special:
                tokens.append(part.encode())
            else:
                for word in pre_tokenize(part):
                    tokens += self.apply_merges(word.encode())
        try:
            return [self.ids[token] for token in tokens]
        except KeyError as error:
            message = f"the vocabulary has no token {error.args[0]!r}, which the text needs"
            raise TokenizerError(message) from None

    def apply_merges(self, word: bytes) -> Tokens:
        """The tokens of one pre-token: the pair whose merge came first is merged first, everywhere."""
        tokens = tuple(bytes([b]) for b in word)
        while pairs := [pair for pair in pairwise(tokens) if pair in self.ranks]:
            tokens = merge_pair(tokens, min(pairs, key=self.ranks.__getitem__))
        return tokens

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the ids; bytes that are no UTF-8 become U+FFFD."""
        try:
            return b"".join(self.vocab[id] for id in ids).decode(errors="replace")
        except KeyError as error:
            raise TokenizerError(f"id {error.args[0]} is not in the vocabulary") from None
