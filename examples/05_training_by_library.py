"""The same by the library: text to shards, a run that leaves a folder, stopped and resumed, then evaluated.

Run it: python examples/05_training_by_library.py
Read next: src/groundup/config.py, all that can be chosen, then example 06. The commands: groundup data prepare,
groundup train, groundup eval.
"""

import dataclasses
import json
import tempfile
from pathlib import Path

from groundup import ModelConfig, RunConfig, Tokenizer, evaluate, load_run, prepare, train, train_bpe
from groundup.config import DataConfig, OptimizerConfig, TrainingConfig
from groundup.corpus import END_OF_TEXT
from groundup.data.toy_stories import write_corpus


def main(folder: Path) -> None:
    write_corpus(folder / "train.txt", num_stories=600, split="train")
    write_corpus(folder / "valid.txt", num_stories=12, split="valid")
    tokenizer = Tokenizer(*train_bpe(folder / "train.txt", 512, [END_OF_TEXT]), [END_OF_TEXT])
    manifest = prepare(folder / "train.txt", tokenizer, folder / "data", valid_paths=folder / "valid.txt")
    for name, split in manifest.splits.items():
        print(f"{name}: {split.documents} stories, {split.tokens:,} tokens as {manifest.dtype} on disk")

    config = RunConfig(
        out=str(folder / "run"),
        model=ModelConfig(
            vocab_size=0, context_length=64, d_model=64, num_layers=2, num_heads=4
        ),  # 0: as the tokenizer
        data=DataConfig(path=str(folder / "data")),
        optimizer=OptimizerConfig(lr=1e-2, warmup_steps=5, decay_steps=80),
        training=TrainingConfig(max_steps=40, batch_size=8, log_every=10, eval_every=20, save_every=20, device="cpu"),
    )
    print("\nA run of 40 updates, which stops there:")
    run = train(config)
    print(f"  at step {run.state.step}, {run.state.tokens:,} tokens seen, best held-out loss {run.state.best_loss:.3f}")

    print("Resumed from its checkpoint, it goes on to 80 as if it had never stopped:")
    longer = dataclasses.replace(config.training, max_steps=80)
    run = train(dataclasses.replace(config, training=longer), resume="auto")
    print(f"  at step {run.state.step}, {run.state.tokens:,} tokens seen, best held-out loss {run.state.best_loss:.3f}")

    print("\nmetrics.jsonl, one line per event:")
    for line in (folder / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["kind"] in ("train", "eval"):
            print(f"  {event['kind']:5} step {event['step']:2}  loss {event['loss']:.3f}")

    print("\nThe folder of the run holds all that is needed to use or continue it:")
    for path in sorted((folder / "run").rglob("*")):
        if path.is_file():
            print(f"  {path.relative_to(folder)}")

    result = evaluate(load_run(folder / "run"), folder / "data")
    print(f"\nOn held-out stories: {result.nats_per_token:.3f} nats per token, perplexity {result.perplexity:.1f},")
    print(f"{result.bits_per_byte:.3f} bits per byte (text as it stands on disk takes 8).")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
