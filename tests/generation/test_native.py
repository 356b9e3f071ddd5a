"""Text from the native decoder is the reference's: greedy and drawn, over context ends, in batches, with stops."""

import logging

import pytest
import torch

from groundup import _native
from groundup.config import ModelConfig
from groundup.errors import CheckpointError, ConfigError
from groundup.generation import native
from groundup.generation.engine import complete_ids, generate_ids
from groundup.generation.sampling import SamplingConfig
from groundup.model.transformer import TransformerLM

GREEDY = SamplingConfig(max_tokens=20, temperature=0.0)
DRAWN = [
    SamplingConfig(max_tokens=20, seed=3),
    SamplingConfig(max_tokens=20, temperature=0.8, top_k=20),
    SamplingConfig(max_tokens=20, temperature=1.3, top_p=0.9, repetition_penalty=1.2),
    SamplingConfig(max_tokens=20, temperature=0.01, top_k=5, top_p=0.5),
]
# Grouped heads, one head, a tied matrix, an odd inner width, heads that are no multiple of a vector.
SHAPES = [
    {"num_kv_heads": 2, "d_ff": 45},
    {"num_heads": 1, "tie_embeddings": True},
    {"d_model": 40, "num_kv_heads": 1, "d_ff": 131},
    {"d_model": 128, "num_layers": 3, "context_length": 100},
]
PROMPTS = [[3], list(range(25)), list(range(40)), list(range(100))]  # up to the context, through it, beyond it


def model_of(seed=0, **shape):
    torch.manual_seed(seed)
    base = {"vocab_size": 301, "context_length": 40, "d_model": 64, "num_layers": 2, "num_heads": 4}
    model = TransformerLM(ModelConfig(**(base | shape)))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.copy_(0.5 + torch.rand_like(parameter))
    return model


@pytest.fixture
def use_variant():
    yield _native.use_kernel_variant
    _native.use_kernel_variant(_native.kernel_variants()[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_greedy_ids_are_the_references(shape, use_variant):
    model = model_of(**shape)
    reference = complete_ids(model, PROMPTS, GREEDY, kernels="reference")
    for variant in _native.kernel_variants():
        use_variant(variant)
        for one, other in zip(complete_ids(model, PROMPTS, GREEDY), reference, strict=True):
            assert one.ids == other.ids and len(one.ids) == 20
            assert one.logprobs == pytest.approx(other.logprobs, abs=2e-5)  # float32 logits of size 3


@pytest.mark.parametrize("config", DRAWN)
def test_the_same_seeds_draw_the_same_text(config):
    model = model_of(num_kv_heads=2)
    options = {"end_id": 7, "samples": range(4), "forbidden": [8, 9], "ends": lambda row, id: id % 50 == row}
    ours = complete_ids(model, PROMPTS, config, **options)
    reference = complete_ids(model, PROMPTS, config, **options, kernels="reference")
    assert [(one.ids, one.stop_reason) for one in ours] == [(one.ids, one.stop_reason) for one in reference]


def test_memory_follows_what_is_written_not_what_might_be():
    endless = SamplingConfig(max_tokens=10**13)
    tokens = generate_ids(model_of(), [[1], [2, 3]], endless)
    assert [next(tokens).row for _ in range(200)] == [0, 1] * 100


def test_tokens_come_in_the_references_order():
    model, options = model_of(), {"ends": lambda row, id: id % 5 == 0, "end_id": 3}
    config = SamplingConfig(max_tokens=20)
    ours = list(generate_ids(model, PROMPTS, config, **options))
    reference = list(generate_ids(model, PROMPTS, config, **options, kernels="reference"))
    assert [token._replace(logprob=0.0) for token in ours] == [token._replace(logprob=0.0) for token in reference]
    assert len({token.row for token in ours if token.stop_reason == "stop"}) > 1


@pytest.mark.parametrize("weights", ["float32", "bf16", "int8"])
def test_a_row_of_a_batch_equals_its_single_run_to_the_bit(weights):
    model = model_of(num_kv_heads=2)
    together = complete_ids(model, PROMPTS, DRAWN[1], samples=range(4), weights=weights)
    for row, prompt in enumerate(PROMPTS):
        assert complete_ids(model, [prompt], DRAWN[1], samples=[row], weights=weights) == [together[row]]


# Rounding of the weights, bf16 by 2^-9 at most and int8 by 1/254 of the largest of a row, at random over two layers.
@pytest.mark.parametrize(("weights", "error"), [("bf16", 0.05), ("int8", 0.1)])
def test_narrow_weights_say_nearly_the_same(weights, error):
    model = model_of()
    first = SamplingConfig(max_tokens=1, temperature=0.0)
    prompts = [[id, 2 * id, 5] for id in range(60)]
    ours = complete_ids(model, prompts, first, weights=weights)
    reference = complete_ids(model, prompts, first)
    pairs = [(one, other) for one, other in zip(ours, reference, strict=True) if one.ids == other.ids]
    assert len(pairs) > 50
    errors = [abs(one.logprobs[0] - other.logprobs[0]) for one, other in pairs]
    assert 0 < max(errors) < error


def test_threads_change_no_bit():
    model, before = model_of(), torch.get_num_threads()
    try:
        texts = []
        for num_threads in (1, 2, 5):
            torch.set_num_threads(num_threads)
            texts.append(complete_ids(model, PROMPTS, DRAWN[0]))
    finally:
        torch.set_num_threads(before)
    assert texts[0] == texts[1] == texts[2]


def test_trained_weights_are_seen():
    model = model_of()
    before = complete_ids(model, [[1]], GREEDY)
    with torch.no_grad():
        model.lm_head.weight.mul_(-1)
    after = complete_ids(model, [[1]], GREEDY)
    assert after != before and after[0].ids == complete_ids(model, [[1]], GREEDY, kernels="reference")[0].ids


def test_a_model_that_it_does_not_take_is_left_to_the_reference(caplog, monkeypatch):
    monkeypatch.setattr(native, "_told", set())
    model = model_of(norm="post")
    with caplog.at_level(logging.INFO, logger=native.__name__):
        ours = [complete_ids(model, [[1]], GREEDY) for _ in range(2)]
    assert [record.getMessage() for record in caplog.records] == ["generation: reference (norm is post)"]
    assert ours == [complete_ids(model, [[1]], GREEDY, kernels="reference")] * 2


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"kernels": "reference"}, "kernels is reference"),
        ({"use_cache": False}, "there is no cache"),
        ({"shape": {"norm": "post"}}, "norm is post"),
    ],
)
def test_narrow_weights_that_nobody_would_read_are_an_error(options, reason):
    model = model_of(**options.pop("shape", {}))
    with pytest.raises(ConfigError, match=f"weights is int8.*{reason}"):
        complete_ids(model, [[1]], GREEDY, weights="int8", **options)


@pytest.mark.parametrize("weights", ["float32", "bf16", "int8"])
def test_logits_that_are_not_finite_are_an_error(weights):
    model = model_of()
    with torch.no_grad():
        model.lm_head.weight[5, 5] = torch.nan
    with pytest.raises(CheckpointError, match="not finite"):
        complete_ids(model, [[1]], GREEDY, weights=weights)
