"""Tests of every experiment: with runs that cost nothing its page asks, shows, answers; and is made anew the same."""

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
from experiments.labs import FakeTrainer, group, make_lab, near_best, results

from groundup.errors import ConfigError
from groundup.experiments import batch_size, gating, generate, learning_rate, main_text, norm, sgd_rates
from groundup.experiments.catalog import STUDIES, find_study
from groundup.experiments.outcome import read_results
from groundup.experiments.runner import run_study
from groundup.experiments.study_page import render_page, write_page

SAMPLE = {
    "logprob": -2.0,
    "distinct_2": 0.8,
    "repeated_4": 0.1,
    "length": 200,
    "ended": 1,
    "num_samples": 8,
    "text": "A\nb",
}
MEASURED: dict[str, Any] = {
    "generate": {
        "cells": [SAMPLE | {"temperature": t, "top_p": p} for t in generate.TEMPERATURES for p in generate.TOP_PS],
        "short": SAMPLE,
        "held_out": {key: SAMPLE[key] for key in ("logprob", "distinct_2", "repeated_4", "length")},
    },
    "main-text": {"texts": {"data": "# Once\n* upon"}},
}  # fmt: skip


@pytest.mark.parametrize("name", STUDIES)
def test_the_page_of_every_experiment(tmp_path: Path, prepared: Path, name: str) -> None:
    study = find_study(name)
    lab = make_lab(prepared, tmp_path / "runs")
    if name == "main-text":
        other = tmp_path / "other" / "text"
        other.parent.mkdir()
        other.symlink_to(prepared)
        lab = dataclasses.replace(lab, data=(str(prepared), str(other)))
    measured = MEASURED.get(name)
    trained = dataclasses.replace(study, measure=(lambda lab, results: measured) if measured else study.measure)
    found = run_study(trained, lab, command=f"groundup experiment {name}", train=FakeTrainer(), say=lambda text: None)
    page = render_page(trained, found, [])
    assert study.title in page and study.question in page and f"groundup experiment {name}" in page
    assert "nan" not in page.lower().replace("tenant", "").replace("nanogpt", "")
    assert all(len(paragraph) > 40 for paragraph in trained.comment(found))


def test_a_page_is_made_anew_from_what_is_kept_beside_it(tmp_path: Path, prepared: Path) -> None:
    pytest.importorskip("matplotlib")
    study, out = find_study("learning-rate"), tmp_path / "page"
    found = run_study(study, make_lab(prepared, tmp_path), command="it", train=FakeTrainer(), say=lambda text: None)
    page = write_page(study, found, out)
    files = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert {"README.md", "result.json", "curves.png", "curves.svg", "loss.png", "loss.svg"} <= {p.name for p in files}
    page.unlink()
    write_page(study, read_results(out)[1], out)
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == files
    text = page.read_text(encoding="utf-8")
    assert "](loss.png)" in text and "2 diverged" in text


def test_the_learning_rate_page_names_optimum_and_edge(tmp_path: Path, prepared: Path) -> None:
    groups = [
        group(f"learning rate {rate:g}", losses, x=rate, **{"optimizer.lr": rate})
        for rate, losses in ((1e-3, [2.5, 2.6]), (1e-2, [2.0, 2.1]), (1e-1, [2.3, 2.4]), (1.0, [math.nan, math.nan]))
    ]
    text = " ".join(learning_rate.comment(results(make_lab(prepared, tmp_path), groups)))
    assert "The lowest loss, 2.050 ± 0.071 nats per token (2 seeds), is reached at learning rate 0.01." in text
    assert "between 0.1 and 1." in text
    assert "The best rate is 1e+02 times below the first one that diverged and 10 times below the last" in text
    text = " ".join(learning_rate.comment(results(make_lab(prepared, tmp_path), groups[:2])))
    assert "No run diverged" in text and "It stands at an end of the sweep" in text
    text = " ".join(learning_rate.comment(results(make_lab(prepared, tmp_path), [groups[1], groups[3]])))
    assert "it is the last stable rate of the sweep" in text
    assert "Every run diverged" in learning_rate.comment(results(make_lab(prepared, tmp_path), groups[3:]))[0]


def test_batch_sizes_stop_at_memory_and_at_too_few_updates(tmp_path: Path, prepared: Path) -> None:
    def sizes(**fields) -> set[int]:
        lab = make_lab(prepared, tmp_path, **fields)
        return {v.settings["training.batch_size"] for v in batch_size.variants(lab, results(lab, []))}

    sizes_asked = (1, 4, 8, 64)
    assert sizes(batch_sizes=sizes_asked) == {1, 4, 8}  # 64 sequences of 16 make 2 updates of 2,048 tokens
    assert sizes(batch_sizes=sizes_asked, memory_bytes=1) == {1}
    limit = batch_size.measure(
        make_lab(prepared, tmp_path, memory_bytes=10**9), results(make_lab(prepared, tmp_path), [])
    )
    assert limit["largest_bytes"] <= 10**9 and limit["largest_batch"] >= 64


def test_an_ablation_is_also_judged_at_its_own_best_rate(tmp_path: Path, prepared: Path) -> None:
    def loss_of(config) -> float:
        best = 1e-3 if config.model.norm == "none" else 1e-2
        worse = 0.3 if config.model.norm == "none" else 0.0
        return near_best(dataclasses.replace(config, optimizer=dataclasses.replace(config.optimizer, lr=1e-2))) + (
            worse + abs(math.log10(config.optimizer.lr / best))
        )

    lab = make_lab(prepared, tmp_path)
    found = run_study(norm.STUDY, lab, command="", train=FakeTrainer(loss_of), say=lambda text: None)
    at_base, at_own = norm.STUDY.comment(found)
    assert "no RMSNorm, learning rate 0.01 ends 1.300" in at_base
    assert "is 0.001. No RMSNorm, learning rate 0.001 ends 0.300" in at_own
    assert [shown.label for shown in norm.STUDY.shown(found)] == [
        "RMSNorm (base)", "no RMSNorm, learning rate 0.01", "no RMSNorm, learning rate 0.001"
    ]  # fmt: skip


def test_gating_compares_equal_sizes(tmp_path: Path, prepared: Path) -> None:
    lab = make_lab(prepared, tmp_path)
    found = results(lab, [group("base", [2.0, 2.1]), group("changed", [2.3, 2.4])])
    text = gating.STUDY.comment(found)[-1]
    assert "three matrices of width 64, SiLU two of width 64: 17,872 and 15,824 parameters" in text
    assert "a part of the difference may be size" in text


def test_texts_of_other_tokens_are_compared_by_the_byte(tmp_path: Path, prepared: Path) -> None:
    found = results(make_lab(prepared, tmp_path), [group("a", [2.0, 2.01]), group("b", [3.0, 3.01])])
    per_token, per_byte = main_text.comment(found)
    assert "the loss on b is 1.000 ± 0.000 nats higher than on a" in per_token
    assert "b takes 0.500 bits more than a" in per_byte
    assert "~~~~text\n# Once" in main_text.tables(dataclasses.replace(found, measured=MEASURED["main-text"]))[1]


def test_the_quadratic_goes_as_foretold() -> None:
    for rate in sgd_rates.RATES[:2] + sgd_rates.RATES[3:]:
        measured = sgd_rates.losses(rate)
        for value, ratio in zip(measured, sgd_rates.predicted(rate), strict=True):
            assert value == pytest.approx(measured[0] * ratio, rel=1e-5)
    assert sgd_rates.losses(100.0)[4] < 1e-12
    text = sgd_rates.comment(results_of_quadratic())[0]
    assert "At 1000 the loss diverges" in text and "At 10 it falls to 0.12 of its start" in text


def results_of_quadratic():
    from groundup.experiments.outcome import Results

    return Results({}, (), {"losses": {f"{rate:g}": sgd_rates.losses(rate) for rate in sgd_rates.RATES}})


def test_figures_of_a_text() -> None:
    assert generate.figures([[1, 2, 3, 4, 5]]) == {"length": 5.0, "distinct_2": 1.0, "repeated_4": 0.0}
    assert generate.figures([[7] * 9])["repeated_4"] == pytest.approx(5 / 6)


def test_an_unknown_experiment_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean learning-rate"):
        find_study("learning_rate")
