"""Tests of groundup.experiments.plots: pictures come out, of what was measured."""

import math
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from experiments.runs import complete, train_record, write_run

from groundup.errors import CheckpointError, ConfigError
from groundup.experiments.plots import loss_curves, save_learning_curve
from groundup.experiments.report import write_report

PNG = b"\x89PNG\r\n\x1a\n"


def texts(svg: Path) -> str:
    """The words of an SVG, which matplotlib draws as outlines and names in comments."""
    return svg.read_text(encoding="utf-8")


def test_a_picture_of_a_run_for_documents(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = write_run(tmp_path / "run")
    path = save_learning_curve(folder, tmp_path / "new" / "curve.png")
    assert path.read_bytes().startswith(PNG)


def test_the_report_writes_one_beside_it(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    write_report(write_run(tmp_path))
    assert (tmp_path / "learning-curve.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(("x", "label"), [("step", "updates"), ("seconds", "minutes"), ("tokens", "millions")])
def test_loss_over_each_count(tmp_path: Path, x, label: str) -> None:
    pytest.importorskip("matplotlib")
    path = loss_curves(complete(), tmp_path / f"{x}.svg", x=x)
    ElementTree.parse(path)
    words = texts(path)
    assert label in words
    assert "validation" in words
    assert "resumed" in words
    assert "nats per token" in words


@pytest.mark.parametrize(
    "records", [[], [train_record(1, "nan")], [train_record(1, 3.0)], [train_record(1, 3.0) | {"step": None}]]
)
def test_little_to_draw_is_drawn(tmp_path: Path, records) -> None:
    pytest.importorskip("matplotlib")
    assert loss_curves(records, tmp_path / "little.png").read_bytes().startswith(PNG)


def test_what_cannot_be_drawn_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"'a\.bmp'; use one of \.png, \.svg, \.pdf"):
        loss_curves([], tmp_path / "a.bmp")
    with pytest.raises(CheckpointError, match="not a run folder"):
        save_learning_curve(tmp_path, tmp_path / "a.png")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError, match=r"pip install 'groundup\[plots\]'"):
        loss_curves([train_record(1, math.e)], tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()
