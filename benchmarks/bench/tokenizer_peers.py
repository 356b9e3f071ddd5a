"""Who takes part in the benchmark of the tokenizer, in what, and how each loads a vocabulary in a fresh process."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.peers import Peer, interpreter
from bench.sessions import Entrant
from bench.worker import WorkerError

_GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_POSSESSIVE = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"  # tiktoken's own


@dataclass(frozen=True)
class TokenizerPeer:
    """A peer and what it can do.

    Args:
        load: Python that makes `t` out of the files in the working folder: of the ways it documents the fastest.
            None if it cannot load a vocabulary, and so does not encode.
        ids: An expression for the ids of the string `s` by `t`.
        trains: "documents" or "lines": what it counts words in. None if it does not train.
    """

    peer: Peer
    load: str | None = None
    ids: str = "list(t.encode(s))"
    trains: str | None = None


TOKENIZERS = (
    TokenizerPeer(
        Peer("groundup", "tokenizer_groundup.py"),
        load="from groundup.tokenizer.bpe import Tokenizer; t = Tokenizer.load('tokenizer.json')",
        trains="documents",
    ),
    TokenizerPeer(
        Peer("gigatoken", "tokenizer_gigatoken.py", "gigatoken.txt"),
        load="import gigatoken as g; t = g.Tokenizer.from_tiktoken('ranks.tiktoken', 'gpt2', {'<|endoftext|>': {n}})",
        ids="t.encode(s).tolist()",
        trains="documents",
    ),
    TokenizerPeer(Peer("gigabpe", "tokenizer_gigabpe.py", "gigabpe.txt"), trains="lines"),
    TokenizerPeer(
        Peer("fastokens", "tokenizer_fastokens.py", "fastokens.txt"),
        load=f"from fastokens import Tokenizer as T; t = T.from_tiktoken('ranks.tiktoken', pattern={_GPT2!r}, "
        "special_tokens={'<|endoftext|>': {n}})",
        ids="t.encode(s).ids",
    ),
    TokenizerPeer(
        Peer("tiktoken", "tokenizer_tiktoken.py", "tiktoken.txt"),
        load="import tiktoken; from tiktoken.load import load_tiktoken_bpe as read; t = tiktoken.Encoding('gpt2', "
        f"pat_str={_POSSESSIVE!r}, mergeable_ranks=read('ranks.tiktoken'), special_tokens={{'<|endoftext|>': {{n}}}})",
    ),
    TokenizerPeer(
        Peer("tokenizers", "tokenizer_huggingface.py", "tokenizers.txt"),
        load="from tokenizers import Tokenizer; t = Tokenizer.from_file('tokenizer.json')",
        ids="t.encode(s).ids",
        trains="lines",
    ),
    TokenizerPeer(Peer("rustbpe", "tokenizer_rustbpe.py", "rustbpe.txt"), trains="documents"),
)
REFERENCES = ("tiktoken", "tokenizers")  # whose ids are right; the second where the first fails


def make_entrants(peers: Sequence[TokenizerPeer]) -> dict[str, Entrant]:
    """Everyone with an interpreter, by name; with the reason where it cannot be made."""
    entrants = {}
    for one in peers:
        try:
            entrants[one.peer.name] = Entrant(one.peer, interpreter(one.peer))
        except WorkerError as error:
            entrants[one.peer.name] = Entrant(one.peer, None, str(error))
    return entrants
