"""Our tokenizer, through the public calls of `groundup.tokenizer.bpe`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from protocol import serve
from tokenizer_work import END_OF_TEXT, Encoder, EncoderWork, Merges, train_operation

import groundup
from groundup.tokenizer.bpe import Tokenizer, train_bpe


class Groundup(Encoder):
    calls: ClassVar = {
        "encode": "Tokenizer.encode_to_array(bytes)",
        "list": "Tokenizer.encode(bytes)",
        "small": "Tokenizer.encode_to_array(bytes)",
        "batch": "Tokenizer.encode_batch_to_arrays(list of bytes, num_threads=)",
        "decode": "Tokenizer.decode_bytes(array)",
    }

    def __init__(self, folder: Path, threads: int) -> None:
        self._tokenizer, self._threads = Tokenizer.load(folder / "tokenizer.json"), threads

    def prepare(self, text: str) -> bytes:
        return text.encode()

    def encode(self, text: bytes) -> Any:
        return self._tokenizer.encode_to_array(text)

    def encode_list(self, text: bytes) -> list[int]:
        return self._tokenizer.encode(text)

    def encode_small(self, text: bytes) -> Any:
        return self._tokenizer.encode_to_array(text)

    def encode_batch(self, texts: list[bytes]) -> Any:
        return self._tokenizer.encode_batch_to_arrays(texts, num_threads=self._threads)

    def decode(self, ids: Any) -> bytes:
        return self._tokenizer.decode_bytes(ids)

    def raw_ids(self, encoded: Any) -> bytes:
        return super().raw_ids(encoded) if isinstance(encoded, list) else encoded.astype("uint32").tobytes()


def train(files: Sequence[str], num_merges: int, alphabet: int, threads: int) -> Callable[[], Merges]:
    _, merges = train_bpe(list(files), 257 + num_merges, [END_OF_TEXT], num_threads=threads)
    return lambda: merges


def versions() -> dict[str, str]:
    return {"groundup": groundup.__version__}


if __name__ == "__main__":
    call = f"train_bpe(files, vocab_size, [{END_OF_TEXT!r}])"
    serve({**EncoderWork(Groundup, versions).operations(), "train": train_operation(train, call, versions)})
