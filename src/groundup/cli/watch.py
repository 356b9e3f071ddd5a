"""`groundup watch`: how runs are going, in the terminal: the curve, the last figures, the newest text."""

import argparse
import math
import shutil
import sys
import time
from pathlib import Path

from groundup.cli.parser import Parser, typed_text
from groundup.errors import CheckpointError, ConfigError
from groundup.experiments.quantities import duration, significant
from groundup.experiments.records import RunRecord, column, number, read_run
from groundup.experiments.terminal_chart import framed

HEIGHT = 8  # lines of a curve
SAMPLE_TOKENS = 64
SAMPLE_CHARACTERS = 400


def main(arguments: list[str]) -> int:
    """Show the runs anew every few seconds until all are finished; once, if that is asked or nobody looks."""
    options = _parser().parse_args(arguments)
    if not 0 < options.every < math.inf:
        raise ConfigError(f"--every is {options.every:g}; it must be a positive number of seconds")
    write = Writer(options.sample)
    if options.once:
        runs = [read_run(folder) for folder in options.runs]
        print("\n\n".join(panel(run, shutil.get_terminal_size().columns, write(run)) for run in runs))
    elif sys.stdout.isatty():
        _live(options, write)
    else:
        _plain(options, write)
    return 0


class Writer:
    """Gives the newest text of a run: with a prompt, what its newest checkpoint writes; else what its folder holds."""

    def __init__(self, prompt: str | None) -> None:
        self._prompt = prompt
        self._written: dict[Path, str] = {}

    def __call__(self, run: RunRecord) -> str:
        """The text with the update it was written after; empty if there is none yet."""
        return _kept_text(run) if self._prompt is None else self._by_checkpoint(run.folder, self._prompt)

    def _by_checkpoint(self, folder: Path, prompt: str) -> str:
        from groundup.checkpoint import find_checkpoint, load_run
        from groundup.generation.text import generate

        try:
            checkpoint = find_checkpoint(folder)
            if checkpoint not in self._written:
                run = load_run(checkpoint)
                text = generate(run, prompt, max_tokens=SAMPLE_TOKENS, temperature=0.8, top_p=0.95, seed=0)[0].text
                self._written[checkpoint] = _text_after(run.state.step, prompt + text)
            return self._written[checkpoint]
        except CheckpointError:  # none yet, or it was replaced while it was read: there will be another
            return ""


def panel(run: RunRecord, width: int, text: str) -> str:
    """One run in some lines: name and last figures, its curve, its newest text."""
    records = run.evals if len(run.evals) > 1 else run.train
    kind = "validation" if records is run.evals else "training"
    lines = [f"{run.name}: {status(run)}"]
    if records:
        lines += [
            f"{kind} loss, nats per token",
            framed(column(records, "step"), column(records, "loss"), width=width, height=HEIGHT),
        ]
    return "\n".join([*lines, text] if text else lines)


def status(run: RunRecord) -> str:
    """The last figures of a run in a line: updates, losses, speed, time left."""
    if not run.last:
        return "nothing measured yet"
    step, end = number(run.last, "step"), planned_steps(run)
    parts = [f"update {step:,.0f} of {end:,.0f}" if math.isfinite(end) else f"update {step:,.0f}"]
    if run.train:
        parts.append(f"training {number(run.train[-1], 'loss'):.3f}")
    if run.evals:
        parts.append(f"validation {number(run.evals[-1], 'loss'):.3f}")
    if run.train:
        parts.append(f"{significant(number(run.train[-1], 'tokens_per_s'))} tokens/s")
    if is_finished(run):
        parts.append("finished")
    elif step > 0 and math.isfinite(end):
        parts.append(f"{duration(number(run.last, 'seconds') / step * (end - step))} left")
    return ", ".join(parts)


def planned_steps(run: RunRecord) -> float:
    """Updates that the run is to make, as its last line says; NaN if unknown."""
    return number(run.train[-1], "max_steps") if run.train else math.nan


def is_finished(run: RunRecord) -> bool:
    """Whether the run has made all its updates, or is an experiment's and ended otherwise."""
    return number(run.last, "step") >= planned_steps(run) or (run.folder / "outcome.json").is_file()


def _kept_text(run: RunRecord) -> str:
    if not run.samples:
        return ""
    newest, item = run.samples[-1], run.samples[-1].items[0]
    return _text_after(newest.step, f"{item.get('prompt', '')}{item['text']}")


def _text_after(step: int | None, text: str) -> str:
    words = " ".join(text.split())[:SAMPLE_CHARACTERS]
    return words if step is None else f"after {step:,} updates: {words}"


def _live(options: argparse.Namespace, write: Writer) -> None:
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console()
    with Live(console=console, auto_refresh=False) as live:
        while True:
            runs = [read_run(folder) for folder in options.runs]
            live.update(Text("\n\n".join(panel(run, console.width - 1, write(run)) for run in runs)), refresh=True)
            if all(map(is_finished, runs)):
                return
            time.sleep(options.every)


def _plain(options: argparse.Namespace, write: Writer) -> None:
    """A line for each run whenever it has new figures, and one whenever it has a new text."""
    shown: dict[str, str] = {}
    texts: dict[str, str] = {}
    while True:
        runs = [read_run(folder) for folder in options.runs]
        for folder, run in zip(options.runs, runs, strict=True):
            if (line := status(run)) != shown.get(folder):
                shown[folder] = line
                print(f"{run.name}: {line}", flush=True)
            if (text := write(run)) and text != texts.get(folder):
                texts[folder] = text
                print(f"{run.name}: {text}", flush=True)
        if all(map(is_finished, runs)):
            return
        time.sleep(options.every)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup watch",
        description="How runs are going: curve, last figures and newest text, until all are finished. Where the output "
        "is no terminal, a line whenever there is something new.",
        example="groundup watch runs/tinystories",
    )
    parser.add_argument("runs", nargs="+", metavar="RUN", help="run folder")
    parser.add_argument("--every", type=float, default=2.0, metavar="SECONDS", help="time between looks (default: 2)")
    parser.add_argument(
        "--sample", type=typed_text, metavar="PROMPT", help="let each new checkpoint continue this text"
    )
    parser.add_argument("--once", action="store_true", help="show the runs as they are and stop")
    return parser
