"""The half-window rule against the way SPEC tells it: keep the last half when the context is full."""

import pytest

from groundup.generation.window import window_start


@pytest.mark.parametrize("context_length", [1, 2, 3, 7, 8, 256])
def test_it_is_what_dropping_half_of_a_full_context_gives(context_length):
    start = 0
    for length in range(4 * context_length + 3):
        if length - start > context_length:  # one id too many: the last half of those before it stays
            start = length - 1 - context_length // 2
        assert window_start(length, context_length) == start
        assert length - start <= context_length


def test_a_window_is_never_shorter_than_the_half_and_the_new_id():
    for context_length in range(1, 40):
        for length in range(context_length + 1, 200):
            assert length - window_start(length, context_length) >= context_length // 2 + 1
