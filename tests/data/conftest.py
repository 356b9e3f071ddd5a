"""A tokenizer whose ids can be told by hand: the bytes themselves, and 256 for <|endoftext|>."""

import pytest

from groundup.corpus import END_OF_TEXT
from groundup.tokenizer.bpe import Tokenizer


@pytest.fixture
def byte_tokenizer() -> Tokenizer:
    return Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], [END_OF_TEXT])
