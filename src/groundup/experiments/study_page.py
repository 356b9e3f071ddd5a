"""The page of an experiment: README.md in its folder, with the pictures, made from nothing but the results.

`write_page` is what a finished experiment and `--redraw` both call, so that a page can be made anew from what is kept
beside it. The sentences are those of the study; here is the order they come in.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundup.experiments.commentary import count_of, with_spread
from groundup.experiments.outcome import Group, Results, mean, read_results, spread, write_results
from groundup.experiments.quantities import count, duration, in_words
from groundup.experiments.study import Study
from groundup.experiments.study_plots import draw_study
from groundup.files import write_atomic

PAGE = "README.md"


def write_page(study: Study, results: Results, folder: Path) -> Path:
    """Write results, pictures and page into a folder; returns the path of the page."""
    write_results(results, folder, name=study.name)
    _, kept = read_results(folder)  # what is shown is what is kept, to the last digit
    pictures = draw_study(study, kept, folder)
    path = folder / PAGE
    write_atomic(path, render_page(study, kept, pictures))
    return path


def render_page(study: Study, results: Results, pictures: Sequence[tuple[str, str]]) -> str:
    """The page as Markdown."""
    tables = study.tables(results) if study.tables is not None else []
    sections = [
        f"# {study.title}",
        f"**Question.** {study.question}",
        f"## Set-up\n\n{study.method}",
        _facts(results),
        f"```\n{results.facts['command']}\n```",
        "## Result",
        _table(results.groups) if results.groups else "",
        *(f"![{caption.split('. ')[0]}]({name}.png)\n\n*{caption}* ([SVG]({name}.svg))" for name, caption in pictures),
        *tables[:1],
        "## What the numbers say",
        *study.comment(results),
        *(["## Texts", *tables[1:]] if tables[1:] else []),
        _repeat(study, results),
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def _facts(results: Results) -> str:
    facts = results.facts
    if not facts.get("texts"):
        return f"Machine: {_machine(facts['machine'])}."
    model, optimizer = facts["model"], facts["optimizer"]
    rows = [
        ("model", f"{facts['parameters']:,} parameters: {model['num_layers']} layers, width {model['d_model']}, "
                  f"{model['num_heads']} heads, feed-forward {model['d_ff']:,}, context {model['context_length']}"),
        ("text", "; ".join(map(_text, facts["texts"]))),
        ("a run", f"{_length(facts)} {facts['batch_size']} x {model['context_length']}, {facts['precision']}"),
        ("optimizer", f"{optimizer['name']}, peak rate {optimizer['lr']:g}, decay {optimizer['weight_decay']:g}, "
                      f"gradients clipped at {optimizer['max_grad_norm']:g}"),
        ("seeds", f"{facts['seeds']}, each with weights and an order of batches of its own, the same for all variants"),
        ("machine", _machine(facts["machine"])),
    ]  # fmt: skip
    return "\n".join(["| base run | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _length(facts: Mapping[str, Any]) -> str:
    if minutes := facts.get("minutes"):
        return f"{duration(60 * minutes)} of training and validation, and as many updates as they hold, of"
    return f"{facts['tokens']:,} tokens: {facts['steps']:,} updates of"


def _text(text: Mapping[str, Any]) -> str:
    return (
        f"{text['name']}, {in_words(text['train_tokens'])} tokens to train on, {in_words(text['valid_tokens'])} held "
        f"out, vocabulary {text['vocab_size']:,}"
    )


def _machine(machine: Mapping[str, Any]) -> str:
    name = machine.get("accelerator") or machine.get("processor") or "unknown processor"
    revision = f", revision {machine['revision']}" if machine.get("revision") else ""
    cores = count_of(machine["cores"], "core")
    return f"{name}, {cores}; torch {machine['torch']}, groundup {machine['groundup']}{revision}"


def _table(groups: Sequence[Group]) -> str:
    """A row for each variant: means over the seeds that did not diverge, ± one standard deviation."""
    rows = [
        "| variant | validation loss, nats per token | n | bits per byte | updates | time a run | tokens/s |",
        "|---|---|---|---|---|---|---|",
    ]
    return "\n".join([*rows, *map(_row, groups)])


def _row(group: Group) -> str:
    bits = [outcome.bits_per_byte for outcome in group.sound]
    outcomes = group.sound or group.outcomes
    n = f"{len(group.sound)}" + (f", {group.num_diverged} diverged" if group.num_diverged else "")
    loss = with_spread(group.loss, group.spread) if group.sound else "diverged"
    return (
        f"| {group.label} | {loss} | {n} | {with_spread(mean(bits), spread(bits))} | "
        f"{round(mean([outcome.steps for outcome in outcomes])):,} | "
        f"{duration(mean([outcome.seconds for outcome in outcomes]))} | "
        f"{count(mean([outcome.tokens_per_s for outcome in outcomes]))} |"
    )


def _repeat(study: Study, results: Results) -> str:
    lines = ["## Do it again", "The command above computes this page anew."]
    if results.groups:
        lines[1] = "The command above makes all runs; stopped, it goes on where it was."
        runs = [outcome for group in results.groups for outcome in group.outcomes]
        spent = duration(sum(outcome.seconds for outcome in runs))
        kept = sum(len(outcome.records) for outcome in runs)
        lines.append(
            f"The {count_of(len(runs), 'run')} took {spent} together, validation included. `result.json` holds every "
            f"number of this page, `metrics/` the course of every run ({kept:,} lines); without the runs, "
            f"`{study.command or f'groundup experiment {study.name}'} --redraw --out FOLDER` makes table, pictures and "
            "text from them."
        )
    return "\n\n".join(lines)
