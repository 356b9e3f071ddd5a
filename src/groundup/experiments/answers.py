"""The questions of the specification that are answered without training a model, and how their pages are made.

A question is a function from options to an `Answer`: figures, as plain data. The page is a text in `pages/`, in
English and in Chinese, with the figures in the places of `{...}`: what it says in numbers comes from a command,
and the sentences that lean on a comparison name a claim, which the figures must carry. Each module that is named
below answers one or two questions.
"""

import importlib
import statistics
import string
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from groundup.errors import ConfigError
from groundup.experiments.quantities import size
from groundup.files import StrPath, write_atomic, write_json

ANSWERS = {
    "unicode-1": "unicode_answers.first_character",
    "unicode-2": "unicode_answers.encodings",
    "bpe-tinystories": "bpe_answers.stories_vocabulary",
    "bpe-web": "bpe_answers.web_vocabulary",
    "tokenizer": "compression_answer.compression",
    "accounting": "accounting_answers.forward_pass",
    "adamw-accounting": "accounting_answers.training_step",
    "accounting-measured": "measured_accounting.measured_steps",
}
LANGUAGES = {"en": "answers", "zh": "zh/answers"}  # where the pages of a language go
_PAGES = Path(__file__).parent / "pages"
_UNCARRIED = {
    "en": "These figures do not carry everything that is said below: ",
    "zh": "下文有些说法，这次的数字并不支持：",
}


@dataclass(frozen=True)
class AnswerOptions:
    """What a question may need.

    Args:
        texts: TinyStories, and text as of the web, as paths that `groundup.corpus` reads; none where none is needed.
        rounds: How often each timing is taken.
        seed: For the choice of documents.
    """

    texts: tuple[str, ...] = ()
    rounds: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ConfigError(f"rounds is {self.rounds}; it must be at least 1")

    def require_texts(self, count: int) -> tuple[str, ...]:
        """The first `count` texts. Raises ConfigError if there are fewer."""
        if len(self.texts) < count:
            wanted = "stories" if count == 1 else "stories, then text as of the web"
            raise ConfigError(f"{len(self.texts)} texts are given and {count} needed ({wanted}): --data TEXT for each")
        return self.texts[:count]


@dataclass(frozen=True)
class Answer:
    """The figures that answer a question, and whether they carry what its page says of them.

    `figures` holds what JSON holds. `claims` has the sentences of the page that would be wrong for other figures.
    """

    name: str
    figures: dict[str, Any]
    claims: dict[str, bool] = field(default_factory=dict)


def find_answer(name: str, options: AnswerOptions) -> Answer:
    """Compute the answer to the question `name`, one of `ANSWERS`. Raises ConfigError for another name."""
    if name not in ANSWERS:
        raise ConfigError(f"no question is named {name!r}; there are {', '.join(ANSWERS)}")
    module, function = ANSWERS[name].split(".")
    return getattr(importlib.import_module(f"groundup.experiments.{module}"), function)(options)


def page(answer: Answer, language: str = "en") -> str:
    """The page of an answer as Markdown, in a language of `LANGUAGES`."""
    template = (_PAGES / language / f"{answer.name}.md").read_text(encoding="utf-8")
    text = _Filler().vformat(template, (), answer.figures)
    uncarried = [claim for claim, holds in answer.claims.items() if not holds]
    if not uncarried:
        return text
    title, rest = text.split("\n", 1)
    return f"{title}\n\n> {_UNCARRIED[language]}{'; '.join(uncarried)}.\n{rest}"


def write_answer(answer: Answer, folder: StrPath) -> Path:
    """Write answers/NAME.md, answers/figures/NAME.json and zh/answers/NAME.md below `folder`; the first of them."""
    folder = Path(folder)
    write_json(folder / "answers" / "figures" / f"{answer.name}.json", answer.figures)
    for language, place in LANGUAGES.items():
        write_atomic(folder / place / f"{answer.name}.md", page(answer, language))
    return folder / LANGUAGES["en"] / f"{answer.name}.md"


class _Filler(string.Formatter):
    """`str.format` that also knows bytes and entries of a vocabulary, as the examples show, and lists and rows of them.

    >>> _Filler().vformat("{a:size}, {a:gb}, {b:entries}", (), {"a": 17_016_460_800, "b": [" the", "a`"]})
    "17.0 GB, 17.02 GB, `' the'` ``'a`'``"
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "entries":
            return " ".join(map(_as_code, value))
        if format_spec == "entry":
            return _as_code(value)
        if format_spec == "list":
            return "\n".join(f"- {' '.join(map(_as_code, entries))}" for entries in value)
        if format_spec == "rows":
            return "\n".join(f"| {_as_code(entry)} | {times:,} |" for entry, times in value)
        if format_spec == "size":
            return size(value)
        if format_spec == "gb":
            return f"{value / 1e9:,.2f} GB".replace(".00 ", " ")
        return super().format_field(value, format_spec)


def _as_code(text: str) -> str:
    """Python's spelling of a string as code of Markdown, so that spaces and control characters show."""
    shown = repr(text).replace("|", "\\x7c")  # which would end a cell of a table
    fence = "``" if "`" in shown else "`"
    return f"{fence}{shown}{fence}"


def spread(values: Sequence[int | float]) -> dict[str, float]:
    """Median, least and greatest of several measurements, to four digits: no more can be told apart.

    >>> spread([3.0, 1.0, 2.00004])
    {'median': 2.0, 'low': 1.0, 'high': 3.0}
    """
    found = {"median": statistics.median(values), "low": min(values), "high": max(values)}
    return {name: float(f"{value:.4g}") for name, value in found.items()}
