"""Learn a vocabulary from a corpus of little stories, look at it, save it, and read it back.

Run it: python examples/02_train_a_tokenizer.py
Read next: src/groundup/tokenizer/bpe.py, then example 03. On the command line: groundup tokenizer train.
"""

import tempfile
import time
from pathlib import Path

from groundup import Tokenizer, train_bpe
from groundup.corpus import END_OF_TEXT
from groundup.data.toy_stories import write_corpus

VOCAB_SIZE = 2_000


def main(folder: Path) -> None:
    corpus = folder / "stories.txt"
    counts = write_corpus(corpus, num_stories=1_000)
    print(f"Corpus: {counts.num_stories:,} stories, {counts.size_bytes:,} bytes, {END_OF_TEXT} after each.")

    start = time.perf_counter()
    vocab, merges = train_bpe(corpus, VOCAB_SIZE, [END_OF_TEXT])
    print(f"Vocabulary: 1 special token + 256 bytes + {len(merges):,} merges, in {time.perf_counter() - start:.2f} s.")
    print("  first merges: ", *(repr((left + right).decode()) for left, right in merges[:10]))
    longest = sorted(vocab.values(), key=len, reverse=True)[1:6]  # the special token is the longest
    print("  longest tokens:", *(repr(token.decode()) for token in longest))

    tokenizer = Tokenizer(vocab, merges, [END_OF_TEXT])
    sentence = "Once upon a time, a very small hedgehog wanted to see the moon."
    ids = tokenizer.encode(sentence)
    print(f"\nA sentence of {len(sentence)} bytes is {len(ids)} tokens:")
    print("  " + "|".join(tokenizer.decode([id]) for id in ids))
    print("  " + " ".join(map(str, ids)))

    print("\nA vocabulary fits the text it was learned from. Bytes per token:")
    story = corpus.read_text(encoding="utf-8").split(END_OF_TEXT)[0]
    others = {"a story": story, "German": "Es war einmal ein kleiner Igel im Wald.", "Python": "for i in range(10):"}
    for name, text in others.items():
        print(f"  {name:8} {len(text.encode()) / len(tokenizer.encode(text)):.2f}")

    end = f"The end.{END_OF_TEXT}"
    print("\nThe spelling of a special token is the token, or plain text where you do not trust the writer:")
    print("  special='token':", tokenizer.encode(end))
    print("  special='text': ", tokenizer.encode(end, special="text"))

    tokenizer.save(folder / "tokenizer.json")
    again = Tokenizer.load(folder / "tokenizer.json")
    print("\nSaved as tokenizer.json, a format that other tools read too, and loaded again:")
    print(
        f"  same ids: {again.encode(sentence) == ids}, same fingerprint: {again.fingerprint == tokenizer.fingerprint}"
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
