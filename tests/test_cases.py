"""docs/cases.md: every case has its line, and every test named there exists."""

import ast
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
NUMBERS = {"T": range(1, 16), "E": [1, 4, 5, 8, 9, 11, 12, 13], "D": range(1, 17), "G": range(1, 10)}
CASES = [f"{letter}{number}" for letter, numbers in NUMBERS.items() for number in numbers] + ["the 60 strings"]
LINES = re.findall(r"^\| (\S.*?) \| (.+) \| (`.*`) \|$", (TESTS.parent / "docs/cases.md").read_text("utf-8"), re.M)


@cache
def functions_in(file: Path) -> Counter[str]:
    """How often each function is defined at the top of a file: a second definition would hide the first."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return Counter(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_every_case_has_one_line():
    assert [case for case, *_ in LINES] == CASES


@pytest.mark.parametrize(("case", "tests"), [(case, tests) for case, _, tests in LINES])
def test_the_tests_of_a_case_exist(case, tests):
    for part in tests.split("; "):
        assert re.fullmatch(r"`[\w/]+\.py`: `test_\w+`(, `test_\w+`)*", part), part
        file, *names = re.findall(r"`([^`]+)`", part)
        assert Path(file).name.startswith("test_")
        for name in names:
            assert functions_in(TESTS / file)[name] == 1, f"{case}: {file} has no {name}, or more than one"
