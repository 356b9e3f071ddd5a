"""Small models with random weights, for the tests of this room."""

import dataclasses
import shutil
from pathlib import Path

import torch

from groundup.checkpoint import Run, TrainingState
from groundup.config import ModelConfig, RunConfig
from groundup.model.variants import build_model

SHAPE = ModelConfig(context_length=32, d_model=32, num_layers=2, num_heads=4, d_ff=96)
GROUPED = {"num_kv_heads": 2}
TIED = {"tie_embeddings": True}
KINDS = [{}, GROUPED, TIED, GROUPED | TIED]


def make_run(tokenizer, folder="nowhere", **fields) -> Run:
    """A run with random weights, gains of the norms among them, that was never saved."""
    config = dataclasses.replace(SHAPE, vocab_size=tokenizer.vocab_size, **fields)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        model = build_model(config)
        for name, parameter in model.named_parameters():
            if "ln" in name or "norm" in name:
                torch.nn.init.uniform_(parameter, 0.5, 1.5)
    return Run(model.eval(), tokenizer, RunConfig(model=config), TrainingState(), Path(folder))


def some_ids(run, rows=20, length=32):
    """Prompts of random ids that the tokenizer knows."""
    known = torch.tensor(sorted(run.tokenizer.vocab))
    places = torch.randint(len(known), (rows, length), generator=torch.Generator().manual_seed(3))
    return known[places]


@torch.inference_mode()
def logits(run, ids):
    return run.model(ids)


def contents(folder):
    """What each file of a folder holds; or the one file, if it is one."""
    if folder.is_file():
        return folder.read_bytes()
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def copied(folder, to):
    shutil.copytree(folder, to)
    return to
