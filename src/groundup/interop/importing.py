"""One door for models from elsewhere: what a path holds is seen from its name and its files."""

from pathlib import Path
from typing import Any

from groundup.errors import CheckpointError, ConfigError
from groundup.files import StrPath
from groundup.interop.gguf import read_gguf_model
from groundup.interop.huggingface_import import read_huggingface_model
from groundup.interop.llama2c import MODEL_FILE, read_llama2c_model
from groundup.interop.runs import Imported, require_free, write_run
from groundup.interop.state_dicts import read_state_dict_model

_READERS = {
    "a Hugging Face folder": (read_huggingface_model, {"tokenizer", "context_length"}),
    "a GGUF file": (read_gguf_model, {"tokenizer"}),
    "a llama2.c file": (read_llama2c_model, {"tokenizer"}),
    "a state dict": (read_state_dict_model, {"tokenizer", "num_heads", "context_length", "rope_theta"}),
}


def import_model(path: StrPath, out: StrPath, *, tokenizer: StrPath | None = None, **said: Any) -> Path:
    """Read a model of another program and write it as the run folder `out`; returns the folder.

    Args:
        path: A Hugging Face folder, a .gguf file, a llama2.c .bin or the folder with it, or a .pt state dict.
        tokenizer: Where the path has none, or another is wanted.
        said: What the files do not say (`num_heads`, `context_length`, `rope_theta`), for those formats that leave
            it open; None is the same as leaving it out.

    Raises ConfigError for options that cannot be used, CheckpointError and TokenizerError for what is read.
    """
    require_free(out)  # before minutes of reading
    kind = _kind(Path(path))
    read, options = _READERS[kind]
    said = {name: value for name, value in said.items() if value is not None}
    if others := sorted(said.keys() - options):
        raise ConfigError(f"--{others[0]} is not for {kind}, which says it itself")
    imported: Imported = read(path, tokenizer=tokenizer, **said)
    return write_run(imported, out)


def _kind(path: Path) -> str:
    if path.is_dir():
        for file, kind in (("config.json", "a Hugging Face folder"), (MODEL_FILE, "a llama2.c file")):
            if (path / file).is_file():
                return kind
        if (path / "state.json").is_file() or (path / "checkpoints").is_dir():
            raise ConfigError(f"{str(path)!r} is a run of groundup already; use it as it is")
    elif path.suffix in _SUFFIXES:
        return _SUFFIXES[path.suffix]
    if not path.exists():
        raise CheckpointError(f"there is no {str(path)!r}")
    raise CheckpointError(
        f"{str(path)!r} is none of the models that are read: a folder with config.json (Hugging Face) or {MODEL_FILE}, "
        f"a file that ends in {', '.join(_SUFFIXES)}"
    )


_SUFFIXES = {
    ".gguf": "a GGUF file",
    ".bin": "a llama2.c file",
    ".pt": "a state dict",
    ".pth": "a state dict",
    ".ckpt": "a state dict",
}
