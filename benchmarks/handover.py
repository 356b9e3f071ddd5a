"""Does llama.cpp write what we write? A run as a GGUF file of F32 weights, and greedy ids of both sides.

    python benchmarks/handover.py              a small model with random weights, made for this
    python benchmarks/handover.py runs/mine    a run of your own

llama-cpp-python is built from source in an environment of its own, which takes minutes the first time. Each text
must have the same ids on both sides, and 64 ids written after each prompt must be the same. Exit code 1 if not.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import torch
from bench.peers import Peer, interpreter
from bench.worker import Worker

from groundup.checkpoint import Run, TrainingState, load_run
from groundup.config import ModelConfig, RunConfig
from groundup.environment import usable_cores
from groundup.generation.engine import complete_ids
from groundup.generation.sampling import SamplingConfig
from groundup.interop.gguf import export_gguf
from groundup.model.transformer import TransformerLM
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator

LLAMA_CPP = Peer("llama_cpp", "handover_llama_cpp.py", "llama_cpp.txt")
END = "<|endoftext|>"
TEXTS = [
    "Once upon a time, there was a little girl.",
    "Tom said, “Où est la lune?” and the dog said nothing.",
    "It's 12 miles  to the sea,\n\nthey'll walk.",
    "naïve 漢字 😀\t...",
]
NUM_TOKENS = 64


def main() -> int:
    """Compare, say of each text what came of it, and return the exit code."""
    parser = argparse.ArgumentParser(description="Greedy text of llama.cpp against ours.")
    parser.add_argument("run", nargs="?", help="run folder; without one a small random model is made")
    options = parser.parse_args()
    run = load_run(options.run) if options.run else random_run()
    config, failures = run.model.config, 0
    with tempfile.TemporaryDirectory() as folder:
        path = export_gguf(run, Path(folder) / "model.gguf")
        with Worker([interpreter(LLAMA_CPP), LLAMA_CPP.script], LLAMA_CPP.name) as worker:
            opened = worker.request(
                "open", path=str(path), context_length=config.context_length, threads=usable_cores()
            )
            print(f"llama-cpp-python {opened['version']}, {opened['vocab_size']} ids")
            prompts = [run.tokenizer.encode(text) for text in TEXTS]
            for text, ours, theirs in zip(TEXTS, prompts, worker.request("encode", texts=TEXTS)["ids"], strict=True):
                failures += tell(f"ids of {text!r}", ours, theirs)
            most = min(NUM_TOKENS, config.context_length - max(map(len, prompts)))
            written = complete_ids(run.model, prompts, SamplingConfig(max_tokens=most, temperature=0.0))
            for text, prompt, ours in zip(TEXTS, prompts, written, strict=True):
                theirs = worker.request("write", ids=prompt, num_tokens=most)["ids"]
                failures += tell(f"{most} ids after {text!r}", ours.ids, theirs)
    print("llama.cpp differs" if failures else "llama.cpp writes what we write")
    return int(failures > 0)


def tell(what: str, ours: list[int], theirs: list[int]) -> int:
    """Print whether the two are the same, and where they part; 1 if they are not."""
    if ours == theirs:
        print(f"  same       {what}")
        return 0
    place = next((i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), len(theirs))
    print(f"  different  {what}: from place {place} on {ours[place : place + 4]}, there {theirs[place : place + 4]}")
    return 1


def random_run() -> Run:
    """A model with grouped heads and gains away from 1, whose logits are far enough apart to be told apart."""
    tokenizer = Tokenizer(*train_bpe_from_iterator(TEXTS * 4, 320, [END]), [END])
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, context_length=128, d_model=64, num_layers=3, num_heads=4, num_kv_heads=2
    )
    torch.manual_seed(0)
    model = TransformerLM(config)
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1:
            torch.nn.init.uniform_(parameter, 0.5, 1.5)
        elif name == "lm_head.weight":
            parameter.data *= 4
    return Run(model.eval(), tokenizer, RunConfig(model=config), TrainingState(), Path())


if __name__ == "__main__":
    sys.exit(main())
