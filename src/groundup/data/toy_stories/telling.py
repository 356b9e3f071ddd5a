"""Little stories, any number of them, each a pure function of (index, seed, split).

A story is told in four steps: draw a plot of the wanted split (`plot.py`), cast it (`casting.py`), tell
each beat of its skeleton in one of its wordings (`grammar.py`), join them. Read `skeletons/` for what
is told.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from groundup.corpus import END_OF_TEXT
from groundup.data.toy_stories.casting import Character, cast, slots_of
from groundup.data.toy_stories.grammar import Dice, Telling
from groundup.data.toy_stories.plot import Plot, Split, draw_plot
from groundup.data.toy_stories.skeletons.catalogue import SKELETONS
from groundup.errors import DataError
from groundup.files import StrPath, open_atomic


@dataclass(frozen=True)
class Story:
    """A story with what it is about: its plot, its cast, and the words its ending comes back to."""

    text: str
    plot: Plot
    cast: tuple[Character, ...]
    outcome: tuple[str, ...]


@dataclass(frozen=True)
class CorpusCounts:
    """What `write_corpus` has written."""

    num_stories: int
    size_bytes: int


def story(index: int, seed: int, split: Split = "train") -> str:
    """The text of story number `index`: paragraphs between empty lines, no newline at the end."""
    return tell(index, seed, split).text


def stories(seed: int, split: Split = "train") -> Iterator[str]:
    """Stories without end: story(0, seed, split), story(1, seed, split), ..."""
    return (story(index, seed, split) for index in count())


def tell(index: int, seed: int, split: str = "train") -> Story:
    """Story number `index` with its plot and cast. DataError for a split that does not exist."""
    if split not in ("train", "valid"):
        raise DataError(f"split is {split!r}; use 'train' or 'valid'")
    digest = hashlib.blake2b(f"{seed}/{split}/{index}".encode(), digest_size=8).digest()
    dice = Dice(int.from_bytes(digest, "big"))
    plot = draw_plot(SKELETONS, dice)
    while plot.split != split:
        plot = draw_plot(SKELETONS, dice)
    characters = cast(plot, dice)
    telling = Telling(slots_of(plot, characters), dice)
    haste = dice.random()
    paragraphs = [telling.paragraph(beats, haste) for beats in plot.skeleton.story]
    outcome = tuple(telling.slot(name) for name in plot.skeleton.ending)
    return Story("\n\n".join(paragraphs), plot, tuple(characters), outcome)


def write_corpus(
    path: StrPath,
    *,
    size_bytes: int | None = None,
    num_stories: int | None = None,
    seed: int = 0,
    split: Split = "train",
    separator: str = END_OF_TEXT,
) -> CorpusCounts:
    """Write stories to `path`, each followed by a line that holds the separator; whole file or none.

    Give one of `num_stories` and `size_bytes`; with the latter, the story that reaches the size is the
    last one. Streams: memory does not grow with the file.
    """
    limit = size_bytes if num_stories is None else num_stories
    if (size_bytes is None) == (num_stories is None):
        raise DataError(f"size_bytes is {size_bytes} and num_stories is {num_stories}; give exactly one of them")
    if limit is None or limit < 1:
        raise DataError(f"a corpus of {limit} {'bytes' if num_stories is None else 'stories'}; ask for at least 1")
    written = told = 0
    with open_atomic(path) as file:
        for text in stories(seed, split):
            written += file.write(f"{text}\n{separator}\n".encode())
            told += 1
            if (written if num_stories is None else told) >= limit:
                break
    return CorpusCounts(told, written)
