"""Reading back what `store_encoder` gave, by way of files."""

import os
from pathlib import Path

from groundup import _native


def read_stored(folder: Path, content: bytes, source: bytes) -> tuple[_native.Encoder, list[bytes]] | None:
    """What comes back out of a file of this content, for this source."""
    (folder / "tables").write_bytes(content)
    (folder / "source").write_bytes(source)
    files = [os.open(folder / name, os.O_RDONLY) for name in ("tables", "source")]
    try:
        return _native.read_stored_encoder(*files)
    finally:
        for file in files:
            os.close(file)
