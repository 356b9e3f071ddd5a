"""From characters to bytes to tokens, by hand: how byte-pair encoding builds its vocabulary.

Run it: python examples/01_bytes_to_tokens.py
Read next: src/groundup/tokenizer/reference.py, the algorithm used here, and then example 02.
"""

from collections import Counter
from itertools import pairwise

from groundup.tokenizer.reference import (
    ReferenceTokenizer,
    count_words,
    learn_merges,
    merge_pair,
    pre_tokenize,
    train_bpe_reference,
)

TEXT = "the cat sat on the mat, and then the rat sat on the cat"


def characters_are_bytes() -> None:
    print("1. UTF-8 writes every character as one to four bytes, so 256 tokens can spell any text.")
    for character in "aé€🙃":
        code = character.encode("utf-8")
        print(f"   {character}   {f'U+{ord(character):04X}':7}   {len(code)} byte(s): {code.hex(' ')}")
    half = "é".encode()[:1]
    print(f"   A byte alone need not be a character: {half!r} decodes to {half.decode(errors='replace')!r}.")


def text_is_cut_into_words() -> None:
    print("\n2. Tokens never cross words. A word keeps the space before it:")
    print("  ", "|".join(pre_tokenize(TEXT)))


def merges_are_learned() -> None:
    print("\n3. Again and again, the pair of neighbours seen most often becomes one token; words go on as below.")
    counts = count_words(TEXT)
    words = {tuple(bytes([byte]) for byte in word): count for word, count in counts.items()}
    for number, pair in enumerate(learn_merges(counts, 6), 1):
        pairs = Counter()
        for word, count in words.items():
            for neighbours in pairwise(word):
                pairs[neighbours] += count
        words = {merge_pair(word, pair): count for word, count in words.items()}
        left, right = (token.decode() for token in pair)
        spelled = "  ".join("·".join(token.decode() for token in word).replace(" ", "_") for word in words)
        print(f"   merge {number}: {left + right!r:7} seen {pairs[pair]} times   {spelled}")
    print("   Of pairs seen equally often the greatest in byte order wins: 'sat' (s, at) before 'on' (o, n).")


def new_text_is_encoded() -> None:
    vocab, merges = train_bpe_reference(TEXT, vocab_size=256 + 12)
    tokenizer = ReferenceTokenizer(vocab, merges)
    new = "that hat fits the bat 🙃"
    ids = tokenizer.encode(new)
    print(
        f"\n4. With 12 merges, text never seen before becomes {len(ids)} tokens instead of {len(new.encode())} bytes:"
    )
    print("  ", "|".join(vocab[id].decode(errors="replace") for id in ids))
    print("  ", ids)
    print("   Ids below 256 are single bytes: the emoji needs four of them, and nothing is ever unknown.")
    print(f"   Decoding gives the text back: {tokenizer.decode(ids) == new}")


if __name__ == "__main__":
    characters_are_bytes()
    text_is_cut_into_words()
    merges_are_learned()
    new_text_is_encoded()
