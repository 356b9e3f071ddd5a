"""The worked examples in the docstrings are true."""

import doctest

import pytest

from groundup.optim import gradients, schedule


@pytest.mark.parametrize("module", [gradients, schedule], ids=lambda module: module.__name__)
def test_examples(module):
    results = doctest.testmod(module)
    assert results.attempted > 0 and results.failed == 0
