"""fastokens: `encode_batch_flat` gives ids as bytes, without an object for each. It does not train.

Its cache of whole segments (`enable_segment_cache`) is off, as it comes: "the same text again" would be one look-up.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from tokenizer_work import Encoder, serve_encoder


class Fastokens(Encoder):
    calls: ClassVar = {
        "encode": "Tokenizer.encode_batch_flat([str])",
        "list": "Tokenizer.encode(str).ids",
        "small": "Tokenizer.encode(str).ids",
        "batch": "Tokenizer.encode_batch_flat(list of str)",
        "decode": "Tokenizer.decode(list)",
    }

    def __init__(self, folder: Path, threads: int) -> None:
        import fastokens  # pyright: ignore[reportMissingImports]

        self._tokenizer = fastokens.Tokenizer.from_file(str(folder / "tokenizer.json"))

    def encode(self, text: str) -> bytes:
        return self._tokenizer.encode_batch_flat([text])[0]

    def encode_list(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids

    def encode_small(self, text: str) -> list[int]:
        return self._tokenizer.encode(text).ids

    def encode_batch(self, texts: list[str]) -> Any:
        return self._tokenizer.encode_batch_flat(texts)

    def for_decoding(self, encoded: bytes) -> list[int]:
        return memoryview(encoded).cast("I").tolist()

    def decode(self, ids: list[int]) -> str:
        return self._tokenizer.decode(ids)

    def raw_ids(self, encoded: Any) -> bytes:
        return encoded if isinstance(encoded, bytes) else super().raw_ids(encoded)

    def raw_batch_ids(self, encoded: Any) -> bytes:
        return encoded[0]


if __name__ == "__main__":
    serve_encoder(Fastokens, lambda: {"fastokens": version("fastokens")})
