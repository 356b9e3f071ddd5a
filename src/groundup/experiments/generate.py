"""generate: text of 256 tokens, and what decides its quality: how it is sampled, and how long the model trained."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from groundup.experiments.commentary import count_of, quoted
from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Results, mean
from groundup.experiments.quantities import count
from groundup.experiments.study import Study

TEMPERATURES = (0.0, 0.5, 0.8, 1.0, 1.3)
TOP_PS = (0.5, 0.9, 1.0)
USUAL = (0.8, 0.9)  # the temperature and top-p at which the two models are compared
NUM_SAMPLES = 8
MAX_TOKENS = 256
LONGER = 4  # times the tokens of the base run


def variants(lab: Lab, results: Results) -> list[Variant]:
    """The base run, and one of the same model with four times the tokens."""
    steps = LONGER * lab.steps(lab.base)
    return [
        Variant("short", f"{count(lab.tokens)} tokens", {}, 1),
        Variant("long", f"{count(LONGER * lab.tokens)} tokens", {"training.max_steps": steps}, 1),
    ]


def measure(lab: Lab, results: Results) -> dict[str, Any]:
    """Figures of the text in each cell of the grid, by the longer run; at the usual setting by both; of real text."""
    from groundup.checkpoint import load_run
    from groundup.device import choose_device

    short, long = (
        load_run(lab.config(variant, 0).out, device=choose_device(lab.base.training.device))
        for variant in variants(lab, results)
    )
    cells = [
        {"temperature": temperature, "top_p": top_p, **sample(long, temperature, top_p)}
        for temperature, top_p in itertools.product(TEMPERATURES, TOP_PS)
        if temperature > 0 or top_p == TOP_PS[-1]  # the likeliest token is the same for every top-p
    ]
    return {"cells": cells, "short": sample(short, *USUAL), "held_out": held_out(long, results)}


def sample(run: Any, temperature: float, top_p: float) -> dict[str, Any]:
    """Figures of `NUM_SAMPLES` texts from nothing, and the first text."""
    from groundup.generation.text import generate

    # Always the likeliest token: every sample is the same.
    num_samples = NUM_SAMPLES if temperature > 0 else 1
    texts = generate(
        run, "", num_samples=num_samples, max_tokens=MAX_TOKENS, temperature=temperature, top_p=top_p, seed=0
    )
    return {
        **figures([text.ids for text in texts]),
        "logprob": mean([value for text in texts for value in text.logprobs]),
        "ended": sum(text.stop_reason == "end_of_text" for text in texts),
        "num_samples": num_samples,
        "text": texts[0].text.strip(),
    }


def held_out(run: Any, results: Results) -> dict[str, Any]:
    """The same figures of real documents of the held-out part, cut at the same length."""
    from groundup.data.tokens import open_tokens

    ids = open_tokens(run.config.data.path, "valid")[: 64 * MAX_TOKENS].tolist()
    end = run.tokenizer.end_of_text_id
    documents = [list(group) for is_end, group in itertools.groupby(ids, lambda id: id == end) if not is_end]
    documents = [document[:MAX_TOKENS] for document in documents[: 4 * NUM_SAMPLES]]
    return {**figures(documents), "logprob": -results.groups[-1].loss, "num_samples": len(documents)}


def figures(texts: Sequence[Sequence[int]]) -> dict[str, float]:
    """Mean length; distinct pairs among pairs of tokens; fours that stood in the same text before.

    >>> figures([[1, 2, 1, 2, 1]])
    {'length': 5.0, 'distinct_2': 0.5, 'repeated_4': 0.0}
    """
    return {
        "length": mean([len(text) for text in texts]),
        "distinct_2": mean([_distinct(text, 2) for text in texts if len(text) >= 2]),
        "repeated_4": mean([1 - _distinct(text, 4) for text in texts if len(text) >= 4]),
    }


def comment(results: Results) -> list[str]:
    cells, real = results.measured["cells"], results.measured["held_out"]
    return [_by_temperature(cells, real), _by_top_p(cells), _by_training(results), _length(cells)]


def tables(results: Results) -> list[str]:
    measured = results.measured
    rows = [
        "| text | log-probability a token | distinct pairs | repeated fours | tokens | ended by itself |",
        "|---|---|---|---|---|---|",
        *(_row(f"temperature {cell['temperature']:g}, top-p {cell['top_p']:g}", cell) for cell in measured["cells"]),
        _row(f"the shorter run, {USUAL[0]:g}, {USUAL[1]:g}", measured["short"]),
        _row("real text, held out", measured["held_out"]),
    ]
    shown = [(f"{results.groups[0].label}, temperature {USUAL[0]:g}, top-p {USUAL[1]:g}", measured["short"])]
    wanted = [(TEMPERATURES[0], TOP_PS[-1]), USUAL, (TEMPERATURES[-1], TOP_PS[-1])]
    for cell in measured["cells"]:
        if (cell["temperature"], cell["top_p"]) in wanted:
            name = f"{results.groups[1].label}, temperature {cell['temperature']:g}, top-p {cell['top_p']:g}"
            shown.append((name, cell))
    texts = [f"{name[:1].upper() + name[1:]}:\n\n{quoted(cell['text'])}" for name, cell in shown]
    return ["\n".join(rows), *texts]


def _by_temperature(cells: Sequence[dict[str, Any]], real: dict[str, Any]) -> str:
    open_cells = [cell for cell in cells if cell["top_p"] == TOP_PS[-1]]
    cold, hot = open_cells[0], open_cells[-1]
    nearest = min(open_cells, key=lambda cell: abs(cell["logprob"] - real["logprob"]))
    return (
        f"The temperature is the first thing. From {cold['temperature']:g} to "
        f"{hot['temperature']:g}, without top-p, the mean log-probability of a token under the model itself goes from "
        f"{cold['logprob']:.2f} to {hot['logprob']:.2f} nats, and the share of repeated fours from "
        f"{cold['repeated_4']:.0%} to {hot['repeated_4']:.0%}. Real text has {real['logprob']:.2f} nats and "
        f"{real['repeated_4']:.0%}; the temperature that comes nearest to its log-probability is "
        f"{nearest['temperature']:g}."
    )


def _by_top_p(cells: Sequence[dict[str, Any]]) -> str:
    hot = [cell for cell in cells if cell["temperature"] == TEMPERATURES[-1]]
    listed = ", ".join(f"{cell['logprob']:.2f} at top-p {cell['top_p']:g}" for cell in hot)
    return (
        f"Top-p cuts the tail of unlikely tokens, which matters most where the temperature has fed it: at temperature "
        f"{TEMPERATURES[-1]:g} the log-probabilities are {listed}."
    )


def _by_training(results: Results) -> str:
    short, long = results.groups
    usual = next(c for c in results.measured["cells"] if (c["temperature"], c["top_p"]) == USUAL)
    mine = results.measured["short"]
    return (
        f"The model is the second. {short.label} of training lead to a validation loss of {short.loss:.3f} nats per "
        f"token, a perplexity of {math.exp(short.loss):.1f}; {long.label} to {long.loss:.3f} and "
        f"{math.exp(long.loss):.1f} (one seed each). Sampled alike (temperature {USUAL[0]:g}, top-p {USUAL[1]:g}), the "
        f"one gives its own text {mine['logprob']:.2f} nats a token, the other {usual['logprob']:.2f}: a model's "
        "opinion of its own text, and no measure of sense. For that, read the texts below."
    )


def _length(cells: Sequence[dict[str, Any]]) -> str:
    ended, total = sum(cell["ended"] for cell in cells), sum(cell["num_samples"] for cell in cells)
    return (
        f"Of {count_of(total, 'text')} in the grid {ended} ended by themselves, with `<|endoftext|>`, before "
        f"{MAX_TOKENS} tokens; the others were cut there."
    )


def _row(name: str, cell: dict[str, Any]) -> str:
    ended = f"{cell['ended']} of {cell['num_samples']}" if "ended" in cell else ""
    return (
        f"| {name} | {cell['logprob']:.2f} | {cell['distinct_2']:.2f} | {cell['repeated_4']:.2f} | "
        f"{cell['length']:.0f} | {ended} |"
    )


def _distinct(ids: Sequence[int], length: int) -> float:
    """Distinct runs of so many ids among all of a text."""
    grams = Counter(tuple(ids[start : start + length]) for start in range(len(ids) - length + 1))
    return len(grams) / grams.total()


STUDY = Study(
    name="generate",
    title="Writing text: what decides its quality",
    question="What does the model write, and which two things decide how good it is?",
    method=f"Two runs of the base model, one of {LONGER} times the tokens of the other. Each text begins from nothing "
    f"and goes on to `<|endoftext|>` or {MAX_TOKENS} tokens; {NUM_SAMPLES} texts for each temperature and top-p, the "
    "same random numbers in each cell. Pairs and fours are of neighbouring tokens, in one text; for real text the "
    "log-probability is minus the validation loss.",
    variants=variants,
    comment=comment,
    measure=measure,
    tables=tables,
)
