"""Casting a plot: names and pronouns for its kinds, and the slots with which its story is told."""

from dataclasses import dataclass, replace

from groundup.data.toy_stories.grammar import Dice, Slot, Template, read_template
from groundup.data.toy_stories.plot import OTHER, Plot
from groundup.data.toy_stories.words import (
    ANIMAL_NAMES,
    CHILD_NAMES,
    HOMES,
    KINDS,
    OPENING,
    PRONOUNS,
    WORLDS,
)

Slots = dict[str, str | Template]

CHILD = {"she": "girl", "he": "boy"}
ROLES = ("hero", "friend", "helper", "elder")


@dataclass(frozen=True)
class Character:
    """Somebody in a story; an elder goes by the kind alone, as in "his grandmother"."""

    role: str
    name: str
    kind: str
    pronoun: str

    @property
    def title(self) -> str:
        """ "Pip the mouse", but "Nora": nobody says "Nora the girl"."""
        return self.name if self.kind in CHILD.values() else f"{self.name} the {self.kind}"


def cast(plot: Plot, dice: Dice) -> list[Character]:
    """The characters of a plot. The hero has one pronoun and all the others have the other one."""
    characters: list[Character] = []
    for role in ROLES:
        kind = getattr(plot, role)
        pronoun = plot.pronoun if role == "hero" else OTHER[plot.pronoun]
        if kind and role == "elder":
            characters.append(Character(role, kind, kind, pronoun))
        elif kind:
            names = (CHILD_NAMES if kind == "child" else ANIMAL_NAMES)[pronoun]
            taken = [character.name for character in characters]
            name = dice.pick([name for name in names if name not in taken])
            characters.append(Character(role, name, CHILD[pronoun] if kind == "child" else kind, pronoun))
    return characters


def slots_of(plot: Plot, characters: list[Character]) -> Slots:
    """All that the templates of a story can name; texts with choices are settled when they are told."""
    slots = _COMMON | _WORLD[plot.world]
    slots["home"] = _HOME[plot.hero, plot.world]
    slots["trait"] = read_template(plot.skeleton.traits)
    for character in characters:
        slots[character.role] = character.name
        slots[_slot(character.role, "titled")] = character.title
        slots |= _PRONOUN[character.role, character.pronoun]
        if character.role in ("hero", "friend"):
            slots |= _KIND[character.role, character.kind]
        else:
            slots[f"{character.role}.kind"] = character.kind
    for row in plot.rows:
        slots |= row.slots
    return slots


def _slot(role: str, name: str) -> str:
    """The hero's slots are plain ("{his}"), those of the others carry the role ("{friend.his}")."""
    return name if role == "hero" else f"{role}.{name}"


def _spoken_of(role: str, text: str | Template) -> str | Template:
    """A text about the hero ("{his} tail sank") as a text about `role`."""
    return text if isinstance(text, str) else Template(tuple(_part_of(role, part) for part in text.parts))


def _part_of(role: str, part: str | Slot | tuple[Template, ...]) -> str | Slot | tuple[Template, ...]:
    if isinstance(part, Slot):
        return replace(part, name=_slot(role, part.name))
    if isinstance(part, tuple):
        return tuple(Template(tuple(_part_of(role, inner) for inner in option.parts)) for option in part)
    return part


_COMMON: Slots = {
    "opening": read_template(OPENING),
    "who": read_template("{trait} {kind}"),
    "day": read_template("one {weather} [morning/afternoon]"),
    "morning": read_template("one {weather} morning"),
}
_WORLD = {row.key: dict(row.slots) for row in WORLDS}
_HOME = {(row.key, world): row.slots["home"] for row in HOMES for world in row.worlds}
_PRONOUN: dict[tuple[str, str], Slots] = {
    (role, pronoun): {_slot(role, name): word for name, word in forms.items()}
    for role in ROLES
    for pronoun, forms in PRONOUNS.items()
}
_KIND: dict[tuple[str, str], Slots] = {
    (role, row.key): {_slot(role, name): _spoken_of(role, text) for name, text in row.slots.items()}
    for role in ("hero", "friend")
    for row in KINDS
}
