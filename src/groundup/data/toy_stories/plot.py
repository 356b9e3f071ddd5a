"""Drawing a plot: which skeleton, rows, world, hero and helper go together.

A plot is what a story is about, without its names and wordings. Its signature decides by hash whether
it belongs to the training or to the held-out stories, so no plot is ever told in both.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Literal

from groundup.data.toy_stories.grammar import Dice, Paragraph, Row
from groundup.data.toy_stories.words import ELDERS, HELPERS, HOMES, KINDS, TRAITS, WORLDS

Split = Literal["train", "valid"]

HELD_OUT = 20  # one plot in so many
OTHER = {"she": "he", "he": "she"}
FOLK = {  # children stand there twice more, so that they are not lost among all the animals
    world.key: ("child", "child", *(home.key for home in HOMES if world.key in home.worlds)) for world in WORLDS
}
ABILITIES = {kind.key: kind.can for kind in KINDS} | {"child": ()}


@dataclass(frozen=True)
class Skeleton:
    """The bones of many stories: tables to draw one row from each, and the beats that tell them.

    Which rows go together is said by their conditions (see `Row`).
    """

    name: str
    roles: tuple[str, ...]  # of "friend", "helper", "elder", besides the hero
    tables: tuple[tuple[Row, ...], ...]
    story: tuple[Paragraph, ...]
    ending: tuple[str, ...]  # slots of which the last paragraph names at least one
    traits: str = TRAITS
    elders: tuple[str, ...] = (*ELDERS["she"], *ELDERS["he"])

    def elders_of(self, pronoun: str) -> tuple[str, ...]:
        """The elders that a hero with this pronoun can have here; they have the other pronoun."""
        return tuple(elder for elder in ELDERS[OTHER[pronoun]] if elder in self.elders)


@dataclass(frozen=True)
class Plot:
    """One combination of a skeleton, rows, a world and a cast of kinds; roles that do not occur are empty."""

    skeleton: Skeleton
    rows: tuple[Row, ...]
    world: str
    hero: str
    friend: str
    helper: str
    elder: str
    pronoun: str  # of the hero; the others in a story have the other one, so "she" is never in doubt

    @property
    def signature(self) -> str:
        """The plot in one line, `lost thing/wood/rabbit//owl/mother/red kite/...`: equal for equal plots."""
        cast = (self.skeleton.name, self.world, self.hero, self.friend, self.helper, self.elder)
        return "/".join(cast + tuple(row.key for row in self.rows))

    @property
    def split(self) -> Split:
        """Which stories this plot belongs to: by a hash of the signature, the same in every process."""
        digest = hashlib.blake2b(self.signature.encode(), digest_size=4).digest()
        return "valid" if int.from_bytes(digest, "big") % HELD_OUT == 0 else "train"


def draw_plot(skeletons: tuple[Skeleton, ...], dice: Dice) -> Plot:
    """A plot by chance, every skeleton as likely as the other; rows that do not go together are redrawn."""
    skeleton = dice.pick(skeletons)
    while True:
        rows = tuple(dice.pick(table) for table in skeleton.tables)
        if not (go_together(rows) and (worlds := possible_worlds(rows))):
            continue
        world = dice.pick(worlds)
        pronoun = dice.pick(("she", "he"))
        if not (heroes := possible_heroes(rows, world)):
            continue
        hero = dice.pick(heroes)
        friend = dice.pick(possible_friends(rows, world, hero)) if "friend" in skeleton.roles else ""
        helpers = possible_helpers(rows, world, hero, friend) if "helper" in skeleton.roles else ("",)
        if not helpers:
            continue
        elder = dice.pick(skeleton.elders_of(pronoun)) if "elder" in skeleton.roles else ""
        return Plot(skeleton, rows, world, hero, friend, dice.pick(helpers), elder, pronoun)


def count_plots(skeleton: Skeleton) -> int:
    """How many different signatures `draw_plot` can give for a skeleton."""
    elders = len(skeleton.elders) if "elder" in skeleton.roles else 1
    return elders * sum(
        len(possible_helpers(rows, world, hero, friend)) if "helper" in skeleton.roles else 1
        for rows in product(*skeleton.tables)
        if go_together(rows)
        for world in possible_worlds(rows)
        for hero in set(possible_heroes(rows, world))
        for friend in (set(possible_friends(rows, world, hero)) if "friend" in skeleton.roles else ("",))
    )


@cache
def go_together(rows: tuple[Row, ...]) -> bool:
    """True if what each row takes is in the nature of another."""
    natures = {word for row in rows for word in row.nature}
    return all(not row.takes or natures.intersection(row.takes) for row in rows)


@cache
def possible_worlds(rows: tuple[Row, ...]) -> tuple[str, ...]:
    """The worlds in which all rows can happen."""
    return tuple(world for world in FOLK if all(not row.worlds or world in row.worlds for row in rows))


@cache
def possible_heroes(rows: tuple[Row, ...], world: str) -> tuple[str, ...]:
    """The kinds living there whom the rows allow and who cannot do what the obstacle needs."""
    return tuple(kind for kind in FOLK[world] if all(_allows(row, kind) for row in rows))


def possible_friends(rows: tuple[Row, ...], world: str, hero: str) -> tuple[str, ...]:
    """The kinds living there that a friend can be: those a row names, or any but the hero's own."""
    for row in rows:
        if row.friend:
            return row.friend
    never = {kind for row in rows for kind in row.never}
    return tuple(kind for kind in FOLK[world] if kind not in never and (kind == "child" or kind != hero))


def possible_helpers(rows: tuple[Row, ...], world: str, hero: str, friend: str) -> tuple[str, ...]:
    """The kinds living there that can do what the obstacle needs, and are neither hero nor friend."""
    needs = next(row.needs for row in rows if row.needs)
    return tuple(kind for kind in _able(needs, world) if kind not in (hero, friend))


@cache
def _able(needs: tuple[str, ...], world: str) -> tuple[str, ...]:
    return tuple(row.key for row in HELPERS if world in row.worlds and set(needs) <= set(row.can))


def _allows(row: Row, kind: str) -> bool:
    if kind in row.never or (row.only and kind not in row.only) or (kind in row.friend and kind != "child"):
        return False
    return not any(ability in row.needs for ability in ABILITIES[kind])
