"""A small language for writing stories: templates with slots and choices, tables, beats.

    {thing}  the text in the slot `thing`          {Thing}    the same with a capital letter
    {a_thing} with its article, "an old kite"      [red/blue] one of the two, by chance

A slot's text may itself be a template. It is settled when it is first told and stays so to the end of
the story: that is what keeps a red kite red. The stories themselves are in `skeletons/`, their cast in
`casting.py`. Nothing here knows about rabbits.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from random import Random
from typing import TypeVar

T = TypeVar("T")

# Words whose first letter says nothing about their first sound.
SILENT_H = ("hour", "honest", "honour", "heir")
VOWEL_SPOKEN_AS_CONSONANT = ("one", "once", "uni", "use", "usu", "eu")


@dataclass(frozen=True)
class Slot:
    """A place for the text called `name`, with an article or a capital letter if so asked."""

    name: str
    article: bool
    capital: bool


@dataclass(frozen=True)
class Template:
    """Text with slots and choices; each choice is a tuple of templates of which one is told."""

    parts: "tuple[str | Slot | tuple[Template, ...], ...]"


@dataclass(frozen=True, eq=False)  # compared and hashed as the object it is, which is quick
class Row:
    """One line of a table: cells to tell, as slots, and cells that say when the row can be used."""

    key: str  # the first cell, which names the row
    slots: "Mapping[str, str | Template]"
    worlds: tuple[str, ...] = ()  # where it can happen; empty: everywhere
    needs: tuple[str, ...] = ()  # an ability that the hero must lack and the helper must have
    nature: tuple[str, ...] = ()  # what this thing is
    takes: tuple[str, ...] = ()  # natures of which another row of the plot must have one
    only: tuple[str, ...] = ()  # kinds a hero can be; empty: all
    never: tuple[str, ...] = ()  # kinds that neither hero nor friend can be
    friend: tuple[str, ...] = ()  # kinds the friend can be; empty: all
    can: tuple[str, ...] = ()  # abilities of this kind


CONDITIONS = {field.name for field in fields(Row)} - {"key", "slots"}


@dataclass(frozen=True)
class Beat:
    """One thing that happens, in several wordings; a story in a hurry leaves the optional ones out."""

    wordings: tuple[Template, ...]
    optional: bool


Paragraph = tuple[Beat, ...]


class Dice:
    """Choices by chance, the same on every machine and every Python: only `Random.random` is used."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, each as likely as the other."""
        return options[int(self.random() * len(options))]


class Telling:
    """The state of one story while it is told: what stands in each slot, and the dice."""

    def __init__(self, slots: dict[str, str | Template], dice: Dice) -> None:
        self._slots = slots
        self._random = dice.random
        self._pick = dice.pick

    def paragraph(self, beats: Paragraph, haste: float) -> str:
        """The beats one after another; an optional one is left out with probability `haste`."""
        told = [beat for beat in beats if not (beat.optional and self._random() < haste)]
        return " ".join([self.say(self._pick(beat.wordings)) for beat in told])

    def say(self, template: Template) -> str:
        """The text of a template; slots told for the first time are settled on the way."""
        pieces: list[str] = []
        self._write(template.parts, pieces)
        return "".join(pieces)

    def slot(self, name: str) -> str:
        """The settled text of a slot."""
        value = self._slots[name]
        if not isinstance(value, str):
            value = self._slots[name] = self.say(value)
        return value

    def _write(self, parts, pieces) -> None:  # inner loop of all telling, hence without checked types
        for part in parts:
            if type(part) is str:
                pieces.append(part)
            elif type(part) is tuple:
                self._write(part[int(self._random() * len(part))].parts, pieces)
            else:
                value = self._slots[part.name]
                if type(value) is not str:
                    value = self.slot(part.name)
                if part.article:
                    value = with_article(value)
                pieces.append(value[:1].upper() + value[1:] if part.capital else value)


def with_article(noun: str) -> str:
    """`noun` behind "a" or "an".

    >>> with_article("old kite"), with_article("unicorn"), with_article("hour")
    ('an old kite', 'a unicorn', 'an hour')
    """
    vowel = noun[0] in "aeiou" and not noun.startswith(VOWEL_SPOKEN_AS_CONSONANT)
    return ("an " if vowel or noun.startswith(SILENT_H) else "a ") + noun


def plain(template: Template) -> str | Template:
    """The text of a template without slots and choices, which need not be told; else the template."""
    return template.parts[0] if len(template.parts) == 1 and isinstance(template.parts[0], str) else template


@cache
def read_template(text: str) -> Template:
    """`text` in the language above as a template."""
    tokens = re.findall(r"\{[^{}]*\}|[\[\]/]|[^\[\]/{}]+", text)
    assert "".join(tokens) == text, f"unmatched brace in {text!r}"
    return _read_parts(tokens, 0, inside=False)[0]


def read_table(text: str) -> tuple[Row, ...]:
    """Rows of a table whose first line names the columns; cells are separated by `|`."""
    columns, *lines = [[cell.strip() for cell in line.split("|")] for line in text.strip().splitlines()]
    return tuple(_row(dict(zip(columns, cells, strict=True))) for cells in lines)


def read_blocks(text: str) -> tuple[Row, ...]:
    """Rows written as blocks of `column: text`, separated by empty lines; indented lines go on."""
    return tuple(
        _row(dict(line.split(": ", 1) for line in _joined_lines(block))) for block in re.split(r"\n\s*\n", text.strip())
    )


def read_story(text: str) -> tuple[Paragraph, ...]:
    """Paragraphs (separated by `---`) of beats (by empty lines), each wording of a beat after a `*`.

    In an optional beat the wordings stand after a `?`.
    """
    return tuple(
        tuple(
            Beat(tuple(read_template(line[1:].strip()) for line in _joined_lines(beat)), beat.lstrip()[0] == "?")
            for beat in re.split(r"\n\s*\n", paragraph.strip())
        )
        for paragraph in text.split("---\n")
    )


def _read_parts(tokens: list[str], start: int, *, inside: bool) -> tuple[Template, int]:
    """The template from tokens[start] to the end or, inside brackets, to the next `/` or `]`, and where it ends."""
    parts: list[str | Slot | tuple[Template, ...]] = []
    at = start
    while at < len(tokens) and tokens[at] not in "/]":
        token = tokens[at]
        at += 1
        if token == "[":
            options: list[Template] = []
            while tokens[at - 1] != "]":
                option, at = _read_parts(tokens, at, inside=True)
                options.append(option)
                at += 1  # past the `/` or the `]`
            parts.append(tuple(options))
        else:
            parts.append(_read_slot(token[1:-1]) if token[0] == "{" else token)
    assert (at < len(tokens)) == inside, f"unmatched bracket in {''.join(tokens)!r}"
    return Template(tuple(parts)), at


def _read_slot(name: str) -> Slot:
    bare = name[0].lower() + name[1:]
    article = bare.startswith("a_")
    return Slot(bare.removeprefix("a_"), article, name[0].isupper())


def _row(cells: dict[str, str]) -> Row:
    conditions = {name: tuple(text.split(", ")) for name, text in cells.items() if name in CONDITIONS and text}
    slots = {name: plain(read_template(text)) for name, text in cells.items() if name not in CONDITIONS}
    return Row(next(iter(cells.values())), slots, **conditions)


def _joined_lines(block: str) -> list[str]:
    """The lines of a block; a line that begins with white space belongs to the one before."""
    return re.sub(r"\n\s+", " ", block.strip()).splitlines()
