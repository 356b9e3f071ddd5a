"""The tokenizer does without torch, and so do its tests."""

import pytest

from groundup import _native


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Instead of the fixture of all tests, which sets torch's threads and takes seconds to import it."""


@pytest.fixture(scope="module", params=["portable", "avx2", "avx512"])
def instruction_set(request):
    """Each one that the core has a source for, in use for the time of a test."""
    if request.param not in _native.instruction_sets():
        pytest.skip(f"this processor has no {request.param}")
    _native.use_instruction_set(request.param)
    yield request.param
    _native.use_instruction_set(_native.instruction_sets()[0])
