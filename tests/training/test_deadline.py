"""A run ends in time also where the machine slows down on the way; by a scripted clock, without waiting."""

import itertools
import math
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from training.runs import changed, lines, losses, moments_of, weights_of

from groundup.checkpoint import load_run
from groundup.experiments.headline import notices
from groundup.experiments.records import read_run
from groundup.optim.schedule import cosine_schedule, place_on_schedule
from groundup.training import deadline as deadlines
from groundup.training import loop, meter, session
from groundup.training.deadline import Deadline, end_in_time
from groundup.training.loop import learning_rate, train


class Script:
    """A clock that stands still except for updates, and the parts of a run that a deadline looks at."""

    def __init__(self, monkeypatch):
        self.now = 1000.0
        for module in (deadlines, meter, session):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now, strftime=time.strftime))

    def run(self, update_s, *, steps=200, every=50, pass_s=2.0, total_s=208.0):
        """Seconds and last step of a run whose update number n takes `update_s(n)`, and how often its end moved."""
        step = moves = 0
        paused_s, deadline = 0.0, self.deadline(total_s)
        while step < steps:
            step += 1
            self.now += update_s(step)
            if step % every == 0 or step == steps:
                self.now, paused_s = self.now + pass_s, paused_s + pass_s
            longest_s = pass_s if paused_s else None
            end = deadline.new_end(step, steps, pause_every=every, paused_s=paused_s, longest_pause_s=longest_s)
            moves, steps = moves + (end != steps), end
        return self.now - 1000.0, step, moves

    def deadline(self, seconds):
        return Deadline(1000.0 + seconds, check_s=seconds / 50, tolerance_s=0.03 * seconds, pause_s=2.0)


@pytest.fixture
def script(monkeypatch):
    return Script(monkeypatch)


@pytest.mark.parametrize(
    "update_s",
    [
        lambda step: 1.0 if step < 100 else 2.0,  # slowed by half in the middle
        lambda step: 1.0 if step < 180 else 2.0,  # and near the end
        lambda step: 10.0 if 60 < step < 66 else 1.0,  # a spell
        lambda step: 2.5,  # never as fast as planned
        lambda step: 0.3,  # faster
        lambda step: 1.0 + 0.5 * math.sin(step / 7),
    ],
)
def test_a_run_ends_in_time_whatever_the_machine_does(script, update_s):
    seconds, _, moves = script.run(update_s)
    assert abs(seconds - 208.0) <= 0.05 * 208.0
    assert 1 <= moves <= 30


def test_a_machine_that_keeps_its_speed_moves_nothing(script):
    assert script.run(lambda step: 1.0) == (208.0, 200, 0)


def test_a_slowed_run_and_one_resumed_from_the_recorded_move(script, tiny_config, tmp_path, monkeypatch):
    update = loop.update

    def slow_update(run, loss):
        done = update(run, loss)
        script.now += 1.0 if run.state.step < 30 else 2.0
        return done

    monkeypatch.setattr(loop, "update", slow_update)
    whole = changed(
        tiny_config, out=str(tmp_path / "whole"),
        training={"max_steps": 60, "eval_every": 0, "save_every": 0, "log_every": 1, "keep_last": 99},
    )  # fmt: skip
    straight = train(whole, deadline=script.deadline(60.0))
    assert abs(script.now - 1060.0) <= 3.0
    step, end = straight.state.moved_ends[-1]
    assert end == straight.state.step < 60
    rates = [record["lr"] for record in lines(whole.out)]
    assert rates[-1] == pytest.approx(whole.optimizer.lr / 10), "the schedule comes down to its end"
    assert max(abs(a - b) for a, b in itertools.pairwise(rates[5:])) < 0.1 * whole.optimizer.lr

    moved = tmp_path / "whole" / "checkpoints" / f"step-{step:08d}"  # a move is saved at once
    again = train(changed(whole, out=str(tmp_path / "again")), resume=str(moved))
    assert again.state.moved_ends == straight.state.moved_ends and again.state.step == end
    assert weights_of(again.folder) == weights_of(whole.out) and moments_of(again.folder) == moments_of(whole.out)
    assert losses(again.folder) == losses(whole.out)[step:]
    assert notices(read_run(whole.out)) == []


@pytest.mark.parametrize("settings", [{"save_every": 5}, {"eval_every": 5}])
def test_a_move_is_in_the_checkpoint_of_its_step_whoever_else_saves_there(tiny_config, settings):
    class Mover(Deadline):
        def new_end(self, step, end, **_):
            return 8 if step == 5 else end

    config = changed(
        tiny_config, training={"max_steps": 20, "eval_every": 0, "save_every": 0, "keep_last": 9, **settings}
    )
    run = train(config, deadline=Mover(0.0, check_s=1.0, tolerance_s=1.0))
    assert run.state.step == 8
    assert load_run(f"{config.out}/checkpoints/step-00000005").state.moved_ends == [[5, 8]]


moves = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 400)), max_size=4)


@given(end=st.integers(1, 400), steps=moves)
def test_the_place_on_a_moved_schedule_grows_to_the_end(end, steps):
    at, until, recorded = 0, end, []
    for gap, left in steps:
        if at + gap < until:
            at += gap
            until = at + left
            recorded.append((at, until))
    places = [place_on_schedule(step, end=end, moves=recorded) for step in range(until + 1)]
    assert places[0] == 0 and places[-1] == pytest.approx(end)
    assert all(a < b for a, b in itertools.pairwise(places))
    for number, (step, _) in enumerate(recorded):  # the past does not change
        before = [place_on_schedule(s, end=end, moves=recorded[:number]) for s in range(step + 1)]
        assert places[: step + 1] == pytest.approx(before)


def test_the_rate_without_moves_is_exactly_that_of_the_plan(tiny_config, tokenizer):
    from groundup.training.resolve import resolve

    config = resolve(tiny_config, tokenizer)
    settings = config.optimizer
    limits = {"max_lr": settings.lr, "min_lr": settings.min_lr}
    steps = {"warmup_steps": settings.warmup_steps, "decay_steps": settings.decay_steps}
    for step in range(1, 21):
        assert learning_rate(config, step, []) == cosine_schedule(step, **limits, **steps)


@given(
    step=st.integers(0, 10**6), left=st.integers(1, 10**6), update_s=st.floats(1e-4, 100), pause_s=st.floats(0, 100),
    every=st.integers(1, 10**6), seconds_left=st.floats(-10, 1e6), tolerance_s=st.floats(0.1, 1000),
)  # fmt: skip
def test_an_end_that_is_moved_is_in_time_and_leaves_one_update(
    step, left, update_s, pause_s, every, seconds_left, tolerance_s
):
    times = {"update_s": update_s, "pause_s": pause_s, "pause_every": every}
    end = end_in_time(step, step + left, seconds_left=seconds_left, tolerance_s=tolerance_s, **times)
    assert end > step
    if end != step + left and end > step + 1:
        mean_s = (end - step) * (update_s + pause_s / every) + pause_s
        assert mean_s <= seconds_left * (1 + 1e-9)
        assert mean_s + 2 * (update_s + pause_s / every) > seconds_left, "and no later update would fit"
