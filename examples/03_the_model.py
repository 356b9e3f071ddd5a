"""One forward pass through a small Transformer: what goes in, what comes out, and what it knows before training.

Run it: python examples/03_the_model.py
Read next: src/groundup/model/transformer.py, the whole model on a page, then example 04.
"""

import math

import torch

from groundup import ModelConfig, TransformerLM
from groundup.model.loss import cross_entropy, perplexity
from groundup.model.ops import softmax


def main() -> None:
    torch.manual_seed(0)
    config = ModelConfig(vocab_size=10_000, context_length=64, d_model=64, num_layers=2, num_heads=4)
    model = TransformerLM(config)
    print(f"A model of {model.num_parameters():,} parameters. Its matrices and vectors:")
    for name, weight in model.state_dict().items():
        if not name.startswith("layers.1"):  # the second layer looks like the first
            print(f"  {name:32} {tuple(weight.shape)}")

    ids = torch.randint(config.vocab_size, (8, 64))
    with torch.no_grad():
        embedded = model.token_embeddings(ids)
        hidden = model.hidden(ids)
        logits = model(ids)
    print("\nForward: every id becomes a vector, the layers let the vectors exchange what they know, and the")
    print("head turns each vector into a score for every token that could come next.")
    print(f"  ids        {tuple(ids.shape)}: batch, sequence")
    print(f"  embedded   {tuple(embedded.shape)}: batch, sequence, d_model")
    print(f"  hidden     {tuple(hidden.shape)}: the same shape, after {config.num_layers} layers")
    print(f"  logits     {tuple(logits.shape)}: batch, sequence, vocabulary")
    probabilities = softmax(logits, dim=-1)
    low, high, total = (float(value) for value in (probabilities.min(), probabilities.max(), probabilities[0, 0].sum()))
    print(f"  softmax    probabilities from {low:.5f} to {high:.5f} here, and {total:.1f} in sum at every place")

    targets = torch.randint(config.vocab_size, (8, 64))
    loss = float(cross_entropy(logits, targets))
    print("\nAn untrained model gives every token about the same probability, 1 / vocabulary. So its loss is")
    print(f"  {loss:.3f} nats, and ln({config.vocab_size:,}) = {math.log(config.vocab_size):.3f};")
    print(f"  perplexity {perplexity(loss):,.0f}: as unsure as someone who guesses among all {config.vocab_size:,}.")

    changed = ids.clone()
    changed[:, 40] = (changed[:, 40] + 1) % config.vocab_size
    with torch.no_grad():
        moved = (model(changed) - logits).abs().amax(dim=(0, 2))
    first = int(moved.gt(1e-6).nonzero()[0])
    print("\nIt is causal: a place sees itself and what came before, never what comes after.")
    print(f"  Another id at place 40 changes the logits at places {first} to {len(moved) - 1} and at no place before.")


if __name__ == "__main__":
    main()
