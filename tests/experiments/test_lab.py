"""Tests of groundup.experiments.lab: what a variant and a seed mean as a run."""

from pathlib import Path

from experiments.labs import TOKENS, make_lab

from groundup.experiments.lab import Variant


def variant(**settings) -> Variant:
    return Variant("it", "it", {name.replace("__", "."): value for name, value in settings.items()}, 2)


def test_every_run_sees_the_same_tokens_whatever_its_batch(tmp_path: Path) -> None:
    lab = make_lab("data", tmp_path)
    for batch_size in (1, 2, 8, 32):
        training = lab.config(variant(training__batch_size=batch_size), 0).training
        assert training.max_steps * batch_size * 16 == TOKENS
        assert 1 <= training.eval_every <= training.max_steps
    assert lab.config(variant(training__batch_size=10**6), 0).training.max_steps == 1


def test_a_run_is_named_by_what_it_changes_and_equal_runs_share_a_folder(tmp_path: Path) -> None:
    lab = make_lab("data", tmp_path)
    base, changed = lab.config(variant(), 1), lab.config(variant(model__norm="none", optimizer__lr=0.1), 1)
    assert Path(base.out).name.startswith("base-seed1-")
    assert Path(changed.out).name.startswith("norm-none_lr-0.1-seed1-")
    assert lab.config(variant(optimizer__lr=1e-2), 1) == base
    assert lab.config(variant(), 0).out != base.out
    assert make_lab("other", tmp_path).config(variant(), 1).out != base.out


def test_a_longer_run_keeps_its_steps_and_is_named_by_them(tmp_path: Path) -> None:
    config = make_lab("data", tmp_path).config(variant(training__max_steps=77), 0)
    assert config.training.max_steps == 77
    assert Path(config.out).name.startswith("max_steps-77-seed0-")
