"""gigabpe: only trains. As Hugging Face's trainer from files: line by line, the separator like other text.

Its vocabulary begins with the bytes that occur, not with all 256, so it is asked for that many fewer entries.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import version

from protocol import serve
from tokenizer_work import END_OF_TEXT, Merges, printable_bytes, train_operation


def train(files: Sequence[str], num_merges: int, alphabet: int, threads: int) -> Callable[[], Merges]:
    import gigabpe  # pyright: ignore[reportMissingImports]

    _, merges = gigabpe.train_bpe(
        list(files),
        vocab_size=1 + alphabet + num_merges,
        special_tokens=[END_OF_TEXT],
        pretokenizer="bytelevel",
        threads=threads,
    )
    byte_of = printable_bytes()
    return lambda: (
        (bytes(byte_of[character] for character in left), bytes(byte_of[character] for character in right))
        for left, right in merges
    )


if __name__ == "__main__":
    call = 'train_bpe(files, vocab_size=, pretokenizer="bytelevel", threads=), line by line'
    serve({"train": train_operation(train, call, lambda: {"gigabpe": version("gigabpe")})})
