"""Tests of groundup.experiments.report: the page is whole, needs nothing else, and shows text as text."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from experiments.runs import complete, eval_record, record, train_record, write_run, write_samples

from groundup.experiments import report
from groundup.experiments.records import read_run
from groundup.experiments.report import render, write_report

VOID = {"meta"}


class Page(HTMLParser):
    """Checks that tags are closed in order, and gathers headings and text by tag."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: dict[str, list[str]] = {}
        self.links: list[str] = []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs) -> None:
        self.links += [value for name, value in attrs if name in ("src", "href") and value]
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_startendtag(self, tag, attrs) -> None:
        """`<path/>`: nothing to close."""

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine without matplotlib; its pictures are tested in test_plots.py."""
    monkeypatch.setattr(report.importlib.util, "find_spec", lambda name: None)


def test_the_page_of_a_whole_run(tmp_path: Path) -> None:
    path = write_report(write_run(tmp_path / "fables"))
    assert path == tmp_path / "fables" / "report.html"
    page = Page(path.read_text(encoding="utf-8"))
    assert page.texts["h1"] == ["fables"]
    assert page.texts["title"] == ["fables · groundup"]
    sections = ["Learning curve", "What it writes", "On the way", "Configuration and machine", "Do it again"]
    assert page.texts["h2"] == sections
    captions = [text.split("  ")[0] for text in page.texts["figcaption"]]
    assert [caption.split(" nats")[0] for caption in captions[:2]] == ["Loss over updates", "Loss over time"]
    assert len(captions) == 5
    assert page.texts["pre"] == ['groundup train --out "a & b"']
    assert not (tmp_path / "fables" / "learning-curve.png").exists()


def test_the_page_needs_nothing_from_elsewhere(tmp_path: Path) -> None:
    html = render(read_run(write_run(tmp_path)))
    assert Page(html).links == []
    assert not re.search(r"https?://|@import|url\(|<link|<iframe", html)


def test_what_others_wrote_is_shown_as_text(tmp_path: Path) -> None:
    html = render(read_run(write_run(tmp_path)))
    page = Page(html)
    assert "b" in page.texts  # prompts
    assert page.texts["b"] == ["Once", ""]
    stories = [text for text in page.texts["p"] if "upon" in text or "Alone" in text]
    assert stories == ["Once upon <b>a</b> time & “so”\nit went", "Alone"]
    assert "Abacus <2>" in page.texts["td"]


def test_earlier_samples_show_the_way(tmp_path: Path) -> None:
    folder = write_run(tmp_path, samples=False)
    for step in (10, 20, 30, 40, 50):
        write_samples(folder, step, [("", f"text of {step}"), ("", f"second of {step}")])
    stories = [text for text in Page(render(read_run(folder))).texts["article"] if text]
    assert [re.sub(r"after.*", "", text) for text in stories] == [
        *("text of 10", "text of 30"),
        *("text of 50", "second of 50"),
    ]
    assert "after\u00a050\u00a0updates" in stories[-1]


def test_tables_hold_every_setting_with_defaults_filled_in(tmp_path: Path) -> None:
    page = Page(render(read_run(write_run(tmp_path))))
    rows = dict(zip(page.texts["th"], page.texts["td"], strict=True))
    assert rows["d_ff"] == "64"
    assert rows["num_kv_heads"] == "2"
    assert rows["tie_embeddings"] == "no"
    assert rows["betas"] == "0.9, 0.95"
    assert rows["memory"] == "8.00 GB"
    assert rows["instruction sets"] == "avx2, fma"
    assert "torch" not in rows


def test_a_resumed_run_is_marked_in_both_charts(tmp_path: Path) -> None:
    html = render(read_run(write_run(tmp_path)))
    assert html.count('<span class="mark" style="left:50.00%">resumed</span>') == 2


PARTIAL = {
    "nothing measured": [],
    "one line": [train_record(1, 5.0)],
    "only validation": [eval_record(10, 3.0)],
    "never finite": [train_record(1, "nan"), train_record(2, "inf")],
    "no seconds": [{"kind": "train", "step": 3, "loss": 2.0}],
    "only resumed": [record("resumed", 5)],
    "diverged": [*complete()[:5], train_record(60, "nan")],
    "nan validation": [train_record(1, 4.0), record("eval", 1, loss="nan", perplexity="nan")],
    "same loss": [train_record(step, 1.0) for step in (1, 2, 3)],
}


@pytest.mark.parametrize("has_parts", [True, False])
@pytest.mark.parametrize("case", PARTIAL)
def test_partial_runs_have_a_page(tmp_path: Path, case: str, has_parts: bool) -> None:
    run = write_run(tmp_path, PARTIAL[case], config=has_parts, environment=has_parts, samples=has_parts)
    html = render(read_run(run))
    page = Page(html)
    assert page.texts["h2"][-1] == "Do it again"
    for tag in ("p", "dd", "dt", "span"):
        assert not [text for text in page.texts.get(tag, []) if re.search(r"\bnan\b|\binf\b|None", text)]


@pytest.mark.parametrize(("seconds", "unit"), [(60, "seconds"), (600, "minutes"), (9000, "hours"), (400_000, "days")])
def test_time_is_shown_in_a_unit_that_fits(tmp_path: Path, seconds: int, unit: str) -> None:
    records = [train_record(1, 4.0) | {"seconds": 1}, train_record(2, 3.0) | {"seconds": seconds}]
    assert f'<div class="x-name">{unit}</div>' in render(read_run(write_run(tmp_path, records)))


def test_numbers_keep_their_units_on_one_line() -> None:
    assert report._joined("for 1 h 2 min & 3 s") == "for 1\u00a0h\u00a02\u00a0min &amp; 3\u00a0s"
    assert report._joined("22.7 million of 3 dogs") == "22.7\u00a0million of 3 dogs"
