"""The pages in Chinese say what their English twins say: the same code, the same numbers, the same links."""

import os
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHINESE = ROOT / "docs" / "zh"
PAGES = sorted(CHINESE.rglob("*.md"))
FENCED = re.compile(r"^```.*?^```$", flags=re.DOTALL | re.MULTILINE)
# Chinese counts large numbers in units of ten thousand.
IN_WORDS = {"260 万": "2.6 million"}


def english_twin(page: Path) -> Path:
    inner = page.relative_to(CHINESE)
    return ROOT / "README.md" if inner == Path("README.md") else ROOT / "docs" / inner


def code_blocks(text: str) -> list[str]:
    return FENCED.findall(text)


def numbers(text: str) -> Counter[str]:
    """Every number outside code blocks and the targets of links, as it is written."""
    prose = re.sub(r"\]\([^)]*\)", "]", FENCED.sub("", text))
    for chinese, english in IN_WORDS.items():
        prose = prose.replace(chinese, english)
    return Counter(re.findall(r"\d+(?:[.,]\d+)*", prose))


def targets(page: Path) -> set[Path]:
    """What a page links to, besides itself in the other language; a Chinese page counts as its English twin."""
    found = set()
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        path = Path(os.path.normpath(page.parent / target))
        assert path.exists(), f"{page} links to {target}"
        found.add(english_twin(path) if path.is_relative_to(CHINESE) else path)
    return found - {english_twin(page) if page.is_relative_to(CHINESE) else page}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(CHINESE)))
def test_a_page_in_chinese_says_what_its_twin_says(page):
    twin = english_twin(page)
    chinese, english = page.read_text(encoding="utf-8"), twin.read_text(encoding="utf-8")
    assert code_blocks(chinese) == code_blocks(english)
    assert numbers(chinese) - numbers(english) == Counter(), "only in Chinese"
    assert numbers(english) - numbers(chinese) == Counter(), "only in English"
    assert targets(page) == targets(twin)
    assert page in {Path(os.path.normpath(twin.parent / link)) for link in re.findall(r"\]\(([^)]+)\)", english)}


def test_the_core_pages_are_there():
    answers = {path.name for path in (ROOT / "docs" / "answers").glob("*.md")}
    assert {path.name for path in (CHINESE / "answers").glob("*.md")} == answers
    assert {CHINESE / "README.md", CHINESE / "reading-order.md"} < set(PAGES)


def test_the_check_sees_a_number_and_a_command_that_differ():
    assert numbers("4 of 1,000 in 0.5 s\n```\n7\n```\n[x](a-3.md)") == Counter(["4", "1,000", "0.5"])
    assert code_blocks("a\n```\nrun 1\n```\n") != code_blocks("a\n```\nrun 2\n```\n")
