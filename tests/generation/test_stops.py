"""Stop strings: the result is that of the whole text, whatever the pieces."""

from hypothesis import given
from hypothesis import strategies as st

from groundup.generation.stops import StopScanner

SHORT = st.text("ab\n", max_size=12)


def cut(text: str, stops: list[str]) -> tuple[str, bool]:
    """The definition: character by character, until the text ends with a stop string; the longest counts."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            return text[: end - len(max(ending, key=len))], True
    return text, False


@given(st.lists(SHORT, max_size=6), st.lists(st.text("ab\n", min_size=1, max_size=4), max_size=3))
def test_any_cuts_give_the_text_before_the_first_stop(pieces, stops):
    scanner = StopScanner(stops)
    shown = ""
    expected, found = cut("".join(pieces), stops)
    for piece in pieces:
        shown += scanner.push(piece)
        assert expected.startswith(shown)  # nothing is shown that would have to be taken back
    assert shown + scanner.finish() == expected
    assert scanner.found == found


def test_only_what_could_begin_a_stop_string_waits():
    scanner = StopScanner(["<|end|>"])
    assert scanner.push("a < b <|") == "a < b "
    assert scanner.push("e") == ""
    assert scanner.push("x") == "<|ex"
