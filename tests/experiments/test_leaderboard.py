"""The leaderboard study: equal times, what helped at once, and sentences and picture that follow from the losses."""

import dataclasses
from pathlib import Path

import pytest
from experiments.labs import FakeTrainer, group, make_lab, results

from groundup.config import RunConfig
from groundup.errors import ConfigError
from groundup.experiments import leaderboard
from groundup.experiments.catalog import IN_TURN, STUDIES
from groundup.experiments.laboratory import Wishes, open_lab
from groundup.experiments.leaderboard import OPTIONS, STUDY, settings_of
from groundup.experiments.runner import planned_runs, run_study
from groundup.experiments.study_page import render_page, write_page
from groundup.recipe import changed, differences

GAINS = {"name": 0.2, "zero_outputs": 0.05, "tie_embeddings": 0.03, "scale_embeddings": 0.04, "qk_norm": -0.1}


def loss_of(config: RunConfig) -> float:
    """Muon, zero outputs and tied embeddings help, scaled ones more; norms on queries and keys hurt."""
    found = {name.rpartition(".")[2] for name in differences(RunConfig(), config)}
    noise = 0.001 * len(found) * (-1) ** config.training.seed  # no option is better with every seed by chance
    base = 2.0 + 0.1 * config.training.seed + noise
    return base - sum(gain for name, gain in GAINS.items() if name in found)


@pytest.fixture
def found(tmp_path: Path, prepared: Path):
    lab = make_lab(prepared, tmp_path, num_seeds=3, minutes=0.5)
    return run_study(STUDY, lab, command="groundup experiment it", train=FakeTrainer(loss_of), say=lambda text: None)


def test_every_run_gets_the_same_time_and_differs_in_its_option(tmp_path: Path, prepared: Path) -> None:
    lab = make_lab(prepared, tmp_path, num_seeds=2, minutes=0.5)
    runs = planned_runs(STUDY, lab)
    assert len(runs) == 2 * (1 + len(OPTIONS)) and len({run.out for run in runs}) == len(runs)
    assert {run.training.minutes for run in runs} == {0.5}
    base = lab.config(leaderboard.variants(lab, results(lab, []))[0], 0)
    for option in OPTIONS:
        settings = settings_of(option, lab)
        found = differences(base, changed(base, settings)).keys()
        assert found == settings.keys() - {"model.d_ff"}, option.name  # which no base has set


def test_all_options_can_be_on_at_once(tmp_path: Path, prepared: Path) -> None:
    lab = make_lab(prepared, tmp_path)
    for option in OPTIONS:
        lab = dataclasses.replace(lab, base=changed(lab.base, settings_of(option, lab)))
    assert lab.base.model.is_variant and lab.base.optimizer.average_over == 3  # a tenth of 32 updates


def test_what_clearly_helped_is_tried_at_once_without_rivals(found) -> None:
    together = found.group(leaderboard.TOGETHER)
    assert dict(together.variant.settings) == {
        "optimizer.name": "muon",
        "model.zero_outputs": True,
        "model.tie_embeddings": True,
        "model.scale_embeddings": True,
    }
    helped, hurt, unclear = leaderboard.ranked(found)
    assert [group.name for group in helped] == ["muon", "tied-scaled", "zero-outputs", "tied"]
    assert [group.name for group in hurt] == ["qk-norm"]
    assert len(unclear) == len(OPTIONS) - 5


def test_the_comment_says_what_the_losses_carry(found) -> None:
    text = " ".join(leaderboard.comment(found))
    assert f"Of {len(OPTIONS)} options 4 clearly end below it, 1 clearly above, and {len(OPTIONS) - 5} cannot" in text
    below, above = text.index("Clearly below the base"), text.index("Clearly above the base")
    assert below < text.index("Muon by 0.2") < text.index("the tied head by 0.03") < above
    assert text.index("QK-norm by 0.1") > above and "(100 % of the updates)" in text
    assert "The differences of its parts, each alone, add up to -0.3" in text
    assert [group.name for group in leaderboard.shown(found)] == [
        "base", "muon", "tied-scaled", "zero-outputs", "together"
    ]  # fmt: skip


def test_every_option_is_in_the_table_with_its_source(found) -> None:
    (table,) = leaderboard.tables(found)
    rows = table.splitlines()[2:]
    assert len(rows) == len(OPTIONS) + 1
    assert rows[0].startswith("| all that helped (muon, tied-scaled, zero-outputs) |")
    for option in OPTIONS:
        assert any(option.label in row and option.source in row for row in rows)
        assert "arXiv:" in option.source or "https://" in option.source


def test_nothing_is_claimed_where_nothing_is_clear_or_the_base_is_lost(tmp_path: Path, prepared: Path) -> None:
    lab = make_lab(prepared, tmp_path, num_seeds=2)
    nan = float("nan")
    unclear = results(lab, [group("base", [2.0, 2.1]), group("muon", [1.9, 2.2]), group("relu2", [nan, nan])])
    assert len(leaderboard.variants(lab, unclear)) == 1 + len(OPTIONS)
    text = " ".join(leaderboard.comment(unclear))
    assert "Of 2 options 0 clearly end below it, 0 clearly above, and 1 cannot" in text
    assert "Not told apart from the base, with their differences in nats per token: muon (0.000 ± 0.141)." in text
    assert "Both runs with relu2 diverged" in text
    lost = results(lab, [group("base", [nan, nan]), group("muon", [1.9, 2.2])])
    assert leaderboard.comment(lost) == ["The base itself diverged, so there is nothing to compare with."]
    assert leaderboard.tables(lost) == []


def test_the_page_says_that_times_are_equal_and_shows_the_differences(found, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    page = render_page(STUDY, found, [])
    assert "| a run | 30 s of training and validation, and as many updates as they hold, of 4 x 16, float32 |" in page
    write_page(STUDY, found, tmp_path / "page")
    assert (tmp_path / "page" / "differences.png").stat().st_size > 10_000
    assert "](differences.png)" in (tmp_path / "page" / "README.md").read_text(encoding="utf-8")


def test_minutes_are_those_of_each_run(tmp_path: Path, prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def steps_for(config, *, seconds, validation_passes):
        asked.append(seconds)
        return 40

    monkeypatch.setattr("groundup.training.plan.steps_for", steps_for)

    def lab_of(**wishes):
        wishes = Wishes(preset="smoke", data=(str(prepared),), **wishes)
        return open_lab(STUDY, wishes, out=tmp_path / "out", runs=tmp_path / "runs")

    lab = lab_of(minutes=2.0)
    assert lab.minutes == 2.0 and lab.tokens == 40 * 4 * 32
    assert lab_of(minutes=2.0) == lab  # by the plan that was kept
    assert lab_of().minutes == pytest.approx(0.02)
    assert asked == [120.0, pytest.approx(1.2)]
    with pytest.raises(ConfigError, match="leaderboard compares runs of equal time; give --minutes"):
        lab_of(tokens=100)


def test_all_means_all_the_others() -> None:
    assert set(STUDIES) - set(IN_TURN) == {"leaderboard"}
