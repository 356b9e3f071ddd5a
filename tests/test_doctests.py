"""The examples in docstrings are true."""

import doctest
import importlib
from pathlib import Path

import pytest

import groundup

SOURCE = Path(groundup.__file__).parent


def modules_with_examples() -> list[str]:
    found = [path for path in SOURCE.rglob("*.py") if "\n    >>> " in path.read_text(encoding="utf-8")]
    return sorted(".".join(("groundup", *path.relative_to(SOURCE).with_suffix("").parts)) for path in found)


@pytest.mark.parametrize("name", modules_with_examples())
def test_examples_in_docstrings(name):
    module = importlib.import_module(name.removesuffix(".__init__"))
    failed, _ = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0
