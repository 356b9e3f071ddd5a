"""Where a model from elsewhere arrives: a run folder like those that training leaves, with one checkpoint.

So everything that takes a run takes an imported one: `generate`, `eval`, `export`, and `train --init_from`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from groundup.checkpoint import TrainingState, load_state_dict, write_step
from groundup.config import ModelConfig, RunConfig
from groundup.errors import CheckpointError, ConfigError
from groundup.files import StrPath, folder_aside, spelled, write_atomic
from groundup.model.transformer import TransformerLM
from groundup.recipe import write_config
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.formats import TOKENIZER_FILE
from groundup.training.resolve import make_optimizer

CARD = "README.md"


@dataclass(frozen=True)
class Imported:
    """A model from elsewhere in our terms.

    Attributes:
        config: Its shape.
        weights: Under our names, in float32; without the head where that is the embedding.
        tokenizer: What its ids mean.
        card: The model card that came with it, if any.
    """

    config: ModelConfig
    weights: dict[str, Tensor]
    tokenizer: Tokenizer
    card: str | None = None


def write_run(imported: Imported, out: StrPath) -> Path:
    """Write the model as a new run folder, whole or not at all; returns the folder.

    Raises ConfigError if `out` exists, CheckpointError for ids that the model has no rows for.
    """
    out = require_free(out)
    config, tokenizer = imported.config, imported.tokenizer
    if tokenizer.vocab_size > config.vocab_size:
        raise CheckpointError(
            f"the tokenizer has ids up to {tokenizer.vocab_size - 1} and the model {config.vocab_size} rows; "
            "give the tokenizer that the model was trained with"
        )
    weights = dict(imported.weights)
    if config.tie_embeddings:
        weights["lm_head.weight"] = weights["token_embeddings.weight"]
    with torch.random.fork_rng():  # the first weights are drawn, and replaced
        model = TransformerLM(config)
    load_state_dict(model, weights)
    run = RunConfig(out=spelled(out), model=config)
    with folder_aside(out) as folder:
        write_atomic(folder / "config.yaml", write_config(run))
        tokenizer.save(folder / TOKENIZER_FILE)
        if imported.card is not None:
            write_atomic(folder / CARD, imported.card)
        optimizer = make_optimizer(run, model)
        write_step(
            folder / "checkpoints",
            model=model,
            optimizer=optimizer,
            state=TrainingState(),
            config=run,
            tokenizer=tokenizer,
        )
    return out


def require_free(out: StrPath) -> Path:
    """`out` as a path at which nothing is yet. Raises ConfigError: what is there is not ours to replace."""
    out = Path(out)
    if out.exists() or out.is_symlink():
        raise ConfigError(f"{str(out)!r} exists already; give another --out, or remove it first")
    return out


def run_folder(checkpoint: Path) -> Path:
    """The run folder of a checkpoint folder; a checkpoint that stands alone, or a run folder, is its own."""
    return checkpoint.parent.parent if checkpoint.parent.name == "checkpoints" else checkpoint


def make_config(source: object, **fields: Any) -> ModelConfig:
    """The shape that a foreign file describes. Raises CheckpointError, naming the file, for one that cannot be."""
    if fields["num_kv_heads"] == fields["num_heads"]:
        fields["num_kv_heads"] = None  # as our own configurations say it
    try:
        return ModelConfig(**fields)
    except ConfigError as error:
        raise CheckpointError(f"{str(source)!r} describes a model that cannot be: {error}") from error
