"""What text written with bf16 and int8 weights costs in validation loss, on a small model that has learned."""

from types import SimpleNamespace

import pytest
import torch

from groundup.config import ModelConfig
from groundup.data.batches import batch_at
from groundup.data.shards import open_tokens
from groundup.errors import ConfigError
from groundup.evaluation.likelihood import evaluate
from groundup.model.loss import cross_entropy
from groundup.model.transformer import TransformerLM
from groundup.optim.adamw import AdamW

STEPS = 80


@pytest.fixture(scope="module")
def run(prepared, tokenizer) -> SimpleNamespace:
    torch.manual_seed(0)
    shape = {"vocab_size": tokenizer.vocab_size, "context_length": 32, "d_model": 48, "num_layers": 2, "num_heads": 4}
    model = TransformerLM(ModelConfig(**shape))
    tokens, optimizer = open_tokens(prepared, "train"), AdamW(model.parameters(), lr=1e-2)
    for step in range(STEPS):
        inputs, targets = batch_at(tokens, batch_size=8, context_length=32, seed=0, step=step)
        optimizer.zero_grad()
        cross_entropy(model(inputs), targets).backward()
        optimizer.step()
    return SimpleNamespace(model=model, tokenizer=tokenizer)


# int8 rounds by 1/254 of the largest weight of a row, bf16 by 2^-9 of the weight itself at most; a loss of about 2.
@pytest.mark.parametrize(("weights", "most"), [("float32", 1e-5), ("bf16", 2e-3), ("int8", 1e-2)])
def test_rounding_the_weights_costs_little(run, prepared, weights, most):
    exact = evaluate(run, prepared).nats_per_token
    assert exact < 3  # of ln 300 = 5.7: it has learned
    found = evaluate(run, prepared, weights=weights).nats_per_token
    assert abs(found - exact) < most
    assert found != exact or weights == "float32"


def test_a_model_that_has_no_native_decoder_is_one_clear_error(run, prepared):
    model = TransformerLM(
        ModelConfig(vocab_size=300, context_length=8, d_model=8, num_layers=1, num_heads=1, ffn="silu")
    )
    with pytest.raises(ConfigError, match="ffn is silu"):
        evaluate(SimpleNamespace(model=model, tokenizer=run.tokenizer), prepared, weights="int8")
