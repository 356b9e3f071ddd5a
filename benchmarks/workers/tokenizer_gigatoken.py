"""gigatoken: one text with `encode`, many with `encode_batch` on a BytesSource, both from bytes, which it likes best.

It is told its threads by RAYON_NUM_THREADS. Its result for many texts is an awkward Array.
"""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from protocol import serve
from tokenizer_work import END_OF_TEXT, Encoder, EncoderWork, Merges, train_operation


class Gigatoken(Encoder):
    calls: ClassVar = {
        "encode": "Tokenizer.encode(bytes)",
        "list": "Tokenizer.encode_batch_list([bytes])",
        "small": "Tokenizer.encode(bytes)",
        "batch": "Tokenizer.encode_batch(BytesSource(list of bytes))",
        "decode": "Tokenizer.decode(array)",
    }

    def __init__(self, folder: Path, threads: int) -> None:
        import gigatoken  # pyright: ignore[reportMissingImports]

        self._source = gigatoken.BytesSource
        self._tokenizer = gigatoken.Tokenizer(folder / "tokenizer.json")
        self._parallel = threads > 1

    def prepare(self, text: str) -> bytes:
        return text.encode()

    def encode(self, text: bytes) -> Any:
        return self._tokenizer.encode(text)

    def encode_list(self, text: bytes) -> list[int]:
        return self._tokenizer.encode_batch_list([text], parallel=self._parallel)[0]

    def encode_batch(self, texts: list[bytes]) -> Any:
        return self._tokenizer.encode_batch(self._source(texts), parallel=self._parallel)

    def decode(self, ids: Any) -> bytes:
        return self._tokenizer.decode(ids)

    def raw_ids(self, encoded: Any) -> bytes:
        return super().raw_ids(encoded) if isinstance(encoded, list) else encoded.astype("uint32").tobytes()

    def raw_batch_ids(self, encoded: Any) -> bytes:
        import awkward  # pyright: ignore[reportMissingImports]
        import numpy

        return numpy.asarray(awkward.flatten(encoded)).astype("uint32").tobytes()


def train(files: Sequence[str], num_merges: int, alphabet: int, threads: int) -> Callable[[], Merges]:
    import gigatoken  # pyright: ignore[reportMissingImports]

    source = gigatoken.TextFileSource(list(files), separator=END_OF_TEXT)
    _, merges = gigatoken.train_bpe(source, 257 + num_merges, [END_OF_TEXT])
    return lambda: merges


def versions() -> dict[str, str]:
    return {"gigatoken": version("gigatoken")}


if __name__ == "__main__":
    call = f"train_bpe(TextFileSource(files, separator={END_OF_TEXT!r}), vocab_size, [{END_OF_TEXT!r}])"
    serve({**EncoderWork(Gigatoken, versions).operations(), "train": train_operation(train, call, versions)})
