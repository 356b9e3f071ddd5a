"""Tests of groundup.experiments.site: every link leads somewhere, nothing comes from elsewhere, text stays text."""

import re
from pathlib import Path

import pytest
from experiments.labs import group, make_lab, results
from experiments.runs import write_run

from groundup.errors import DataError
from groundup.experiments.outcome import write_results
from groundup.experiments.site import to_html, write_site


def write_page_folder(folder: Path, lab) -> Path:
    write_results(results(lab, [group("a", [2.0])]), folder, name="it")
    (folder / "README.md").write_text(
        "# Rates & edges\n\n**Question.** Which <rate>?\n\n![Loss](loss.png)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        encoding="utf-8",
    )
    (folder / "loss.png").write_bytes(b"picture")
    return folder


def test_a_site_of_pages_and_runs(tmp_path: Path, prepared: Path) -> None:
    source = tmp_path / "source"
    write_page_folder(source / "rates", make_lab(prepared, tmp_path))
    write_run(source / "x" / "run one")
    write_run(source / "y" / "run one")
    index = write_site([source, source / "x"], tmp_path / "site")
    pages = [path for path in (tmp_path / "site").rglob("*.html")]
    assert len(pages) == 4
    for page in pages:
        html = page.read_text(encoding="utf-8")
        for target in re.findall(r'(?:href|src)="([^"]+)"', html):
            assert "://" not in target
            assert (page.parent / target).is_file(), (page, target)
        assert "<rate>" not in html
    text = index.read_text(encoding="utf-8")
    assert "Rates &amp; edges" in text and "Which &lt;rate&gt;?" in text
    page = (tmp_path / "site" / "pages" / "rates" / "index.html").read_text(encoding="utf-8")
    assert "<td>2</td>" in page and (tmp_path / "site" / "pages" / "rates" / "loss.png").read_bytes() == b"picture"


def test_a_site_is_made_anew_and_replaces_nothing_else(tmp_path: Path) -> None:
    run = write_run(tmp_path / "old name")
    write_site([run], tmp_path / "site")
    run.rename(tmp_path / "new name")
    write_site([tmp_path / "new name"], tmp_path / "site")
    assert [path.name for path in (tmp_path / "site" / "runs").iterdir()] == ["new-name.html"]
    with pytest.raises(DataError, match="not empty and no site"):
        write_site([tmp_path / "new name"], tmp_path)
    with pytest.raises(DataError, match="no page and no run"):
        write_site([tmp_path / "site"], tmp_path / "other")
    with pytest.raises(DataError, match="there is no folder"):
        write_site([tmp_path / "nothing"], tmp_path / "other")


def test_markup_in_a_page_is_text() -> None:
    assert "<script>" not in to_html("<script>alert(1)</script>\n\n[x](javascript:alert(1))")
