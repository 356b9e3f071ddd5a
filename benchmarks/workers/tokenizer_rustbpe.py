"""rustbpe: trains from documents in memory; it encodes only with what it trained itself, so that is left out.

It tells the tokens in their order and not which pair each came from; that is found after the time has stopped.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from itertools import pairwise

from protocol import serve
from tokenizer_work import END_OF_TEXT, GPT2_PATTERN, Merges, read_text, train_operation


def train(files: Sequence[str], num_merges: int, alphabet: int, threads: int) -> Callable[[], Merges]:
    import rustbpe  # pyright: ignore[reportMissingImports]

    tokenizer = rustbpe.Tokenizer()
    documents = (document for file in files for document in read_text(file).split(END_OF_TEXT))
    tokenizer.train_from_iterator(documents, 256 + num_merges, pattern=GPT2_PATTERN)
    return lambda: recover_merges(bytes(token) for token, _ in tokenizer.get_mergeable_ranks())


def recover_merges(tokens: Iterable[bytes]) -> Merges:
    """The pair behind each token, in order: what the merges before it leave of its bytes.

    >>> list(recover_merges([b"a", b"b", b"c", b"ab", b"abc"]))
    [(b'a', b'b'), (b'ab', b'c')]
    """
    ranks: dict[bytes, int] = {}
    for token in tokens:
        parts = [bytes([byte]) for byte in token]
        while len(parts) > 2:
            pairs = [ranks.get(left + right, len(ranks)) for left, right in pairwise(parts)]
            place = pairs.index(min(pairs))
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        if len(parts) == 2:
            yield parts[0], parts[1]
        ranks[token] = len(ranks)


if __name__ == "__main__":
    call = "Tokenizer.train_from_iterator(documents, vocab_size, pattern=)"
    serve({"train": train_operation(train, call, lambda: {"rustbpe": version("rustbpe")})})
