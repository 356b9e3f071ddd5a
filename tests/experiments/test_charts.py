"""Tests of groundup.experiments.charts: the numbers end up where they belong in the SVG."""

import json
import math
import re
from html import unescape

import pytest

from groundup.experiments.charts import MAX_POINTS, Line, Mark, line_chart


def draw(*lines: Line, **options) -> str:
    settings = {"title": "Height", "unit": "metres", "x_name": "day", "format_x": str, "format_y": "{:.1f}".format}
    return line_chart(list(lines), **(settings | options))


def paths(html: str, style: str) -> list[tuple[str, float, float]]:
    """(pen, x, y) of every point of the line with this style."""
    data = re.search(rf'class="line {style}" d="([^"]*)"', html)
    assert data is not None
    return [(pen, float(x), float(y)) for pen, x, y in re.findall(r"([ML])([\d.]+) ([\d.]+)", data[1])]


def test_points_lie_at_their_place() -> None:
    html = draw(Line("a", [0.0, 5.0, 10.0], [0.0, 10.0, 5.0], "plain"), from_zero=True)
    assert paths(html, "plain") == [("M", 0, 1000), ("L", 500, 0), ("L", 1000, 500)]
    assert '<span class="tick y" style="top:0.00%">10</span>' in html
    assert '<span class="tick x" style="left:100.00%">10</span>' in html


def test_a_value_that_is_not_finite_is_a_gap() -> None:
    html = draw(Line("a", [0.0, 1.0, 2.0, 3.0, 4.0], [1.0, 1.5, math.nan, 2.0, math.inf]))
    assert [pen for pen, _, _ in paths(html, "plain")] == ["M", "L", "M"]


def test_a_point_without_a_place_is_left_out() -> None:
    html = draw(Line("a", [0.0, math.nan, 2.0], [1.0, 9.0, 2.0]))
    assert len(paths(html, "plain")) == 2


def test_one_point_is_a_dot() -> None:
    assert 'class="dots plain"' in draw(Line("a", [3.0], [2.0]))
    assert 'class="dots' not in draw(Line("a", [3.0, 4.0], [2.0, 1.0]))
    assert draw(Line("a", [3.0, 4.0], [2.0, 1.0], "valid", has_dots=True)).count("h0") == 2


@pytest.mark.parametrize("y", [[], [math.nan], [math.inf, math.nan]])
def test_nothing_to_draw_gives_nothing(y) -> None:
    assert draw(Line("a", [float(index) for index in range(len(y))], y)) == ""


def test_thinning_keeps_ends_and_spikes() -> None:
    y = [1.0] * 10_000
    y[1234], y[7777], y[5000] = 9.0, 0.5, math.nan
    html = draw(Line("a", [float(index) for index in range(10_000)], y))
    points = paths(html, "plain")
    assert len(points) <= MAX_POINTS
    assert (points[0][1], points[-1][1]) == (0, 1000)
    heights = [height for _, _, height in points]
    ticks = [float(at) for at in re.findall(r'class="tick y" style="top:([\d.]+)%', html)]
    assert min(heights) == pytest.approx(1000 * (1 - 9 / 10), abs=60)
    assert max(heights) > sorted(heights)[-2] + 20  # 0.5 lies below all the rest
    assert ticks


def test_lines_are_labelled_at_their_last_finite_value_without_overlap() -> None:
    x = [0.0, 1.0, 2.0]
    html = draw(Line("up", x, [1.0, 2.0, 3.0], "valid"), Line("flat", x, [1.0, 2.9, math.nan], "train"))
    labels = re.findall(r'class="end (\w+)" style="top:([\d.]+)%">([^<]*)<', html)
    assert [(style, text) for style, _, text in labels] == [("valid", "up 3.0"), ("train", "flat 2.9")]
    tops = [float(top) for _, top, _ in labels]
    assert tops[1] - tops[0] >= 14.9


def test_marks_stand_at_their_place_and_only_inside() -> None:
    html = draw(Line("a", [0.0, 10.0], [1.0, 2.0]), marks=[Mark(5.0, "half"), Mark(11.0, "out"), Mark(math.nan, "no")])
    assert re.findall(r'class="mark" style="left:([\d.]+)%">(\w+)<', html) == [("50.00", "half")]


def test_text_is_escaped_and_the_data_for_the_read_out_survives_it() -> None:
    html = draw(Line("<a> & \"b\" 'c'", [0.0, 1.0], [1.0, 2.0]), title="<t>")
    assert "<a>" not in html
    assert "<t>" not in html
    attribute = re.search(r'data-chart="([^"]*)"', html)
    assert attribute is not None
    data = json.loads(unescape(attribute[1]))
    assert data["lines"][0]["name"] == "<a> & \"b\" 'c'"
    assert data["lines"][0]["points"] == [[0.0, "0.0", "1.0"], [1.0, "1.0", "2.0"]]
    assert data["high"] == 1.0


def test_a_logarithmic_axis_says_so() -> None:
    line = Line("a", [0.0, 1.0], [1.5, 9.0])
    assert "metres, log scale" in draw(line, may_log=True)
    assert "log scale" not in draw(line)
