"""One static site from pages and runs: opens from the disk, needs no server, no script and nothing from elsewhere.

    site/  index.html  site.css  pages/NAME/index.html, *.png, *.svg  runs/NAME.html

A page is a folder with a README.md and result.json, as an experiment leaves it; a run is a run folder. Both are found
below the folders given. Run folders inside a page's folder are shown as runs.
"""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import groundup
from groundup.errors import DataError
from groundup.experiments.comparison import cell_text, compare_runs
from groundup.experiments.outcome import RESULT_FILE, read_results
from groundup.experiments.records import read_run
from groundup.experiments.report import render
from groundup.experiments.study_page import PAGE
from groundup.files import StrPath, spelled, write_atomic

_PICTURES = ("*.png", "*.svg")


@dataclass(frozen=True)
class SitePage:
    """A page of an experiment as the site holds it: its folder's name in the site, title, question."""

    source: Path
    name: str
    title: str
    question: str


def write_site(folders: Sequence[StrPath], out: StrPath) -> Path:
    """Write the site of all pages and runs below the folders; returns its index.html.

    Raises DataError if there is none, or if `out` holds something else than a site.
    """
    out = Path(out)
    sources = [Path(folder) for folder in folders]
    for source in sources:
        if not source.is_dir():
            raise DataError(f"there is no folder {str(source)!r}; give folders of pages or runs")
    page_folders = _below(sources, RESULT_FILE)
    run_folders = [folder for folder in _below(sources, "metrics.jsonl") if (folder / "config.yaml").is_file()]
    if not page_folders and not run_folders:
        raise DataError(f"no page and no run below {', '.join(map(repr, map(str, sources)))}")
    _make_room(out)
    pages = [_write_page(folder, out, name) for folder, name in _named(page_folders)]
    runs = []
    for folder, name in _named(run_folders):
        write_atomic(out / "runs" / f"{name}.html", spelled(render(read_run(folder))))
        runs.append((folder, name))
    css = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    write_atomic(out / "site.css", css + Path(__file__).with_name("site.css").read_text(encoding="utf-8"))
    write_atomic(out / "index.html", spelled(_index(pages, runs)))
    return out / "index.html"


def to_html(markdown: str) -> str:
    """Markdown with tables as HTML; HTML in it is shown as text."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)


def _below(folders: Sequence[Path], name: str) -> list[Path]:
    """Folders that hold a file of this name, in the order of their paths, each once."""
    found = {path.parent.resolve(): path.parent for folder in folders for path in sorted(folder.rglob(name))}
    return list(found.values())


def _named(folders: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each folder with a name that no other has: its own, with its parents' before it where that is needed."""
    named: list[tuple[Path, str]] = []
    taken: set[str] = set()
    for folder in folders:
        parts = folder.resolve().parts
        name = next(
            name
            for length in range(1, len(parts) + 1)
            if (name := "-".join(_plain(part) for part in parts[-length:])) not in taken
        )
        taken.add(name)
        named.append((folder, name))
    return named


def _plain(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-") or "root"


def _make_room(out: Path) -> None:
    """An older site goes away; anything else stays."""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "site.css").is_file())):
        raise DataError(f"{str(out)!r} is not empty and no site of ours; give another folder with --out")
    for part in ("pages", "runs"):
        shutil.rmtree(out / part, ignore_errors=True)


def _write_page(folder: Path, out: Path, name: str) -> SitePage:
    """A page as HTML, with its pictures beside it."""
    read_results(folder)  # a result that cannot be read is said now, by name
    try:
        markdown = (folder / PAGE).read_text(encoding="utf-8")
    except OSError:
        raise DataError(f"{str(folder)!r} has no {PAGE}; make it anew with --redraw") from None
    target = out / "pages" / name
    for pattern in _PICTURES:
        for picture in sorted(folder.glob(pattern)):
            target.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(picture, target / picture.name)
    title = next((line.removeprefix("# ") for line in markdown.splitlines() if line.startswith("# ")), name)
    question = next(
        (line.removeprefix("**Question.** ") for line in markdown.splitlines() if line.startswith("**Question.**")), ""
    )
    body = f'<p class="kicker"><a href="../../index.html">All pages</a></p>{to_html(markdown)}'
    write_atomic(target / "index.html", spelled(_document(title, body, up="../../")))
    return SitePage(folder, name, title, question)


def _index(pages: Sequence[SitePage], runs: Sequence[tuple[Path, str]]) -> str:
    cards = [
        f'<li><a href="pages/{page.name}/index.html">{escape(page.title)}</a><p>{escape(page.question)}</p></li>'
        for page in pages
    ]
    body = ["<h1>Experiments and runs</h1>"]
    if cards:
        body.append(f'<h2>Pages</h2><ul class="pages">{"".join(cards)}</ul>')
    if runs:
        body.append(f"<h2>Runs</h2>{_table(runs)}")
    return _document("Experiments and runs", "".join(body), up="")


def _table(runs: Sequence[tuple[Path, str]]) -> str:
    """What each run reached; its name leads to its page."""
    rows: list[dict[str, Any]] = compare_runs([folder for folder, _ in runs]).rows()
    names = ("parameters", "tokens", "loss", "bits/byte", "time", "tokens/s")
    head = "".join(f"<th>{name}</th>" for name in ("run", *names))
    lines = []
    for (_, name), row in zip(runs, rows, strict=True):
        cells = "".join(f"<td>{escape(cell_text(column, row[column]))}</td>" for column in names)
        lines.append(f'<tr><td><a href="runs/{name}.html">{escape(name)}</a></td>{cells}</tr>')
    table = f'<table class="runs"><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    return f'<div class="wide">{table}</div>'


def _document(title: str, body: str, *, up: str) -> str:
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)} · groundup</title>\n<link rel="stylesheet" href="{up}site.css">\n</head>\n<body>\n'
        f'<main class="page">\n{body}\n</main>\n<footer>Written by groundup {escape(groundup.__version__)}.</footer>\n'
        "</body>\n</html>\n"
    )
