"""The tokenizer does without torch, and so do its tests."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Instead of the fixture of all tests, which sets torch's threads and takes seconds to import it."""
