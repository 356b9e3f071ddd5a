"""The contest of generate.py: who takes part, whether they write what the model says, and what came of it."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from bench.notes import say
from bench.peers import Peer, interpreter
from bench.rounds import interleave, ratio, summarise
from bench.worker import Worker, WorkerError
from groundup.model.transformer import TransformerLM

OURS = Peer("groundup", "generate_groundup.py")
HUGGING_FACE = Peer("huggingface", "generate_huggingface.py", "huggingface.txt")
LLAMA_CPP = Peer("llama_cpp", "generate_llama_cpp.py", "llama_cpp.txt")
ANSWER_S = 1800.0

# How far below the most likely id an id may lie, in the logits that the float32 model itself gives after the ids
# before it. These logits have a standard deviation of about 0.3 and the two best ids of a place are 0.05 apart.
TOLERANCE = {"float32": 1e-3, "bf16": 0.1, "int8": 0.1}


@dataclass(frozen=True)
class Contestant:
    """A way to write. `way` is the worker's word for it, `weights` as what the weights are read."""

    peer: Peer
    way: str
    weights: str

    @property
    def name(self) -> str:
        """How tables call it."""
        return f"{self.peer.name} {self.way}"


@dataclass(frozen=True)
class Task:
    """What everyone does: shape of the model, file of its weights, threads, tokens to write after each prompt."""

    shape: Mapping[str, int]
    weights_path: str
    threads: int
    num_tokens: int


CONTESTANTS = (
    Contestant(OURS, "reference", "float32"),
    Contestant(OURS, "float32", "float32"),
    Contestant(OURS, "bf16", "bf16"),
    Contestant(OURS, "int8", "int8"),
    Contestant(HUGGING_FACE, "float32", "float32"),
    Contestant(HUGGING_FACE, "bf16", "bf16"),
    Contestant(LLAMA_CPP, "F32", "float32"),
    Contestant(LLAMA_CPP, "BF16", "bf16"),
    Contestant(LLAMA_CPP, "Q8_0", "int8"),
)
# Ours and theirs with weights of about the same size: what a ratio is taken of.
PAIRS = (
    ("groundup float32", "groundup reference"),
    ("groundup float32", "huggingface float32"),
    ("groundup bf16", "huggingface bf16"),
    ("groundup float32", "llama_cpp F32"),
    ("groundup bf16", "llama_cpp BF16"),
    ("groundup int8", "llama_cpp Q8_0"),
)


def run_contest(
    model: TransformerLM, task: Task, batches: Sequence[Sequence[Sequence[int]]], rounds: int, *, bf16: bool
) -> Iterator[tuple[Sequence[Sequence[int]], dict[str, Any]]]:
    """Set up everyone, then for each batch of prompts: check them, measure those that pass; yields its record.

    Without `bf16`, instructions for it in the processor, Hugging Face's bf16 is left out: it would take minutes.
    """
    with contextlib.ExitStack() as stack:
        workers: dict[str, Worker] = {}
        facts: dict[str, dict[str, Any]] = {}
        absent: dict[str, str] = {}
        for one in CONTESTANTS:
            if one.peer is HUGGING_FACE and one.weights == "bf16" and not bf16:
                absent[one.name] = "this processor has no bf16 instructions"
                continue
            say(f"{one.name}: setting up")
            try:
                workers[one.name] = stack.enter_context(Worker([interpreter(one.peer), one.peer.script], one.name))
                facts[one.name] = {
                    "peer": one.peer.name,
                    "weights": one.weights,
                    **workers[one.name].request(
                        "set_up",
                        shape=dict(task.shape),
                        weights_path=task.weights_path,
                        way=one.way,
                        threads=task.threads,
                        timeout_s=ANSWER_S,
                    ),
                }
            except WorkerError as error:
                absent[one.name] = str(error)
        for prompts in batches:
            yield (
                prompts,
                _run_batch(model, task, prompts, rounds, {name: workers[name] for name in facts}, facts, absent),
            )


def find_problem(
    model: TransformerLM, prompts: Sequence[Sequence[int]], ids: Sequence[Sequence[int]], weights: str
) -> str | None:
    """Why `ids`, written after `prompts`, are not greedy text of `model`; None if they are.

    With narrow weights an id counts that is nearly the most likely one: TOLERANCE.
    """
    counts = {len(row) for row in ids}
    if len(ids) != len(prompts) or len(counts) != 1:
        return f"{len(ids)} texts of {sorted(counts)} ids for {len(prompts)} prompts"
    below = shortfall(model, prompts, ids)
    if below > TOLERANCE[weights]:
        return f"an id lies {below:.2g} below the most likely one, more than {TOLERANCE[weights]:g}"
    return None


def shortfall(model: TransformerLM, prompts: Sequence[Sequence[int]], ids: Sequence[Sequence[int]]) -> float:
    """How far an id lies below the most likely one at its place, in logits of the model, at most."""
    texts = torch.tensor([[*prompt, *row] for prompt, row in zip(prompts, ids, strict=True)])
    first = len(prompts[0])
    with torch.no_grad():
        logits = model(texts[:, :-1])[:, first - 1 :]  # (rows, written, vocab)
    chosen = logits.gather(-1, texts[:, first:, None])[..., 0]
    return float((logits.amax(dim=-1) - chosen).max())


def conclude(
    entries: Mapping[str, Mapping[str, Any]], rates: Mapping[str, Sequence[float]], refused: Mapping[str, str]
) -> dict[str, Any]:
    """The record of a batch: medians and ranges, and the ratio of each pair whose two sides were measured."""
    return {
        "contestants": {
            name: {**entry, "tokens_per_s": asdict(summarise(rates[name])), "rounds": list(rates[name])}
            for name, entry in entries.items()
        },
        "refused": dict(refused),
        "ratios": {
            f"{ours} / {theirs}": asdict(ratio(rates[ours], rates[theirs]))
            for ours, theirs in PAIRS
            if ours in rates and theirs in rates
        },
    }


def _run_batch(
    model: TransformerLM,
    task: Task,
    prompts: Sequence[Sequence[int]],
    rounds: int,
    workers: Mapping[str, Worker],
    facts: Mapping[str, Mapping[str, Any]],
    absent: Mapping[str, str],
) -> dict[str, Any]:
    entries: dict[str, dict[str, Any]] = {}
    refused = dict(absent)
    texts: dict[str, list[list[int]]] = {}
    fields = {"prompts": [list(prompt) for prompt in prompts], "num_tokens": task.num_tokens, "timeout_s": ANSWER_S}
    for name, worker in workers.items():
        say(f"{name}: checking {len(prompts)} texts")
        try:
            texts[name] = worker.request("write", **fields)["ids"]
        except WorkerError as error:
            refused[name] = str(error)
            continue
        if problem := find_problem(model, prompts, texts[name], facts[name]["weights"]):
            refused[name] = problem
            continue
        entries[name] = {**facts[name], "shortfall": shortfall(model, prompts, texts[name])}
        entries[name]["same_ids"] = _agreement(texts[name], next(iter(texts.values())))

    def measure(name: str) -> float:
        answer = workers[name].request("write", **fields)
        entries[name]["peak_memory_bytes"] = answer["peak_memory_bytes"]
        if answer["ids"] != texts[name]:
            raise WorkerError(f"{name}: wrote another text than the first time")
        return len(prompts) * task.num_tokens / answer["seconds"]

    rates = interleave(list(entries), measure, rounds, lambda i: say(f"round {i + 1} of {rounds}"))
    return conclude(entries, rates, refused)


def _agreement(texts: Sequence[Sequence[int]], reference: Sequence[Sequence[int]]) -> float:
    """The share of all ids that stand before the first difference of their text."""
    same = 0
    for row, other in zip(texts, reference, strict=True):
        same += next((place for place, (a, b) in enumerate(zip(row, other, strict=True)) if a != b), len(row))
    return same / sum(map(len, texts))
