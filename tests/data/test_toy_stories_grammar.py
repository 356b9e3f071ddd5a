"""The language in which the toy stories are written: slots, choices, tables, beats."""

import pytest

from groundup.data.toy_stories.grammar import (
    Dice,
    Telling,
    read_blocks,
    read_story,
    read_table,
    read_template,
    with_article,
)


def say(text: str, **slots: str) -> str:
    return Telling({name: read_template(value) for name, value in slots.items()}, Dice(0)).say(read_template(text))


def test_a_slot_is_told_with_capital_and_article():
    assert say("{Thing}, {a_thing}. {A_thing}!", thing="old kite") == "Old kite, an old kite. An old kite!"


@pytest.mark.parametrize("noun", ["hour", "honest man", "apple", "ugly duckling", "egg"])
def test_an_stands_before_a_vowel_that_is_spoken(noun):
    assert with_article(noun) == f"an {noun}"


@pytest.mark.parametrize("noun", ["unicorn", "one-eyed cat", "house", "useful thing", "yak"])
def test_a_stands_before_a_consonant_that_is_spoken(noun):
    assert with_article(noun) == f"a {noun}"


def test_a_choice_in_a_slot_is_settled_once():
    for seed in range(20):
        telling = Telling({"thing": read_template("[red/blue] kite")}, Dice(seed))
        first, second = telling.say(read_template("{thing}|{thing}")).split("|")
        assert first == second == telling.slot("thing")


def test_choices_are_equally_likely_and_can_be_nested_and_empty():
    dice = Dice(1)
    template = read_template("a[b[c/]/d]e")
    said = [Telling({}, dice).say(template) for _ in range(4000)]
    assert 0.45 < said.count("ade") / 4000 < 0.55
    assert 0.20 < said.count("abce") / 4000 < 0.30
    assert set(said) == {"ade", "abce", "abe"}


@pytest.mark.parametrize("text", ["a [b", "a b]", "{a", "a}", "[a/b"])
def test_a_template_that_does_not_close_is_our_own_fault(text):
    with pytest.raises(AssertionError, match="unmatched"):
        read_template(text)


def test_beats_in_haste_leave_out_what_is_optional():
    (beats,) = read_story("""
* one

? two

* three
  and four
""")
    assert [Telling({}, Dice(0)).paragraph(beats, haste) for haste in (0.0, 1.0)] == [
        "one two three and four",
        "one three and four",
    ]


def test_tables_and_blocks_are_two_spellings_of_the_same():
    table = read_table("""
thing | worlds     | dear
kite  | wood, hill | It {flew}.
drum  |            | Boom.
""")
    blocks = read_blocks("""
thing: kite
worlds: wood, hill
dear: It
  {flew}.

thing: drum
dear: Boom.
""")
    assert [(row.key, row.slots, row.worlds) for row in table] == [(row.key, row.slots, row.worlds) for row in blocks]
    assert table[0].worlds == ("wood", "hill")
    assert table[1] != blocks[1], "rows are compared as objects"
