"""Tokenizer files that other tools share. Each format has a module; this is their door.

A file is read only if we would give exactly its ids: what we do not have is refused by name. Nothing here
is pickled. `huggingface_files.py` has the tokenizer.json in which we save, `gpt2_files.py` vocab.json and
merges.txt, `tiktoken_files.py` ranks.
"""

from groundup.tokenizer.gpt2_files import read_gpt2, write_gpt2
from groundup.tokenizer.huggingface_files import (
    parse_huggingface,
    read_huggingface,
    read_source,
    write_huggingface,
)
from groundup.tokenizer.stored_encoders import TOKENIZER_FILE
from groundup.tokenizer.tiktoken_files import read_tiktoken, write_tiktoken

__all__ = [
    "TOKENIZER_FILE",
    "parse_huggingface",
    "read_gpt2",
    "read_huggingface",
    "read_source",
    "read_tiktoken",
    "write_gpt2",
    "write_huggingface",
    "write_tiktoken",
]
