"""The loop on scripted models: windows, caches, batches and ends, exact to the id."""

import math

import pytest
import torch
from generation.fake_model import FakeModel, chaotic, says, scripted

from groundup.errors import CheckpointError, DataError
from groundup.generation.engine import complete_ids, generate_ids
from groundup.generation.rows import Rows
from groundup.generation.sampling import SamplingConfig
from groundup.generation.window import window_start

GREEDY = SamplingConfig(max_tokens=20, temperature=0.0)
SAMPLED = SamplingConfig(max_tokens=20, temperature=1.5, top_p=0.95, top_k=60, repetition_penalty=1.1, seed=5)
PROMPTS = [[3], [1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 4, 5, 6, 7, 8], list(range(9)), list(range(19)), [0, 0]]


def by_hand(model: FakeModel, prompt: list[int], num_ids: int) -> list[int]:
    """Greedy text by the definition: the most likely id after the window, again and again."""
    ids = list(prompt)
    for _ in range(num_ids):
        window = ids[window_start(len(ids), model.config.context_length) :]
        ids.append(int(model.lm_head(model.hidden(torch.tensor([window]))[0, -1:]).argmax()))
    return ids[len(prompt) :]


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("context_length", [1, 2, 7, 8])
def test_greedy_text_is_that_of_the_definition(context_length, use_cache):
    model = chaotic(context_length=context_length)
    written = complete_ids(model, PROMPTS, GREEDY, use_cache=use_cache)
    assert [one.ids for one in written] == [by_hand(model, prompt, 20) for prompt in PROMPTS]


@pytest.mark.parametrize("use_cache", [True, False])
@pytest.mark.parametrize("config", [GREEDY, SAMPLED])
def test_a_row_of_a_batch_equals_its_single_run(config, use_cache):
    model = chaotic()
    ends = lambda row, id: id % 7 == 0  # rows leave at different times  # noqa: E731
    options = {"end_id": 13, "ends": ends, "use_cache": use_cache}
    together = complete_ids(model, PROMPTS, config, samples=range(6), **options)
    alone = [
        complete_ids(model, [prompt], config, samples=[sample], **options)[0] for sample, prompt in enumerate(PROMPTS)
    ]
    assert together == alone
    assert len({len(one.ids) for one in together}) > 2


def test_rows_that_leave_give_their_place_up():
    model = chaotic(context_length=64)
    lengths = {0: 2, 1: 9, 2: 5}
    counts = dict.fromkeys(lengths, 0)

    def ends(row: int, id: int) -> bool:
        counts[row] += 1
        return counts[row] == lengths[row]

    written = complete_ids(model, [[1], [2, 3], [4]], GREEDY, ends=ends)
    assert [len(one.ids) for one in written] == [2, 9, 5]
    assert [one.stop_reason for one in written] == ["stop"] * 3
    assert model.calls == [(3, 2), (3, 1), *[(2, 1)] * 3, *[(1, 1)] * 4]


def test_a_full_context_costs_one_prefill_of_its_row_alone():
    model = chaotic(context_length=8)
    complete_ids(model, [[1] * 7, [2] * 4], SamplingConfig(max_tokens=4, temperature=0.0))
    # Row 0 grows to 8, then to 9, which leaves 5 visible: it is prefilled, while row 1 goes on.
    assert model.calls == [(2, 7), (2, 1), (2, 1), (1, 5), (2, 1)]


def test_the_end_token_ends_a_row_and_is_not_part_of_it():
    model = scripted([5, 6, 2, 7], vocab_size=9)
    tokens = list(generate_ids(model, [[1]], GREEDY, end_id=2))
    assert [(token.id, token.stop_reason) for token in tokens] == [(5, None), (6, None), (2, "end_of_text")]
    (written,) = complete_ids(model, [[1]], GREEDY, end_id=2)
    assert (written.ids, written.stop_reason, len(written.logprobs)) == ([5, 6], "end_of_text", 2)


@pytest.mark.parametrize("max_tokens", [0, 1, 3])
def test_max_tokens_ends_a_row(max_tokens):
    model = scripted([5, 6, 7, 8], vocab_size=9)
    (written,) = complete_ids(model, [[1]], SamplingConfig(max_tokens=max_tokens, temperature=0.0))
    assert written.ids == [5, 6, 7][:max_tokens]
    assert written.stop_reason == "length"


def test_an_empty_prompt_starts_from_the_end_token():
    model = chaotic()
    empty, explicit = complete_ids(model, [[], [4]], GREEDY, end_id=4)
    assert empty == explicit
    with pytest.raises(DataError, match="prompt is empty"):
        complete_ids(model, [[]], GREEDY)


def test_no_prompts_give_nothing():
    assert list(generate_ids(chaotic(), [], GREEDY)) == []


@pytest.mark.parametrize("id", [-1, 97])
def test_an_id_that_the_model_does_not_know_is_refused_at_once(id):
    with pytest.raises(DataError, match=f"id {id} .* 0 to 96"):
        generate_ids(chaotic(vocab_size=97), [[1, id]], GREEDY)


def test_log_probabilities_are_the_models_own():
    table = [0.1, 0.6, 0.3]
    model = FakeModel(lambda visible: [math.log(p) for p in table], vocab_size=3, context_length=4)
    config = SamplingConfig(max_tokens=40, temperature=3.0, top_k=2, repetition_penalty=1.5)
    (written,) = complete_ids(model, [[0]], config)
    assert set(written.ids) == {1, 2}
    assert written.logprobs == pytest.approx([math.log(table[id]) for id in written.ids], abs=1e-6)


def test_forbidden_ids_are_never_drawn_and_change_no_probability():
    model = FakeModel(lambda visible: says(4, 3), vocab_size=4, context_length=8)
    (written,) = complete_ids(model, [[0]], GREEDY, forbidden=[3, 0])
    assert set(written.ids) == {1}
    assert written.logprobs[0] == pytest.approx(-20.0, abs=1e-6)


def test_samples_of_a_prompt_differ_and_stay_the_same():
    model = chaotic()
    config = SamplingConfig(max_tokens=10, seed=1)
    three = complete_ids(model, [[1, 2]] * 3, config, samples=[0, 1, 2])
    assert len({tuple(one.ids) for one in three}) == 3
    assert complete_ids(model, [[1, 2]], config, samples=[2]) == three[2:]
    fresh = SamplingConfig(max_tokens=10, seed=None)
    assert complete_ids(model, [[1, 2]], fresh) != complete_ids(model, [[1, 2]], fresh)


def test_repetition_penalty_looks_at_the_window_only():
    model = FakeModel(lambda visible: [3.0, 2.0, 1.0, 0.5], vocab_size=4, context_length=2)
    config = SamplingConfig(max_tokens=5, temperature=0.0, repetition_penalty=100.0)
    # Windows: [0], [0 1], [1 2] ... the context of 2 forgets what went before.
    (written,) = complete_ids(model, [[0]], config)
    assert written.ids == [1, 2, 0, 1, 2]


def test_tokens_come_as_they_are_written():
    model = scripted([5, 6, 7], vocab_size=9)
    tokens = generate_ids(model, [[1]], SamplingConfig(max_tokens=3))
    assert model.calls == []
    next(tokens)
    assert len(model.calls) == 1


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_are_no_numbers_are_an_error(bad, temperature):
    model = FakeModel(lambda visible: [0.0, bad], vocab_size=2, context_length=4)
    with pytest.raises(CheckpointError, match="not finite"):
        complete_ids(model, [[0]], SamplingConfig(temperature=temperature))


def test_a_model_in_training_mode_is_left_in_it():
    model = chaotic()
    model.train()
    complete_ids(model, [[1]], GREEDY)  # the fake refuses to run in training mode
    assert model.training


def test_rows_can_be_driven_by_hand():
    model = chaotic()
    cached, plain = (Rows(model, PROMPTS, max_tokens=20, use_cache=use) for use in (True, False))
    assert torch.equal(cached.start(), plain.start())
    for step in range(20):
        ids = [(step * 5 + row) % 97 for row in range(len(PROMPTS))]
        assert torch.equal(cached.extend(ids), plain.extend(ids))
