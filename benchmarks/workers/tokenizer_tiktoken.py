"""tiktoken, whose ids are the reference. It does not train, and knows GPT-2's vocabulary as a file of ranks."""

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from tokenizer_work import END_OF_TEXT, Encoder, serve_encoder

# GPT-2's pattern as tiktoken's own definition of gpt2 and r50k_base writes it: equivalent, and faster there.
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"


class Tiktoken(Encoder):
    calls: ClassVar = {
        "encode": "Encoding.encode_to_numpy(str, disallowed_special=())",
        "list": "Encoding.encode_ordinary(str)",
        "small": "Encoding.encode_ordinary(str)",
        "batch": "Encoding.encode_ordinary_batch(list of str, num_threads=)",
        "decode": "Encoding.decode_bytes(list)",
    }

    def __init__(self, folder: Path, threads: int) -> None:
        os.environ["TIKTOKEN_CACHE_DIR"] = ""  # it would keep a copy of the file by its name
        import tiktoken
        from tiktoken.load import load_tiktoken_bpe

        ranks = load_tiktoken_bpe(str(folder / "ranks.tiktoken"))
        specials = {END_OF_TEXT: len(ranks)}
        self._threads = threads
        self._encoding = tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=specials)

    def encode(self, text: str) -> Any:
        return self._encoding.encode_to_numpy(text, disallowed_special=())

    def encode_list(self, text: str) -> list[int]:
        return self._encoding.encode_ordinary(text)

    def encode_small(self, text: str) -> list[int]:
        return self._encoding.encode_ordinary(text)

    def encode_batch(self, texts: list[str]) -> Any:
        return self._encoding.encode_ordinary_batch(texts, num_threads=self._threads)

    def decode(self, ids: Any) -> bytes:
        return self._encoding.decode_bytes(ids)

    def raw_ids(self, encoded: Any) -> bytes:
        return super().raw_ids(encoded) if isinstance(encoded, list) else encoded.tobytes()


if __name__ == "__main__":
    serve_encoder(Tiktoken, lambda: {"tiktoken": version("tiktoken")})
