"""What is left and said at the end of a run: samples, report.html, and a summary of a few lines."""

import sys
from collections.abc import Sequence
from typing import Any

from groundup.checkpoint import Run
from groundup.experiments.quantities import duration, size
from groundup.experiments.report import write_report
from groundup.files import write_json
from groundup.generation.text import generate
from groundup.training.metrics import read_metrics

SAMPLE_TOKENS = 256
SAMPLE_TEMPERATURE = 0.8
SAMPLE_TOP_P = 0.95


def finish_run(
    run: Run, *, prompts: Sequence[str], keep_stdout: bool = False, sample_tokens: int = SAMPLE_TOKENS
) -> dict[str, Any]:
    """Write samples and report of a finished run, print its summary, return the figures.

    With `keep_stdout` the summary goes to stderr, for a command that prints JSON.
    """
    out = sys.stderr if keep_stdout else sys.stdout
    samples = write_samples(run, prompts, max_tokens=sample_tokens)
    report = write_report(run.folder)
    figures = run_figures(run)
    print(f"trained {figures['tokens']:,} tokens in {duration(figures['seconds'])}", file=out)
    if "valid_loss" in figures:
        # A run that diverged has "nan" or "inf" here, which JSON has no numbers for.
        loss, perplexity, bits = figures["valid_loss"], figures["perplexity"], figures["bits_per_byte"]
        per_byte = f", {float(bits):.3f} bits per byte" if bits is not None else ""
        print(f"validation: {float(loss):.4f} nats per token, perplexity {float(perplexity):.2f}{per_byte}", file=out)
    if most := figures["peak_memory_bytes"]:
        print(f"peak memory: {size(most)}", file=out)
    if run.state.best_loss is not None and run.state.best_step != run.state.step:
        print(
            f"best: {run.state.best_loss:.4f} at step {run.state.best_step:,}, which eval and generate will use",
            file=out,
        )
    print(f"run: {run.folder}\nreport: {report}", file=out)
    return figures | {"run": str(run.folder), "report": str(report), "samples": samples}


def write_samples(run: Run, prompts: Sequence[str], *, max_tokens: int = SAMPLE_TOKENS) -> list[dict[str, Any]]:
    """Continue each prompt and keep the texts in the run's samples folder."""
    completions = generate(
        run, list(prompts), max_tokens=max_tokens, temperature=SAMPLE_TEMPERATURE, top_p=SAMPLE_TOP_P, seed=0
    )
    samples = [
        {
            "prompt": completion.prompt,
            "text": completion.text,
            "temperature": SAMPLE_TEMPERATURE,
            "top_p": SAMPLE_TOP_P,
            "stop": completion.stop_reason,
            "step": run.state.step,
        }
        for completion in completions
    ]
    write_json(run.folder / "samples" / f"step-{run.state.step:08d}.json", samples)
    return samples


def run_figures(run: Run) -> dict[str, Any]:
    """The figures of a run that other programs want: steps, tokens, time, speed, held-out loss."""
    records = read_metrics(run.folder / "metrics.jsonl")
    speeds = sorted(record["tokens_per_s"] for record in records if record["kind"] == "train" and record["step"] > 1)
    figures: dict[str, Any] = {
        "steps": run.state.step,
        "tokens": run.state.tokens,
        "seconds": run.state.seconds,
        "parameters": run.model.num_parameters(),
        "tokens_per_s": speeds[len(speeds) // 2] if speeds else None,
        "peak_memory_bytes": max((r["peak_memory_bytes"] for r in records if "peak_memory_bytes" in r), default=None),
    }
    evaluations = [record for record in records if record["kind"] == "eval"]
    if evaluations:
        last = evaluations[-1]
        figures |= {
            "valid_loss": last["loss"],
            "perplexity": last["perplexity"],
            "bits_per_byte": last["bits_per_byte"],
        }
    return figures
