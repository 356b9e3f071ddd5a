"""The lessons in docs/lessons say what was measured, and point to files that exist."""

import json
import re
import sys
from pathlib import Path

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

from bench.step_ways import PRODUCTS
from bench.table import significant

ROOT = Path(__file__).resolve().parent.parent
LESSON = ROOT / "docs" / "lessons" / "tokenizer.md"
STEP = LESSON.with_name("training-step.md")


def lesson_rows(ladders: dict) -> dict[str, list[str]]:
    """What the tables have to say of each rung: median, range, gain."""
    rows = {}
    for name, climbed in ladders.items():
        for rung, one in climbed["rungs"].items():
            rate = {key: significant(one["bytes_per_s"][key] / 1e6) for key in ("median", "low", "high")}
            gain = significant(one["gain"]["median"]) if one["gain"] else ""
            rows[f"{name}: {rung}"] = [rate["median"], f"{rate['low']} to {rate['high']}", gain]
    return rows


def test_the_lesson_says_what_was_measured():
    page = LESSON.read_text(encoding="utf-8")
    (source,) = set(re.findall(r"benchmarks/results/([\w-]+)\.json", page))
    record = json.loads((ROOT / "benchmarks" / "results" / f"{source}.json").read_text(encoding="utf-8"))
    expected = lesson_rows(record["ladders"])
    told: dict[str, list[str]] = {}
    heading = ""
    for line in page.splitlines():
        cells = [cell.strip().strip("*`") for cell in line.strip().strip("|").split("|")]
        if found := re.fullmatch(r"\| `(\w.*)` \| MB/s \| range \| gain \| .* \|", line):
            heading = found[1]
        elif heading and len(cells) == 5 and not cells[0].startswith("---"):
            told[f"{heading}: {cells[0]}"] = cells[1:4]
    assert told == expected
    # Outside the tables, a speed or a gain must be one of those in them.
    prose = "\n".join(line for line in page.splitlines() if not line.startswith("|"))
    figures = {figure for row in expected.values() for figure in (row[0], row[2])}
    for figure in re.findall(r"([\d.,]*\d) (?:MB/s|times)\b", prose.replace("\n", " ")):
        assert figure in figures, figure


def test_the_lesson_on_the_step_says_what_was_measured():
    page = STEP.read_text(encoding="utf-8")
    (source,) = set(re.findall(r"benchmarks/results/([\w-]+)\.json", page))
    record = json.loads((ROOT / "benchmarks" / "results" / f"{source}.json").read_text(encoding="utf-8"))
    measured = record["rungs"] | {PRODUCTS: {"seconds": record["products"], "gain": None, "adds": ""}}
    expected = {}
    for name, one in measured.items():
        median, low, high = (significant(one["seconds"][key]) for key in ("median", "low", "high"))
        gain = significant(one["gain"]["median"]) if one["gain"] else ""
        expected[name] = [median, f"{low} to {high}", gain, one["adds"]]
    rows = [
        [cell.strip().strip("*") for cell in line.strip("|").split("|")] for line in page.splitlines() if "|" in line
    ]
    assert {row[0]: row[1:] for row in rows[2:]} == expected
    used, alone = (measured[name]["seconds"]["median"] for name in ("update", PRODUCTS))
    assert f"Of the {significant(used)} seconds" in page and f"{significant(alone)}: {alone / used:.0%}".replace(
        "%", " %"
    ) in page.replace("\n", " ")


def test_the_lesson_counts_the_lines_of_the_reference():
    (told,) = re.findall(r"reference\.py` is [^.]*?\s(\d+)\s+lines\s+of Python", LESSON.read_text(encoding="utf-8"))
    source = ROOT / "src" / "groundup" / "tokenizer" / "reference.py"
    assert len(source.read_text(encoding="utf-8").splitlines()) == int(told)


def test_lessons_link_to_files_that_exist():
    for lesson in (LESSON, STEP):
        page = lesson.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#:]+)\)", page):
            assert (lesson.parent / target).exists(), target
        for target in re.findall(r"`((?:native|benchmarks|src|docs)/[\w./-]+)`", page):
            assert (ROOT / target).exists(), target
