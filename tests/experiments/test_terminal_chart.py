"""Tests of groundup.experiments.terminal_chart."""

import math

from groundup.experiments.terminal_chart import curve, framed


def dots(lines: list[str]) -> int:
    return sum((ord(character) - 0x2800).bit_count() for line in lines for character in line)


def test_a_falling_line_goes_from_corner_to_corner() -> None:
    lines = curve([0.0, 1.0], [1.0, 0.0], width=4, height=2)
    assert [len(line) for line in lines] == [4, 4]
    assert dots(lines) == 8
    assert ord(lines[0][0]) & 0x01 and ord(lines[-1][-1]) & 0x80


def test_gaps_and_single_points() -> None:
    assert dots(curve([0.0, 1.0, 2.0], [1.0, math.nan, 0.0], width=4, height=2)) == 2
    assert dots(curve([5.0], [3.0], width=4, height=2)) == 1
    assert dots(curve([], [], width=4, height=2)) == 0


def test_a_frame_names_both_ends() -> None:
    text = framed([0.0, 100.0], [4.5, 2.25], width=30, height=3)
    lines = text.splitlines()
    assert lines[0].startswith("4.500 │") and lines[2].startswith("2.250 │")
    assert lines[3].endswith("100 updates") and max(map(len, lines)) <= 30
    assert framed([1.0], [math.nan], width=30, height=3) == "no loss yet"
