"""The training loop spelled out: batch, forward, loss, backward, clip, update. All the rest is comfort.

Run it: python examples/04_training_by_hand.py
Read next: src/groundup/training/loop.py, the same loop with comfort, then example 05.
"""

import math

import numpy as np
import torch

from groundup import ModelConfig, Tokenizer, TransformerLM
from groundup.corpus import END_OF_TEXT
from groundup.data.batches import get_batch
from groundup.data.toy_stories import stories
from groundup.model.loss import cross_entropy
from groundup.model.ops import softmax
from groundup.optim.adamw import AdamW
from groundup.optim.gradients import clip_gradients
from groundup.optim.schedule import cosine_schedule
from groundup.tokenizer.bpe import train_bpe_from_iterator

STEPS, BATCH_SIZE, CONTEXT_LENGTH = 100, 16, 32


def main() -> None:
    torch.manual_seed(0)
    texts = [text for text, _ in zip(stories(seed=0), range(400), strict=False)]
    tokenizer = Tokenizer(*train_bpe_from_iterator(texts, 512, [END_OF_TEXT]), [END_OF_TEXT])
    ids = np.concatenate([tokenizer.encode_to_array(text + END_OF_TEXT) for text in texts])
    print(f"{len(texts)} stories are {len(ids):,} ids in one row, {END_OF_TEXT} between them.")

    config = ModelConfig(tokenizer.vocab_size, CONTEXT_LENGTH, d_model=64, num_layers=2, num_heads=4)
    model = TransformerLM(config)
    optimizer = AdamW(model.parameters(), lr=0.0, betas=(0.9, 0.95), weight_decay=0.1)
    print(
        f"{model.num_parameters():,} parameters; chance is ln({config.vocab_size}) = {math.log(config.vocab_size):.2f}."
    )
    show_guess(model, tokenizer, "before")

    print("\nstep   loss   learning rate   gradient norm")
    for step in range(1, STEPS + 1):
        inputs, targets = get_batch(ids, BATCH_SIZE, CONTEXT_LENGTH, "cpu")  # targets: inputs, one id further
        logits = model(inputs)
        loss = cross_entropy(logits, targets)
        loss.backward()  # d loss / d weight, for every weight
        norm = clip_gradients(model.parameters(), max_norm=1.0)  # one wild batch must not undo the work of many
        rate = cosine_schedule(step, max_lr=1e-2, min_lr=1e-3, warmup_steps=10, decay_steps=STEPS)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
        optimizer.zero_grad()  # gradients add up otherwise
        if step == 1 or step % 20 == 0:
            print(f"{step:4}  {loss.item():5.2f}   {rate:13.4f}   {float(norm):13.2f}")

    show_guess(model, tokenizer, "after")


def show_guess(model: TransformerLM, tokenizer: Tokenizer, when: str) -> None:
    """Print the tokens the model would continue a sentence with."""
    start = "They went back to"
    with torch.no_grad():
        logits = model(torch.tensor(tokenizer.encode(start)))[-1]
    probabilities, tokens = softmax(logits, dim=-1).topk(3)
    guesses = zip(tokens.tolist(), probabilities.tolist(), strict=True)
    shown = ", ".join(f"{tokenizer.decode([token])!r} {100 * probability:.0f} %" for token, probability in guesses)
    print(f"What follows {start!r} {when} training: {shown}")


if __name__ == "__main__":
    main()
