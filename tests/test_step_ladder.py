"""The ladder of benchmarks/step_ladder.py: every rung takes the same steps, and what is said of them adds up."""

import itertools
import json
import sys
from pathlib import Path

import pytest

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import step_ladder
from bench import step_rungs
from bench.plot import plot_steps
from bench.results import keep_results
from bench.step_rungs import attention_as_written
from bench.step_ways import PHASES

from groundup.config import ModelConfig

TINY = ModelConfig(vocab_size=30, context_length=8, d_model=16, num_layers=1, num_heads=2)


@pytest.fixture(scope="module")
def climbed():
    return step_ladder.climb(TINY, 2, 2)


def test_every_rung_is_measured_against_the_one_before(climbed):
    names = list(climbed["rungs"])
    assert names[0] == "as often written" and climbed["rungs"][names[0]]["gain"] is None
    assert len(climbed["losses"]) == step_ladder.CHECKED
    for before, name in itertools.pairwise(names):
        theirs, ours = (climbed["rungs"][rung]["seconds"]["rounds"] for rung in (before, name))
        gains = [their / our for their, our in zip(theirs, ours, strict=True)]
        assert (climbed["rungs"][name]["gain"]["low"], climbed["rungs"][name]["gain"]["high"]) == (
            min(gains),
            max(gains),
        )
        assert set(climbed["rungs"][name]["phases"]) == set(PHASES)


def test_a_rung_that_learns_something_else_is_not_measured(monkeypatch):
    def without_a_mask(qkv, heads, rotation):
        return 2 * attention_as_written(qkv, heads, rotation)

    monkeypatch.setattr(step_rungs, "attention_as_written", without_a_mask)
    with pytest.raises(ValueError, match="reference comes to losses"):
        step_ladder.climb(TINY, 2, 1)


def test_a_table_a_file_and_a_picture(climbed, tmp_path):
    header, first, *_, products = step_ladder.step_table(climbed).splitlines()
    assert header.split() == ["step", "seconds", "low", "high", *PHASES, "gain"]
    assert first.startswith("as often written") and products.startswith("products alone")
    shape = {"context_length": TINY.context_length}
    record = {"benchmark": "step", "date": "2025-03-01", "machine": {"processor": "Some CPU"}, "threads": 1}
    record |= {"batch_size": 2, "shape": shape} | climbed
    keep_results(record, plot_steps, tmp_path)
    path = tmp_path / "2025-03-01-some-cpu-step.json"
    assert json.loads(path.read_text(encoding="utf-8")) == record
    assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
