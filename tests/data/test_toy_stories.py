"""The toy stories: the same for ever, held-out plots apart, English right, every skeleton and row told."""

import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from groundup.corpus import END_OF_TEXT, iter_documents
from groundup.data.toy_stories import stories, story, tell, write_corpus
from groundup.data.toy_stories.casting import cast, slots_of
from groundup.data.toy_stories.grammar import Beat, Dice, Slot, Telling, Template, read_template
from groundup.data.toy_stories.plot import (
    ABILITIES,
    Skeleton,
    count_plots,
    draw_plot,
    go_together,
    possible_heroes,
    possible_worlds,
)
from groundup.data.toy_stories.skeletons.catalogue import SKELETONS
from groundup.data.toy_stories.words import HELPERS, KINDS, OPENING, PRONOUNS
from groundup.errors import DataError

GOLDEN = Path(__file__).parent.parent / "golden" / "toy_stories.sha256"
GENDERED = {pronoun: set(forms.values()) for pronoun, forms in PRONOUNS.items()}
DIGEST = """
import hashlib, sys
from groundup.data.toy_stories import story
from groundup.data.toy_stories.plot import count_plots
from groundup.data.toy_stories.skeletons.catalogue import SKELETONS
texts = [story(index, seed, split) for split in ("train", "valid") for seed in (0, 7) for index in range(25)]
print(hashlib.sha256("\\n".join(texts).encode()).hexdigest())
print(*{"numpy", "torch", "regex"} & set(sys.modules))
print(sum(map(count_plots, SKELETONS)))
"""
by_name = pytest.mark.parametrize("skeleton", SKELETONS, ids=lambda skeleton: skeleton.name)


@pytest.fixture(scope="module")
def told():
    """1,000 training stories."""
    return [tell(index, seed=1) for index in range(1000)]


@pytest.fixture(scope="module")
def held_out():
    """100 held-out stories."""
    return [tell(index, seed=1, split="valid") for index in range(100)]


# The same for ever


def test_a_hundred_stories_are_the_golden_ones_whatever_the_hash_seed(request):
    command = [sys.executable, "-c", DIGEST]
    runs = [
        subprocess.check_output(command, env=os.environ | {"PYTHONHASHSEED": seed}, text=True).splitlines()
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    digest, heavy_modules, num_plots = runs[0]
    assert heavy_modules == ""
    assert int(num_plots) > 1_000_000
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(f"{digest}  25 stories each of seeds 0 and 7, train and valid\n", encoding="utf-8")
    assert digest == GOLDEN.read_text(encoding="utf-8").split()[0]


def test_a_story_depends_on_its_number_alone():
    first = list(itertools.islice(stories(3), 5))
    assert [story(index, 3) for index in reversed(range(5))] == first[::-1]


def test_index_seed_and_split_all_matter():
    texts = {story(index, seed, split) for index in (0, 1) for seed in (0, 1) for split in ("train", "valid")}
    assert len(texts) == 8


def test_an_unknown_split_is_refused():
    with pytest.raises(DataError, match="split is 'test'; use 'train' or 'valid'"):
        tell(0, 0, "test")


# Training and held-out


def test_no_plot_and_no_story_is_in_both_splits(told, held_out):
    assert {tale.plot.split for tale in told} == {"train"}
    assert {tale.plot.split for tale in held_out} == {"valid"}
    assert not {tale.plot.signature for tale in told} & {tale.plot.signature for tale in held_out}
    assert not {tale.text for tale in told} & {tale.text for tale in held_out}


def test_one_plot_in_twenty_is_held_out():
    dice = Dice(0)
    plots = {plot.signature: plot.split for plot in (draw_plot(SKELETONS, dice) for _ in range(1000))}
    assert 0.03 < list(plots.values()).count("valid") / len(plots) < 0.07


def test_stories_hardly_ever_repeat(told):
    assert len({tale.text for tale in told}) == len(told)
    assert len({tale.plot.signature for tale in told}) > 0.85 * len(told)


def test_plots_are_counted_as_they_are_drawn():
    """All signatures of a small skeleton, by drawing until hardly any is missing, against the count."""
    (skeleton,) = (skeleton for skeleton in SKELETONS if skeleton.name == "little rescue")
    dice = Dice(0)
    drawn = {draw_plot((skeleton,), dice).signature for _ in range(5000)}
    assert 0.7 * count_plots(skeleton) < len(drawn) <= count_plots(skeleton)


@by_name
def test_every_part_of_a_plot_is_told(skeleton):
    """Otherwise two plots, one held out, could give the same story."""
    sure = set().union(*(surely_told(beat, skeleton) for beats in skeleton.story for beat in beats))
    for table in skeleton.tables:
        assert sure & set().union(*(row.slots for row in table)), f"rows from {table[0].key} on leave no trace"
    traces = {"friend": "friend.kind", "helper": "helper.kind", "elder": "elder"}
    for role in skeleton.roles:
        named_by_a_row = any(row.friend for table in skeleton.tables for row in table if role == "friend")
        assert traces[role] in sure or named_by_a_row, f"{role} leaves no trace"
    assert {"home", "hero", "kind"} <= sure


def surely_told(beat: Beat, skeleton: Skeleton) -> set[str]:
    """The slots that are in a story whichever wording and whichever rows are drawn."""
    if beat.optional:
        return set()
    return set.intersection(*(surely_in(wording, skeleton) for wording in beat.wordings))


def surely_in(text: str | Template, skeleton: Skeleton) -> set[str]:
    names: set[str] = set()
    for part in text.parts if isinstance(text, Template) else ():
        if isinstance(part, Slot):
            fillings = [surely_in(filling, skeleton) for filling in fillings_of(part.name, skeleton)]
            names |= {part.name}.union(set.intersection(*fillings) if fillings else ())
        elif isinstance(part, tuple):
            names |= set.intersection(*(surely_in(option, skeleton) for option in part))
    return names


def fillings_of(name: str, skeleton: Skeleton) -> list[str | Template]:
    """The templates that can stand in a slot."""
    common = {
        "opening": OPENING,
        "who": "{trait} {kind}",
        "titled": "{hero} the {kind}",
        "friend.titled": "{friend} the {friend.kind}",
    }
    rows = [row for table in skeleton.tables for row in table]
    return [row.slots[name] for row in rows if name in row.slots] + [
        read_template(text) for slot, text in common.items() if slot == name
    ]


# Every skeleton and every row


def test_every_skeleton_is_told_equally_often(told):
    counts = [sum(tale.plot.skeleton is skeleton for tale in told) for skeleton in SKELETONS]
    assert len(SKELETONS) >= 12
    assert min(counts) > 0.5 * len(told) / len(SKELETONS)


@by_name
def test_every_row_can_be_told(skeleton):
    usable = {
        row
        for rows in itertools.product(*skeleton.tables)
        if go_together(rows) and any(possible_heroes(rows, world) for world in possible_worlds(rows))
        for row in rows
    }
    assert {row.key for table in skeleton.tables for row in table if row not in usable} == set()
    for table in skeleton.tables:
        assert len({row.key for row in table}) == len(table), "two rows of one name have one signature"


@by_name
def test_every_slot_of_every_wording_is_filled(skeleton):
    """Any wording of any beat, with any row: nothing is missing and nothing of the language is left over."""
    dice = Dice(0)
    for _ in range(20):
        plot = draw_plot((skeleton,), dice)
        slots = slots_of(plot, cast(plot, dice))
        for beat in itertools.chain(*skeleton.story):
            for wording in beat.wordings:
                text = Telling(dict(slots), dice).say(wording)
                assert not re.search(r"[{}\[\]/|_*]", text), text


@by_name
def test_pronouns_come_from_the_cast_alone(skeleton):
    gendered = re.compile(r"\b(he|she|him|his|her|hers|himself|herself)\b", re.IGNORECASE)
    texts = [row.slots[name] for table in skeleton.tables for row in table for name in row.slots]
    texts += [wording for beats in skeleton.story for beat in beats for wording in beat.wordings]
    for text in texts:
        assert not gendered.search(literals_of(text)), text


def literals_of(text: str | Template) -> str:
    if isinstance(text, str):
        return text
    return " ".join(
        part if isinstance(part, str) else " ".join(map(literals_of, part))
        for part in text.parts
        if not isinstance(part, Slot)
    )


# Sense


def test_only_pronouns_of_the_cast_occur(told):
    for tale in told:
        present = {character.pronoun for character in tale.cast}
        words = set(re.findall(r"[a-z]+", tale.text.lower()))
        for pronoun in {"she", "he"} - present:
            assert not words & GENDERED[pronoun], tale.text


def test_hero_and_the_others_never_share_a_pronoun_or_a_name(told):
    for tale in told:
        hero, *others = tale.cast
        assert hero.pronoun not in {other.pronoun for other in others}
        assert len({character.name for character in tale.cast}) == len(tale.cast)


def test_everybody_in_the_cast_is_in_the_story_with_name_and_kind(told):
    for tale in told:
        for character in tale.cast:
            assert re.search(rf"\b{character.name}\b", tale.text), (character, tale.text)
            is_child = character.kind in ("girl", "boy")  # which the name and the pronoun say
            assert is_child or character.kind in tale.text, (character, tale.text)


def test_names_are_those_of_the_cast(told):
    """A capital letter inside a sentence is a name of the cast, a day, a month, I, or a star called Dumpling."""
    allowed = {"I", "Sunday", "Sundays", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}
    allowed |= {"May", "July", "Dumpling"}
    for tale in told:
        names = {character.name for character in tale.cast}
        inside = re.findall(r"(?<=[a-z,;] )[A-Z]\w*", tale.text)
        assert set(inside) <= names | allowed, (set(inside) - names - allowed, tale.text)


def test_the_helper_can_do_what_the_hero_cannot(told):
    can = {row.key: row.can for row in HELPERS}
    for plot in (tale.plot for tale in told if tale.plot.helper):
        needs = {need for row in plot.rows for need in row.needs}
        assert needs
        assert needs <= set(can[plot.helper])
        assert not needs & set(ABILITIES[plot.hero])


def test_an_obstacle_stands_where_it_can_stand(told):
    for plot in (tale.plot for tale in told):
        assert all(not row.worlds or plot.world in row.worlds for row in plot.rows)


def test_the_ending_comes_back_to_what_the_story_is_about(told, held_out):
    for tale in told + held_out:
        last = tale.text.split("\n\n")[-1].lower()
        assert any(word.lower() in last for word in tale.outcome), tale.text


def test_a_treasure_is_found_by_the_name_under_which_it_was_lost(told):
    for tale in told:
        if tale.plot.skeleton.name == "lost thing":
            first, *_, last = tale.text.split("\n\n")
            thing = tale.plot.rows[0].key
            assert thing in first
            assert thing in last
            others = {row.key for row in tale.plot.skeleton.tables[0]} - {thing}
            assert not any(other in tale.text for other in others)


def test_joy_and_sorrow_of_a_friend_are_spoken_of_the_friend():
    """ "{his} tail" of a kind becomes "{friend.his} tail", inside choices too."""
    dice = Dice(4)
    seen = 0
    while seen < 40:
        plot = draw_plot(SKELETONS, dice)
        if plot.friend:
            seen += 1
            slots = slots_of(plot, cast(plot, dice))
            spoken = {Telling(dict(slots), dice).slot(f"friend.{mood}") for mood in ("glad", "sad")}
            words = set(re.findall(r"[a-z]+", " ".join(spoken)))
            assert not words & GENDERED[plot.pronoun]
    assert all({"glad", "sad"} <= set(row.slots) for row in KINDS)


# English


def test_stories_have_sixty_to_two_hundred_and_twenty_words(told, held_out):
    lengths = [len(tale.text.split()) for tale in told + held_out]
    assert min(lengths) >= 60
    assert max(lengths) <= 220
    assert max(lengths) > 2 * min(lengths)


def test_the_vocabulary_is_large(told):
    words = set(re.findall(r"[a-z]+(?:'[a-z]+)?", " ".join(tale.text.lower() for tale in told)))
    assert len(words) > 2000


@pytest.mark.parametrize(
    ("fault", "pattern"),
    [
        ("a before a vowel", r"\b[Aa] (?!one|once|uni|use|eu)[aeiouAEIOU]"),
        ("an before a consonant", r"\b[Aa]n (?!hour|honest|heir)[^aeiouAEIOU]"),
        ("two spaces, or one in the wrong place", r"  | [.,;:?!]|^ | $| \n|\n "),
        ("two marks", r"[.,;:?!]{2}|[.,;:?!]\"[.,;:?!]"),
        ("something of the language left over", r"[\[\]{}/|*_<>]|None"),
        ("a sentence without a capital", r"[.?!] [a-z]|\.\" [a-z]|^[a-z]|\n[a-z]"),
        ("a paragraph without an end", r"[^.?!\"\n]\n|[^.?!\"]$"),
        ("a word twice", r"\b(?!again\b|long\b|very\b|down\b|had\b)(\w+) \1\b"),
        ("speech without a mark at its end", r"\w\" (?!\w+ (?:called|named))"),
        ("a possessive of a pronoun", r"\b(he|she|him)'s\b"),
    ],
)
def test_the_english_has_no_such_fault(told, held_out, fault, pattern):
    for tale in told + held_out:
        found = re.search(pattern, tale.text)
        assert not found, f"{fault}: {found.group()!r} in {tale.text}"


def test_quotation_marks_come_in_pairs_and_stand_right(told):
    for paragraph in "\n\n".join(tale.text for tale in told).split("\n\n"):
        pieces = paragraph.split('"')
        assert len(pieces) % 2 == 1, paragraph
        for outside, spoken in zip(pieces[::2], pieces[1::2], strict=False):
            assert outside == "" or outside.endswith(" "), paragraph
            assert re.fullmatch(r"\S.*[.,?!]", spoken), paragraph
        for spoken, after in zip(pieces[1::2], pieces[2::2], strict=True):
            assert after == "" or after.startswith(" "), paragraph
            assert not (spoken[-1] == "." and re.match(r" [a-z]", after)), paragraph
            if spoken[-1] == ",":
                assert re.match(r" (?:[a-z]|[A-Z][a-z]+ (?:said|asked|began|the))", after), paragraph


# The file


def test_a_corpus_holds_the_stories_each_followed_by_the_separator(tmp_path):
    counts = write_corpus(tmp_path / "toy.txt", num_stories=3, seed=5)
    expected = "".join(f"{story(index, 5)}\n{END_OF_TEXT}\n" for index in range(3))
    assert (tmp_path / "toy.txt").read_text(encoding="utf-8") == expected
    assert (counts.num_stories, counts.size_bytes) == (3, len(expected.encode()))


def test_a_corpus_reads_back_as_its_stories(tmp_path):
    write_corpus(tmp_path / "toy.txt", num_stories=20, seed=2, split="valid")
    documents = [document.strip() for document in iter_documents(tmp_path / "toy.txt")]
    assert documents == [story(index, 2, "valid") for index in range(20)]


def test_the_story_that_reaches_the_size_is_the_last(tmp_path):
    counts = write_corpus(tmp_path / "toy.txt", size_bytes=5000, separator="---")
    text = (tmp_path / "toy.txt").read_bytes()
    assert counts.size_bytes == len(text) >= 5000
    assert len(text) - len(f"{story(counts.num_stories - 1, 0)}\n---\n".encode()) < 5000
    assert text.count(b"\n---\n") == counts.num_stories


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({}, "size_bytes is None and num_stories is None; give exactly one of them"),
        ({"size_bytes": 9, "num_stories": 9}, "size_bytes is 9 and num_stories is 9; give exactly one of them"),
        ({"num_stories": 0}, "a corpus of 0 stories; ask for at least 1"),
        ({"size_bytes": -1}, "a corpus of -1 bytes; ask for at least 1"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused(tmp_path, wish, message):
    with pytest.raises(DataError, match=f"^{re.escape(message)}$"):
        write_corpus(tmp_path / "toy.txt", **wish)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_corpus_whole(tmp_path, monkeypatch):
    (tmp_path / "toy.txt").write_text("old", encoding="utf-8")

    def two_stories_and_a_crash(seed, split):
        yield from ("one", "two")
        raise OSError("no space left on device")

    monkeypatch.setattr("groundup.data.toy_stories.telling.stories", two_stories_and_a_crash)
    with pytest.raises(OSError, match="no space left"):
        write_corpus(tmp_path / "toy.txt", num_stories=9)
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["old"]
