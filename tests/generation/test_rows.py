"""Cached against uncached on the real model: the same logits up to the context, through it and past it."""

import pytest
import torch

from groundup.config import ModelConfig
from groundup.generation.engine import complete_ids
from groundup.generation.rows import Rows
from groundup.generation.sampling import SamplingConfig
from groundup.generation.window import window_start
from groundup.model.transformer import TransformerLM

CONTEXT = 8
LENGTHS = (1, CONTEXT - 1, CONTEXT, CONTEXT + 1, 2 * CONTEXT + 3)
VARIANTS = {
    "base": {},
    "grouped-query": {"num_kv_heads": 2},
    "one kv head, qk-norm, tied": {"num_kv_heads": 1, "qk_norm": True, "tie_embeddings": True},
    "post-norm, silu": {"norm": "post", "ffn": "silu"},
    "no norm, no positions": {"norm": "none", "positions": "none"},
    "odd context, dropout": {"context_length": CONTEXT - 1, "dropout": 0.5},
}


def make_model(**variant) -> TransformerLM:
    torch.manual_seed(0)
    shape = {"vocab_size": 50, "context_length": CONTEXT, "d_model": 32, "num_layers": 2, "num_heads": 4}
    return TransformerLM(ModelConfig(**{**shape, "d_ff": 48, **variant}))


def make_prompts() -> list[list[int]]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(50, (length,), generator=generator).tolist() for length in LENGTHS]


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS.keys())
def test_cached_logits_equal_uncached_and_the_model_itself(variant):
    model = make_model(**variant)
    context_length = model.config.context_length
    rows = {use: Rows(model, make_prompts(), max_tokens=14, use_cache=use) for use in (True, False)}
    logits = {use: rows[use].start() for use in rows}
    model.eval()
    for step in range(14):
        # 1e-5: float32 sums in another order, on logits of size 1
        assert torch.allclose(logits[True], logits[False], atol=1e-5, rtol=0)
        for row, ids in enumerate(rows[True].ids if step % 5 == 0 else []):
            window = torch.tensor(ids[window_start(len(ids), context_length) :])
            assert torch.allclose(logits[True][row], model(window)[-1], atol=1e-5, rtol=0)
        chosen = [(7 * step + row) % 50 for row in range(len(LENGTHS))]
        logits = {use: rows[use].extend(chosen) for use in rows}


def test_rows_that_are_kept_go_on_as_before():
    model = make_model(num_kv_heads=2)
    prompts = make_prompts()
    kept = [3, 1]
    some, all_of_them = (Rows(model, prompts, max_tokens=8) for _ in range(2))
    some.start(), all_of_them.start()
    some.keep(kept)
    for step in range(8):
        expected = all_of_them.extend([step] * len(prompts))[kept]
        assert torch.allclose(some.extend([step] * 2), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_rows_of_a_batch_equal_their_single_runs(temperature):
    model = make_model(num_kv_heads=2, num_layers=1)
    prompts = make_prompts()[::2]
    config = SamplingConfig(max_tokens=14, temperature=temperature, top_p=0.9, seed=3)
    alone = [complete_ids(model, [prompt], config, end_id=0, kernels="reference")[0] for prompt in prompts]
    for use_cache in (True, False):
        together = complete_ids(model, prompts, config, end_id=0, use_cache=use_cache, kernels="reference")
        for one, single in zip(together, alone, strict=True):
            assert (one.ids, one.stop_reason) == (single.ids, single.stop_reason)
            assert one.logprobs == pytest.approx(single.logprobs, abs=1e-5)


def test_the_cache_is_no_longer_than_needed():
    model = make_model()
    seen = []
    hidden = model.hidden
    model.hidden = lambda ids, cache=None: (seen.append(cache.max_length), hidden(ids, cache=cache))[1]
    complete_ids(model, [[1, 2], [3]], SamplingConfig(max_tokens=4), kernels="reference")
    complete_ids(model, [[1, 2]], SamplingConfig(max_tokens=400), ends=lambda row, id: True, kernels="reference")
    assert set(seen) == {6, CONTEXT}


def test_weights_that_require_gradients_and_a_training_model_are_no_obstacle():
    model = make_model(dropout=0.5)
    assert model.training
    config = SamplingConfig(max_tokens=9)
    first, second = (complete_ids(model, [[1]], config, kernels="reference") for _ in range(2))
    assert first == second  # dropout was off
    assert model.training and all(module.training for module in model.modules())


def test_half_precision_models_write():
    model = make_model().bfloat16()
    (written,) = complete_ids(model, [[1, 2, 3]], SamplingConfig(max_tokens=9, temperature=0.0))
    assert len(written.ids) == 9
