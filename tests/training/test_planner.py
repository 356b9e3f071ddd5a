"""The plan is a pure function of numbers: valid for any text and machine, in time, and better with more of either."""

import dataclasses
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from groundup.config import ModelConfig, RunConfig, TrainingConfig
from groundup.data.excerpt import Corpus
from groundup.model.accounting import num_parameters
from groundup.training.loss_law import FITTED
from groundup.training.memory import peak_memory
from groundup.training.plan_reasons import explain
from groundup.training.planner import LEAST_STEPS, Machine, paid_by_measure, plan_run
from groundup.training.step_cost import KINDS, TYPICAL, StepCost, fit, work

ENTRIES = ((512, 1.9), (1024, 2.3), (2048, 2.6), (4096, 2.9), (8192, 3.2), (16384, 3.4))


def corpus(size_bytes=1_100_000, entries=ENTRIES):
    return Corpus(
        size_bytes=size_bytes, is_whole=True, documents=100, bytes_per_token=entries, packed_bits_per_byte=2.3,
        read_bytes_per_s=50e6, encode_bytes_per_s=10e6,
    )  # fmt: skip


def machine(speed=1.0, memory_bytes=8 << 30):
    return Machine(StepCost(tuple((TYPICAL / speed).tolist())), token_s=0.001 / speed, memory_bytes=memory_bytes)


few = settings(max_examples=20)  # of the properties that plan: each plan looks at a dozen models
sizes = st.floats(4, 12).map(lambda power: round(10**power))
speeds = st.floats(-2, 3).map(lambda power: 10.0**power)
minutes = st.floats(0.1, 2000)


@few
@given(sizes, st.integers(1, len(ENTRIES)), speeds, minutes)
def test_any_text_on_any_machine_gets_a_plan_that_can_be_run(size_bytes, num_entries, speed, asked):
    seconds = 60 * asked
    text = corpus(size_bytes, ENTRIES[:num_entries])
    plan = plan_run(text, machine(speed), seconds=seconds, spent_s=0.06 * seconds)
    assert plan.steps >= LEAST_STEPS and plan.batch_size >= 1
    assert (plan.model.vocab_size, plan.bytes_per_token) in text.bytes_per_token
    assert 0 < plan.valid_fraction <= 0.2
    assert 0 < plan.min_lr < plan.lr <= 1e-2 and 1 <= plan.warmup_steps < plan.steps
    taken = plan.text_bytes * (1 - plan.valid_fraction) / plan.bytes_per_token
    assert taken > plan.model.context_length, "one window at least to train on"
    assert plan.text_bytes * plan.every <= size_bytes + plan.every
    assert plan.band[0] < plan.bits_per_byte < plan.band[1] < math.inf
    lines = explain(plan, text, spent_s=5.0)
    assert all(line.name and line.value and line.why for line in lines)


@few
@given(sizes, speeds, minutes)
def test_a_plan_fills_its_time_and_no_more(size_bytes, speed, asked):
    seconds = 60 * asked
    plan = plan_run(corpus(size_bytes), machine(speed), seconds=seconds, spent_s=3.0)
    assume(plan.steps > LEAST_STEPS)
    whole_s = 3.0 + plan.prepare_s + plan.train_s + plan.finish_s
    assert seconds - 1.001 * plan.update_s <= whole_s <= seconds


@pytest.mark.parametrize(("seconds", "is_short"), [(6.0, True), (600.0, False)])
def test_a_time_that_is_too_short_for_any_plan_is_named(seconds, is_short):
    plan = plan_run(corpus(), machine(), seconds=seconds, spent_s=5.0)
    (line,) = (choice for choice in explain(plan, corpus(), spent_s=5.0) if choice.name == "time")
    assert ("too short" in line.why) == is_short


@few
@given(sizes, speeds, minutes, st.floats(1.5, 100))
def test_more_time_or_a_faster_machine_is_no_worse(size_bytes, speed, asked, factor):
    def loss(speed, asked):
        return plan_run(corpus(size_bytes), machine(speed), seconds=60 * asked).bits_per_byte

    assert loss(speed, factor * asked) <= loss(speed, asked) * 1.02  # rules that jump (batch, dropout) cost little
    assert loss(factor * speed, asked) <= loss(speed, asked) * 1.02


@few
@given(speeds, st.floats(10, 2000))
def test_the_measured_time_of_an_update_decides_the_number_of_updates(speed, asked):
    plan = plan_run(corpus(), machine(speed), seconds=60 * asked, spent_s=1.0)
    assume(plan.steps > 4 * LEAST_STEPS)
    slower = paid_by_measure(plan, 2 * plan.update_s, spent_s=1.0)
    assert 0.4 * plan.steps <= slower.steps <= 0.5 * plan.steps + 1
    assert slower.bits_per_byte >= plan.bits_per_byte
    assert abs(paid_by_measure(plan, plan.update_s, spent_s=1.0).steps - plan.steps) <= 1


@few
@given(minutes)
def test_a_longer_run_gets_no_smaller_model_and_a_small_memory_no_larger_one(asked):
    def parameters(seconds, memory_bytes):
        chosen = plan_run(corpus(10**8), machine(memory_bytes=memory_bytes), seconds=seconds).model
        return num_parameters(chosen).attention + num_parameters(chosen).feed_forward

    assert parameters(60 * asked, 8 << 30) <= parameters(240 * asked, 8 << 30)
    assert parameters(60 * asked, 1 << 28) <= parameters(60 * asked, 8 << 30)


@few
@given(sizes, speeds, minutes, st.integers(29, 36))
def test_what_is_planned_fits_into_the_memory(size_bytes, speed, asked, power):
    plan = plan_run(corpus(size_bytes), machine(speed, memory_bytes=1 << power), seconds=60 * asked)
    training = TrainingConfig(batch_size=plan.batch_size, micro_batch_size=plan.micro_batch_size)
    peak = peak_memory(RunConfig(model=plan.model, training=training))
    assert 1 <= plan.micro_batch_size <= plan.batch_size
    assert peak.total_bytes - peak.runtime_bytes <= 1 << power


def test_a_text_that_is_seen_often_gets_dropout():
    assert plan_run(corpus(10**9), machine(), seconds=1200.0).model.dropout == 0
    seldom, often = (plan_run(corpus(10**5), machine(), seconds=seconds).model.dropout for seconds in (30.0, 3600.0))
    assert seldom < often


# The cost model

shapes = st.builds(
    lambda heads, layers, context, vocab: ModelConfig(
        vocab_size=vocab, context_length=context, d_model=32 * heads, num_layers=layers, num_heads=heads
    ),
    st.integers(2, 12), st.integers(1, 8), st.sampled_from((32, 64, 128, 256)), st.sampled_from((512, 2048, 8192)),
)  # fmt: skip


@few
@given(st.lists(st.tuples(shapes, st.integers(1, 16)), min_size=1, max_size=8), speeds)
def test_costs_of_an_ordinary_machine_are_found_again_at_any_speed(measured, speed):
    truth = StepCost(tuple((TYPICAL / speed).tolist()))
    found = fit([(model, batch, truth.update_s(model, batch)) for model, batch in measured])
    assert all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(found.seconds, truth.seconds, strict=True))


@few
@given(st.lists(st.tuples(shapes, st.integers(1, 16), st.floats(0.2, 5)), min_size=1, max_size=8))
def test_noisy_times_give_costs_that_are_not_negative(measured):
    truth = StepCost(tuple(TYPICAL.tolist()))
    found = fit([(model, batch, noise * truth.update_s(model, batch)) for model, batch, noise in measured])
    assert len(found.seconds) == len(KINDS) and min(found.seconds) >= 0 < sum(found.seconds)


@given(shapes, st.integers(1, 16))
def test_more_work_costs_more(model, batch_size):
    cost = StepCost(tuple(TYPICAL.tolist()))
    deeper = dataclasses.replace(model, num_layers=model.num_layers + 1)
    dropping = dataclasses.replace(model, dropout=0.1)
    base = cost.update_s(model, batch_size)
    assert base < cost.update_s(deeper, batch_size) and base < cost.update_s(dropping, batch_size)
    assert base < cost.update_s(model, batch_size + 1)
    assert (work(model, 2 * batch_size) >= work(model, batch_size)).all()
    assert 0 < cost.pass_s(model, batch_size * model.context_length) < base


# The loss law

many = st.floats(1e3, 1e12)


@given(many, many, st.floats(1.01, 100))
def test_more_data_and_more_parameters_lower_the_loss(trained, unique, factor):
    def loss(parameters=10**6, trained=trained, unique=unique):
        return FITTED.bits_per_byte(2.0, parameters=parameters, trained_bytes=trained, unique_bytes=unique)

    assert loss(trained=factor * trained) <= loss()
    assert loss(unique=factor * unique) <= loss()
    assert loss(parameters=round(factor * 10**6)) <= loss()


@given(many, st.floats(1, 1e4))
def test_repeated_bytes_are_worth_less_than_new_ones_and_a_little_at_first(unique, epochs):
    worth = FITTED.effective_bytes(epochs * unique, unique)
    assert unique * (1 - 1e-9) <= worth <= epochs * unique * (1 + 1e-9)
    assert worth <= unique * (1 + FITTED.repeats)
    assert FITTED.effective_bytes(2 * unique, unique) > 1.9 * unique
