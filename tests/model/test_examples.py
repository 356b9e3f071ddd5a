"""The worked examples in the docstrings are true."""

import doctest

import pytest

from groundup.model import accounting, loss, ops, rope


@pytest.mark.parametrize("module", [accounting, loss, ops, rope], ids=lambda module: module.__name__)
def test_examples(module):
    results = doctest.testmod(module)
    assert results.attempted > 0 and results.failed == 0
