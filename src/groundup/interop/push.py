"""An exported folder to the Hugging Face Hub, through huggingface_hub, which keeps and finds the user's token."""

from pathlib import Path

from groundup.errors import ConfigError, GroundupError, first_line
from groundup.files import StrPath


def push(folder: StrPath, repository: str, *, private: bool = False, endpoint: str | None = None) -> str:
    """Upload an exported folder as a model repository, made where there is none; returns the address of the commit.

    Args:
        folder: As `groundup export` writes it.
        repository: "user/name".
        private: Whether a new repository can be seen by its owner only; one that is there stays as it is.
        endpoint: Another Hub; None means the public one, or that of HF_ENDPOINT.

    Raises ConfigError for a folder that is no export, GroundupError in one sentence for what the Hub refuses.
    """
    folder = _require_export(folder)
    try:
        from huggingface_hub import HfApi
    except ImportError:
        raise ConfigError(
            "push needs the package huggingface_hub; install it with pip install 'groundup[data]'"
        ) from None
    api = HfApi(endpoint=endpoint, library_name="groundup")
    try:
        name = api.create_repo(repository, private=private, exist_ok=True).repo_id
        done = api.upload_folder(repo_id=name, folder_path=folder, commit_message=f"Upload {folder.name} with groundup")
    except Exception as error:  # the client raises its own errors, those of its HTTP library, and plain ones
        raise GroundupError(f"{repository!r} was not pushed: {first_line(error)}") from error
    return str(done.commit_url)


def _require_export(folder: StrPath) -> Path:
    folder = Path(folder)
    if (folder / "checkpoints").is_dir() or (folder / "state.json").is_file():
        raise ConfigError(
            f"{str(folder)!r} is a run; make a folder that others can read: groundup export hf {folder} --out ..."
        )
    models = [file for pattern in ("model.safetensors", "*.gguf", "model.bin") for file in folder.glob(pattern)]
    if not models:
        raise ConfigError(
            f"{str(folder)!r} is no exported folder: it has neither model.safetensors, *.gguf nor model.bin"
        )
    return folder
