"""Configurations with fields replaced, and what a run folder says, for the tests of this room."""

import dataclasses

from groundup.checkpoint import find_checkpoint
from groundup.training.metrics import read_metrics


def changed(config, **parts):
    """The configuration with fields of its parts replaced: changed(config, training={"max_steps": 3})."""
    new = {
        name: dataclasses.replace(getattr(config, name), **fields) for name, fields in parts.items() if name != "out"
    }
    return dataclasses.replace(config, **new, **({"out": parts["out"]} if "out" in parts else {}))


def lines(run_folder, kind="train"):
    return [record for record in read_metrics(f"{run_folder}/metrics.jsonl") if record["kind"] == kind]


def losses(run_folder):
    return [(record["step"], record["loss"], record["grad_norm"]) for record in lines(run_folder)]


def weights_of(run_folder):
    return (find_checkpoint(run_folder) / "model.safetensors").read_bytes()


def moments_of(run_folder):
    return (find_checkpoint(run_folder) / "optimizer.safetensors").read_bytes()
