"""Tests of groundup.experiments.laboratory and its texts: what was asked for becomes a lab, or one sentence."""

from pathlib import Path

import pytest

from groundup.data.manifest import read_manifest
from groundup.errors import ConfigError, DataError
from groundup.experiments import laboratory
from groundup.experiments.catalog import find_study
from groundup.experiments.laboratory import Wishes, open_lab
from groundup.experiments.presets import PRESETS, find_preset
from groundup.experiments.texts import own_text, prepared_text


def lab_of(name: str, tmp_path: Path, **wishes):
    return open_lab(find_study(name), Wishes(preset="smoke", **wishes), out=tmp_path / "out", runs=tmp_path / "runs")


def test_a_lab_on_prepared_data_with_settings_of_ones_own(tmp_path: Path, prepared: Path) -> None:
    lab = lab_of("norm", tmp_path, data=(str(prepared),), tokens=640, num_seeds=5, overrides=("--optimizer.lr=0.25",))
    assert (lab.tokens, lab.num_seeds, lab.data, lab.vocab_size) == (640, 5, (str(prepared),), 300)
    assert lab.base.optimizer.lr == 0.25 and lab.base.data.path == str(prepared)


def test_a_text_is_prepared_once_with_a_vocabulary_of_its_own(tmp_path: Path, text: str) -> None:
    source = tmp_path / "fables.txt"
    source.write_text(text * 4, encoding="utf-8")
    preset = find_preset("smoke")
    folder = prepared_text(str(source), tmp_path / "data", preset)
    assert Path(folder).name == "fables"
    manifest = read_manifest(folder)
    assert manifest.vocab_size == preset.vocab_size
    assert 0 < manifest.splits["valid"].bytes < 4 * preset.valid_bytes
    before = (Path(folder) / "manifest.json").stat().st_mtime_ns
    assert prepared_text(str(source), tmp_path / "data", preset) == folder
    assert (Path(folder) / "manifest.json").stat().st_mtime_ns == before
    source.write_text(text * 2, encoding="utf-8")
    assert prepared_text(str(source), tmp_path / "data", preset) != folder


def test_texts_that_every_machine_has(tmp_path: Path) -> None:
    for name in ("toy-stories", "python-library"):
        path = Path(own_text(name, tmp_path, 20_000))
        assert path.stat().st_size >= 20_000
        assert "<|endoftext|>" in path.read_text(encoding="utf-8")


def test_minutes_become_tokens_once(tmp_path: Path, prepared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[float] = []

    def tokens_for(study, lab, minutes):
        measured.append(minutes)
        return 1280

    monkeypatch.setattr(laboratory, "_tokens_for", tokens_for)
    for _ in range(2):
        assert lab_of("norm", tmp_path, data=(str(prepared),), minutes=3.0).tokens == 1280
    assert measured == [3.0]
    assert lab_of("norm", tmp_path, data=(str(prepared),), minutes=4.0).tokens == 1280
    assert measured == [3.0, 4.0]


@pytest.mark.parametrize(
    ("wishes", "why"),
    [
        ({"tokens": 0}, "--tokens is 0"),
        ({"minutes": 0.0}, "--minutes is 0"),
        ({"num_seeds": 0}, "--seeds is 0"),
    ],
)
def test_numbers_that_cannot_work_are_said(wishes, why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        Wishes(**wishes)


def test_data_that_cannot_work_is_said(tmp_path: Path, prepared: Path) -> None:
    with pytest.raises(ConfigError, match="there is no preset 'huge'"):
        find_preset("huge")
    with pytest.raises(ConfigError, match="main-text compares 2 texts; give --data 2 times"):
        lab_of("main-text", tmp_path, data=(str(prepared),))
    with pytest.raises(ConfigError, match="have the same name"):
        lab_of("main-text", tmp_path, data=(str(prepared), str(prepared)))
    with pytest.raises(ConfigError, match="needs a positive one"):
        lab_of("norm", tmp_path, data=(str(prepared),), overrides=("--optimizer.lr=0", "--optimizer.min_lr=0"))
    with pytest.raises(DataError, match="does not exist"):
        lab_of("norm", tmp_path, data=("nowhere.txt",))
    with pytest.raises(DataError, match="is a URL"):
        lab_of("norm", tmp_path, data=("https://example.org/a.txt",))


def test_the_presets_hold_together() -> None:
    for preset in PRESETS.values():
        assert max(preset.rates) > preset.base.optimizer.lr > min(preset.rates)
        assert preset.batch_sizes[0] == 1
        assert preset.tokens % (preset.base.training.batch_size * preset.base.model.context_length) == 0
        assert preset.num_seeds >= 2
