"""Planning a run by its time."""

import dataclasses

from groundup.training import plan
from groundup.training.plan import steps_for, time_of_update
from groundup.training.resolve import resolve


def test_steps_fill_the_time_with_validation_taken_off(tiny_config, monkeypatch, prepared):
    monkeypatch.setattr(plan, "time_of_update", lambda config, measure_s: 0.5)
    valid_tokens = len(plan.open_tokens(prepared, "valid"))
    pass_s = 0.5 / 3 * valid_tokens / (4 * 16)
    assert steps_for(tiny_config, seconds=100.0, validation_passes=0) == 200
    assert steps_for(tiny_config, seconds=100.0, validation_passes=2) == round((100 - 2 * pass_s) / 0.5)
    assert steps_for(tiny_config, seconds=1.0, validation_passes=0) == 10


def test_an_update_takes_time_and_leaves_nothing_behind(tiny_config, tokenizer):
    config = resolve(tiny_config, tokenizer)
    small = time_of_update(config, measure_s=0.01)
    large = time_of_update(
        dataclasses.replace(config, training=dataclasses.replace(config.training, batch_size=512)), measure_s=0.01
    )
    assert 0 < small < large
