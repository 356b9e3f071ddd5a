"""What an experiment is: a question, the variants that answer it, and what may be said of the results.

A `Study` is written in a file of its own (learning_rate.py is a good first one); catalog.py lists them. runner.py
carries it out in a lab (lab.py), outcome.py holds what came out, study_page.py writes the page.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Results


@dataclass(frozen=True)
class Picture:
    """A picture of a page: the name of its files without a suffix, what stands below it, and what draws it.

    `draw` gets a figure of matplotlib.
    """

    name: str
    caption: str
    draw: Callable[[Any, Results], None]


@dataclass(frozen=True)
class Study:
    """An experiment.

    Attributes:
        name: As typed after `groundup experiment`.
        title, question, method: Of its page; the method says what is varied and what is held fixed.
        variants: The variants that follow from the results so far. It is asked again until it names no run that
            has not been made, so that a rate can be tuned before it is repeated with other seeds.
        comment: What the numbers say, a paragraph each; must claim nothing that they do not carry.
        x_name: Name of the varied quantity on a logarithmic axis; empty for none.
        curve_x: What learning curves run over, besides time.
        num_texts: How many texts it needs.
        shown: The groups that learning curves and the line of the other picture show; None for all.
        measure: What is measured when all runs are made; JSON data, kept in result.json.
        pictures: Further pictures.
        is_timed: Whether its runs get equal times and not equal numbers of tokens.
        command: What makes it, and with `--redraw` its page anew; empty for `groundup experiment NAME`.
        tables: Further tables of the page, as Markdown, from what was measured.
    """

    name: str
    title: str
    question: str
    method: str
    variants: Callable[[Lab, Results], Sequence[Variant]]
    comment: Callable[[Results], Sequence[str]]
    x_name: str = ""
    curve_x: Literal["step", "tokens"] = "step"
    num_texts: int = 1
    shown: Callable[[Results], Sequence[Group]] | None = None
    measure: Callable[[Lab, Results], dict[str, Any]] | None = None
    pictures: Sequence[Picture] = ()
    tables: Callable[[Results], Sequence[str]] | None = None
    is_timed: bool = False
    command: str = ""
