"""Tests of groundup.cli.overrides."""

import pytest

from groundup.cli.overrides import split_overrides


@pytest.mark.parametrize(
    ("line", "rest", "settings"),
    [
        ("x.yaml --model.d_ff 4288", "x.yaml", "--model.d_ff 4288"),
        ("--model.d_ff 4288 x.yaml", "x.yaml", "--model.d_ff 4288"),
        ("--model.d_ff=4288 x.yaml", "x.yaml", "--model.d_ff=4288"),
        ("--training.compile --json", "--json", "--training.compile"),
        ("--optimizer.lr -1 --out a.b", "--out a.b", "--optimizer.lr -1"),
        ("--flops_per_s=19.5e12 runs/a.b", "--flops_per_s=19.5e12 runs/a.b", ""),
        ("--init_from runs/a x.yaml", "x.yaml", "--init_from runs/a"),
        ("", "", ""),
    ],
)
def test_settings_are_told_apart_wherever_they_stand(line: str, rest: str, settings: str) -> None:
    assert split_overrides(line.split(), also=("--init_from",)) == (rest.split(), settings.split())
