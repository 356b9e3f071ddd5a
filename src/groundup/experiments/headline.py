"""The sentences and key figures at the top of a run's page: what was trained, on what, and how it came out."""

import math
import statistics
from dataclasses import dataclass
from pathlib import Path

from groundup.experiments.quantities import count, duration, in_words, significant, size
from groundup.experiments.records import RunRecord, column, number
from groundup.model.accounting import num_parameters

# Folder names that say nothing about the text inside.
_PLAIN_NAMES = {"", ".", "data", "tokens", "shards"}
# What records say of memory: (key, name of the figure, whose).
MEMORIES = (
    ("peak_memory_bytes", "Peak memory", "of the process"),
    ("peak_device_memory_bytes", "Peak GPU memory", "as torch holds it"),
)


@dataclass(frozen=True)
class Figure:
    """A number with its name, its unit and half a sentence that makes it mean something."""

    name: str
    value: str
    unit: str = ""
    about: str = ""
    is_main: bool = False


def headline(run: RunRecord) -> str:
    """What was trained, on how much text, in what time, and the result, in a sentence or two."""
    if not run.last:
        return "This run has not written any measurements yet."
    model = "A Transformer language model"
    if run.config is not None and run.config.model.vocab_size:
        model += f" with {in_words(num_parameters(run.config.model).total)} parameters"
    text = f"{in_words(number(run.last, 'tokens'))} tokens"
    name = Path(run.config.data.path).name if run.config is not None else ""
    if name not in _PLAIN_NAMES:
        text += f" of {name}"
    spent = duration(number(run.last, "seconds"))
    return f"{model} trained on {text} for {spent}{_machine(run)}. {_result(run)}"


def notices(run: RunRecord) -> list[str]:
    """What a reader must know before believing the figures: not finished, updates skipped, no held-out text."""
    found = []
    planned = number(run.train[-1], "max_steps") if run.train else math.nan
    if run.config is not None:
        planned = run.config.training.max_steps
    if run.moved:
        planned = number(run.moved[-1], "max_steps")
    step = number(run.last, "step")
    if step < planned:
        found.append(f"The run stands at update {step:,.0f} of {planned:,.0f}.")
    if run.skipped:
        steps = ", ".join(f"{number(record, 'step'):,.0f}" for record in run.skipped[:5])
        more = ", …" if len(run.skipped) > 5 else ""
        found.append(
            f"{len(run.skipped)} update{'s' * (len(run.skipped) > 1)} had a loss or a gradient that was not "
            f"finite and left the weights as they were (at {steps}{more})."
        )
    if run.train and not math.isfinite(number(run.train[-1], "loss")):
        found.append("The loss was not finite at the end: the run diverged.")
    if run.train and not run.evals:
        found.append("No loss on held-out text was measured.")
    return found


def key_figures(run: RunRecord) -> list[Figure]:
    """The figures at the top of the page; only those that the run has."""
    return [*_quality(run), *_amounts(run)]


def _quality(run: RunRecord) -> list[Figure]:
    figures = []
    best = run.best_eval
    if best is not None:
        loss = number(best, "loss")
        choices = significant(number(best, "perplexity"))
        where = "at the end" if best is run.evals[-1] else f"best, at update {number(best, 'step'):,.0f}"
        targets = number(best, "num_targets")
        on = f", on {in_words(targets)} held-out tokens" if math.isfinite(targets) else ""
        figures.append(Figure("Validation loss", f"{loss:.3f}", "nats/token", f"{where}{on}", is_main=True))
        figures.append(Figure("Perplexity", choices, "", f"as unsure as among {choices} equally likely tokens"))
        bits = number(best, "bits_per_byte")
        if math.isfinite(bits):
            figures.append(Figure("Bits per byte", significant(bits), "", "raw text takes 8"))
    if run.train:
        loss = number(run.train[-1], "loss")
        about = "mean since the line before"
        if best is not None and math.isfinite(loss):
            gap = number(run.evals[-1], "loss") - loss
            about = f"held-out text is {abs(gap):.2f} {'higher' if gap >= 0 else 'lower'}"
        value, unit = (f"{loss:.3f}", "nats/token") if math.isfinite(loss) else ("not finite", "")
        figures.append(Figure("Training loss", value, unit, about))
    return figures


def _amounts(run: RunRecord) -> list[Figure]:
    figures = []
    tokens = number(run.last, "tokens")
    if run.config is not None and run.config.model.vocab_size:
        parameters = num_parameters(run.config.model)
        shape = f"{run.config.model.num_layers} layers, width {run.config.model.d_model}"
        figures.append(Figure("Parameters", count(parameters.total), "", shape))
    if math.isfinite(tokens):
        num_bytes = tokens * _bytes_per_token(run)
        about = f"about {size(num_bytes)} of text" if math.isfinite(num_bytes) else ""
        figures.append(Figure("Tokens seen", count(tokens), "", about))
    speeds = [speed for speed in column(run.train, "tokens_per_s") if math.isfinite(speed)]
    if speeds:
        figures.append(Figure("Speed", significant(statistics.median(speeds)), "tokens/s", "median of training"))
    for key, name, of in MEMORIES:
        if math.isfinite(most := run.peak(key)):
            figures.append(Figure(name, size(most), "", of))
    if run.last:
        about = f"{number(run.last, 'step'):,.0f} updates"
        if run.config is not None:
            about += f" of {run.config.training.batch_size * run.config.model.context_length:,} tokens"
        figures.append(Figure("Time", duration(number(run.last, "seconds")), "", about))
    return figures


def _result(run: RunRecord) -> str:
    best = run.best_eval
    if best is not None:
        perplexity = number(best, "perplexity")
        choices = significant(perplexity, 2 if perplexity < 100 else 3)
        of = f" of {run.config.model.vocab_size:,}" if run.config is not None else ""
        return (
            f"On held-out text it reaches {number(best, 'loss'):.2f} nats per token: at each step it is as unsure "
            f"as if it chose among {choices} equally likely tokens{of}."
        )
    losses = [loss for loss in column(run.train, "loss") if math.isfinite(loss)]
    return f"Its training loss ended at {losses[-1]:.2f} nats per token." if losses else "Its loss was never finite."


def _machine(run: RunRecord) -> str:
    """Where it ran, as far as environment.json tells."""
    device, cores = run.environment.get("device"), run.environment.get("cores")
    if device == "cpu" and cores:
        return f" on {cores} processor core{'s' * (cores != 1)}"
    return f" on {run.environment.get('accelerator') or device}" if device else ""


def _bytes_per_token(run: RunRecord) -> float:
    """From the two forms of the validation loss: nats per token over nats per byte."""
    best = run.best_eval or {}
    bits = number(best, "bits_per_byte")
    return number(best, "loss") / (bits * math.log(2)) if bits > 0 else math.nan
