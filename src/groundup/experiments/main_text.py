"""main-text: the same model and steps on another text; what the two losses say, and what they do not."""

import math
from pathlib import Path
from typing import Any

from groundup.experiments.commentary import difference, divergence, quoted, with_spread
from groundup.experiments.lab import Lab, Variant
from groundup.experiments.outcome import Group, Results, mean, spread
from groundup.experiments.study import Study

SAMPLE_TOKENS = 256


def variants(lab: Lab, results: Results) -> list[Variant]:
    """One variant a text; that of the base run first."""
    return [
        Variant(Path(path).name, Path(path).name, {} if path == lab.data[0] else {"data.path": path}, lab.num_seeds)
        for path in lab.data
    ]


def measure(lab: Lab, results: Results) -> dict[str, Any]:
    """A text by the first run of each: from nothing, temperature 0.8, top-p 0.95."""
    from groundup.checkpoint import load_run
    from groundup.device import choose_device
    from groundup.generation.text import generate

    texts = {}
    for variant, group in zip(variants(lab, results), results.groups, strict=True):
        if group.outcomes[0].diverged:
            continue
        run = load_run(lab.config(variant, 0).out, device=choose_device(lab.base.training.device))
        texts[group.name] = generate(run, "", max_tokens=SAMPLE_TOKENS, temperature=0.8, top_p=0.95)[0].text.strip()
    return {"texts": texts}


def comment(results: Results) -> list[str]:
    if len(results.sound) < 2:
        return [" ".join(divergence(group) for group in results.groups)]
    a, b = results.sound[:2]
    return [_per_token(a, b), _per_byte(a, b), *(filter(None, map(divergence, results.groups)))]


def tables(results: Results) -> list[str]:
    rows = [
        "| text | nats per token | perplexity | bytes per token | bits per byte |",
        "|---|---|---|---|---|",
    ]
    for group in results.sound:
        bits = [outcome.bits_per_byte for outcome in group.sound]
        rows.append(
            f"| {group.label} | {with_spread(group.loss, group.spread)} | {math.exp(group.loss):.1f} | "
            f"{_bytes_per_token(group):.2f} | {with_spread(mean(bits), spread(bits))} |"
        )
    texts = [
        f"Written by the model of {name}, seed 0, from nothing:\n\n{quoted(text)}"
        for name, text in results.measured.get("texts", {}).items()
    ]
    return ["\n".join(rows), *texts]


def _per_token(a: Group, b: Group) -> str:
    found = difference(b, a)
    word = "higher" if found.mean > 0 else "lower"
    return (
        f"Per token the loss on {b.label} is {with_spread(abs(found.mean), found.spread)} nats {word} than on "
        f"{a.label}. That is not yet a statement about the texts: each has a vocabulary of its own, and a token of "
        f"{a.label} stands for {_bytes_per_token(a):.2f} bytes, one of {b.label} for {_bytes_per_token(b):.2f}. A loss "
        "per token says how hard the next token is to guess; longer tokens are harder."
    )


def _per_byte(a: Group, b: Group) -> str:
    bits_a, bits_b = ([outcome.bits_per_byte for outcome in group.sound] for group in (a, b))
    harder, easier = (b, a) if mean(bits_b) > mean(bits_a) else (a, b)
    gap = abs(mean(bits_b) - mean(bits_a))
    if len(bits_a) < 2 or len(bits_b) < 2 or gap <= max(spread(bits_a), spread(bits_b)):
        return (
            f"Per byte of text, which no vocabulary changes, the two are {mean(bits_a):.3f} and {mean(bits_b):.3f} "
            "bits: no more apart than the seeds are, or with too few seeds to say."
        )
    return (
        f"Per byte of text, which no vocabulary changes, {harder.label} takes {gap:.3f} bits more than {easier.label} "
        f"({mean(bits_a):.3f} on {a.label}, {mean(bits_b):.3f} on {b.label}): to this model, after these tokens, "
        f"{harder.label} is the less predictable text."
    )


def _bytes_per_token(group: Group) -> float:
    """From the two forms of the validation loss: bits per token over bits per byte."""
    return mean([outcome.loss / math.log(2) / outcome.bits_per_byte for outcome in group.sound])


STUDY = Study(
    name="main-text",
    title="The same model on another text",
    question="The same model, batches and number of updates on two texts of different kinds: how do the losses "
    "compare, and what does each model write?",
    method="Each text has a vocabulary learned from it, of the same size, and a held-out part of its own. Nothing else "
    "differs, the learning rate of the base included.",
    variants=variants,
    comment=comment,
    measure=measure,
    tables=tables,
    num_texts=2,
)
