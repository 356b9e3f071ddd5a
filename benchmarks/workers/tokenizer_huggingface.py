"""Hugging Face's tokenizers. It trains from files line by line, which is faster than from documents one by one.

So no pre-token spans two lines, and the separator of documents is learned like other text: that is counted
when its merges are checked.
"""

import json
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from protocol import serve
from tokenizer_work import END_OF_TEXT, Encoder, EncoderWork, Merges, printable_bytes, train_operation


class HuggingFace(Encoder):
    calls: ClassVar = {
        "encode": "Tokenizer.encode_batch_fast([str])[0].ids",
        "list": "Tokenizer.encode_batch_fast([str])[0].ids",
        "small": "Tokenizer.encode_batch_fast([str])[0].ids",
        "batch": "Tokenizer.encode_batch_fast(list of str)",
        "decode": "Tokenizer.decode(list)",
    }

    def __init__(self, folder: Path, threads: int) -> None:
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> list[int]:
        return self._tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids

    def encode_list(self, text: str) -> list[int]:
        return self.encode(text)

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch_fast(texts, add_special_tokens=False)

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids, skip_special_tokens=False)

    def raw_batch_ids(self, encoded: Any) -> bytes:
        return b"".join(self.raw_ids(one.ids) for one in encoded)


def train(files: Sequence[str], num_merges: int, alphabet: int, threads: int) -> Callable[[], Merges]:
    from tokenizers import Tokenizer
    from tokenizers.models import BPE
    from tokenizers.pre_tokenizers import ByteLevel
    from tokenizers.trainers import BpeTrainer

    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    trainer = BpeTrainer(
        vocab_size=257 + num_merges,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train(list(files), trainer)
    byte_of = printable_bytes()

    def merges() -> Merges:
        for left, right in json.loads(tokenizer.to_str())["model"]["merges"]:
            yield bytes(byte_of[character] for character in left), bytes(byte_of[character] for character in right)

    return merges


def versions() -> dict[str, str]:
    return {"tokenizers": version("tokenizers")}


if __name__ == "__main__":
    call = "Tokenizer.train(files, BpeTrainer(...)), line by line"
    serve({**EncoderWork(HuggingFace, versions).operations(), "train": train_operation(train, call, versions)})
