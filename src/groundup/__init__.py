"""groundup: language models from the ground up, raw text to a trained, measured language model.

Importing this package is cheap: torch and numpy load with the first name that needs them.
"""

TYPE_CHECKING = False  # which type checkers take for true; importing typing would cost more than the rest
if TYPE_CHECKING:
    from groundup.checkpoint import load_run
    from groundup.config import ModelConfig, RunConfig
    from groundup.data.shards import prepare
    from groundup.evaluation.likelihood import evaluate
    from groundup.generation.text import generate
    from groundup.model.transformer import TransformerLM
    from groundup.tokenizer.bpe import Tokenizer, train_bpe
    from groundup.training.loop import train

__version__ = "0.1.0"

_HOME = {
    "ModelConfig": "groundup.config",
    "RunConfig": "groundup.config",
    "Tokenizer": "groundup.tokenizer.bpe",
    "TransformerLM": "groundup.model.transformer",
    "evaluate": "groundup.evaluation.likelihood",
    "generate": "groundup.generation.text",
    "load_run": "groundup.checkpoint",
    "prepare": "groundup.data.shards",
    "train": "groundup.training.loop",
    "train_bpe": "groundup.tokenizer.bpe",
}

__all__ = [
    "ModelConfig",
    "RunConfig",
    "Tokenizer",
    "TransformerLM",
    "evaluate",
    "generate",
    "load_run",
    "prepare",
    "train",
    "train_bpe",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'groundup' has no attribute {name!r}")
    return getattr(__import__(_HOME[name], fromlist=[name]), name)  # importlib would be a module more
