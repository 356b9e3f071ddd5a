"""A small model writes: prompts, what temperature and top-p do, several at once, and text as it comes.

Run it: python examples/06_generate.py (it trains the model first, for some seconds)
Read next: src/groundup/generation/engine.py and sampling.py. The command: groundup generate.
"""

import tempfile
from pathlib import Path

from groundup import ModelConfig, RunConfig, Tokenizer, generate, load_run, prepare, train, train_bpe
from groundup.config import DataConfig, OptimizerConfig, TrainingConfig
from groundup.corpus import END_OF_TEXT
from groundup.data.toy_stories import write_corpus
from groundup.generation.text import stream_text


def main(folder: Path) -> None:
    train_a_model(folder)
    run = load_run(folder / "run")
    print(f"A model of {run.model.num_parameters():,} parameters after {run.state.tokens:,} tokens of stories.")

    prompt = "Once upon a time"
    print(f"\nThe same prompt, {prompt!r}, at several temperatures: low repeats the likeliest, high loses the thread.")
    for temperature in (0, 0.7, 1.5):
        completion = generate(run, prompt, max_tokens=40, temperature=temperature, seed=1)[0]
        print(f"  {temperature:3}: {flat(prompt + completion.text)}")

    print("\ntop_p keeps only the likeliest tokens, together this probable; the rest is never drawn:")
    for top_p in (0.5, 0.95):
        completion = generate(run, prompt, max_tokens=40, top_p=top_p, seed=1)[0]
        print(f"  {top_p}: {flat(prompt + completion.text)}")

    print("\nPrompts of different lengths side by side, each until the end of its sentence:")
    for completion in generate(run, ["Long ago", "There was once a little mouse who"], max_tokens=60, stop=".", seed=2):
        surprise = -sum(completion.logprobs) / max(1, len(completion.logprobs))
        why = {"stop": "stopped at '.'", "length": "cut at 60 tokens", "end_of_text": "ended its text"}
        print(f"  {flat(completion.prompt + completion.text)}")
        print(f"    {len(completion.ids)} tokens, {surprise:.2f} nats each, {why[completion.stop_reason]}")

    print("\nAs it comes, from an empty prompt, in pieces:")
    pieces = list(stream_text(run, "", max_tokens=20, temperature=0.5, seed=3))
    print("  " + " | ".join(map(flat, pieces)))


def train_a_model(folder: Path) -> None:
    """Examples 02 and 05 in short."""
    write_corpus(folder / "stories.txt", num_stories=1_000)
    tokenizer = Tokenizer(*train_bpe(folder / "stories.txt", 1_000, [END_OF_TEXT]), [END_OF_TEXT])
    prepare(folder / "stories.txt", tokenizer, folder / "data")
    train(
        RunConfig(
            out=str(folder / "run"),
            model=ModelConfig(vocab_size=0, context_length=64, d_model=64, num_layers=2, num_heads=4),
            data=DataConfig(path=str(folder / "data")),
            optimizer=OptimizerConfig(lr=1e-2),
            training=TrainingConfig(max_steps=150, batch_size=8, eval_every=0, save_every=0, device="cpu"),
        )
    )


def flat(text: str) -> str:
    """The text on one line."""
    return text.replace("\n", "⏎")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        main(Path(name))
