"""The text of an experiment: a prepared folder as it is, or text files with a vocabulary learned from them.

Where no text is given there are two that every machine has: little stories by a grammar, and the source code of
Python's library, which is as unlike them as could be wished.
"""

import hashlib
import sysconfig
from pathlib import Path

from groundup.corpus import END_OF_TEXT, expand_paths
from groundup.corpus.paths import is_compressed, is_url
from groundup.data.manifest import read_manifest
from groundup.errors import DataError
from groundup.experiments.presets import Preset
from groundup.files import open_atomic

OWN_TEXTS = ("toy-stories", "python-library")
_COMPRESSED = 3.5  # bytes of English text in a byte of .gz or .zst, roughly


def prepared_text(source: str, folder: Path, preset: Preset) -> str:
    """The prepared folder of a text: `source` itself if it is one, else one made of its files below `folder`.

    Made once for the same files: their names, sizes and times are part of the folder's name.
    Raises DataError for text that cannot be read, or a prepared folder without a held-out part.
    """
    if not Path(source).is_dir():
        source = str(_prepare(source, folder, preset))
    if "valid" not in read_manifest(source).splits:
        raise DataError(f"{source!r} has no held-out part to compare losses on; prepare it with one")
    return source


def own_text(name: str, folder: Path, size_bytes: int) -> str:
    """A text that needs no download, one of `OWN_TEXTS`, written into `folder` once."""
    path = folder / f"{name}-{size_bytes}" / f"{name}.txt"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        if name == "toy-stories":
            from groundup.data.toy_stories import write_corpus

            write_corpus(path, size_bytes=size_bytes)
        else:
            _write_library(path, size_bytes)
    return str(path)


def _prepare(source: str, folder: Path, preset: Preset) -> Path:
    from groundup.data.shards import prepare
    from groundup.tokenizer.bpe import Tokenizer, train_bpe

    sources = expand_paths(source)
    if any(map(is_url, sources)):
        raise DataError(f"{source!r} is a URL; experiments read local text: download it, or prepare it first")
    paths = [Path(path) for path in sources]
    states = [(str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
    key = hashlib.sha256(repr((states, preset.vocab_size, preset.valid_bytes)).encode()).hexdigest()[:8]
    out = folder / key / paths[0].name.partition(".")[0]
    if not (out / "manifest.json").is_file():
        vocab, merges = train_bpe(paths, preset.vocab_size, [END_OF_TEXT])
        size = sum(path.stat().st_size * (_COMPRESSED if is_compressed(path) else 1) for path in paths)
        fraction = min(0.05, preset.valid_bytes / max(size, 1))
        prepare(paths, Tokenizer(vocab, merges, [END_OF_TEXT]), out, valid_fraction=fraction)
    return out


def _write_library(path: Path, size_bytes: int) -> None:
    """The first modules of Python's library, in the order of their names, up to the size."""
    library = Path(sysconfig.get_paths()["stdlib"])
    with open_atomic(path) as file:
        written = 0
        for module in sorted(library.glob("*.py")):
            text = module.read_text(encoding="utf-8", errors="replace").replace(END_OF_TEXT, "")
            written += file.write(f"{text}\n{END_OF_TEXT}\n".encode())
            if written >= size_bytes:
                break
