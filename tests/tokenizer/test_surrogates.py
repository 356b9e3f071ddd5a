"""Lone surrogates: named by place, or replaced."""

import pytest

from groundup.tokenizer.surrogates import replace_surrogates, surrogate_error


@pytest.mark.parametrize(
    ("text", "replaced"),
    [
        ("\ud83d", "\ufffd"),
        ("a\udc00b\ud83dc", "a\ufffdb\ufffdc"),
        ("\ud83d\ude00", "😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
        ("plain 😀 é", "plain 😀 é"),
        ("", ""),
    ],
)
def test_replaced(text, replaced):
    assert replace_surrogates(text) == replaced


def test_error_counts_from_the_start_of_the_whole_text():
    with pytest.raises(UnicodeEncodeError) as caught:
        "ab\ud83d".encode()
    assert r"'\ud83d', at character 102:" in str(surrogate_error(caught.value, 100))
