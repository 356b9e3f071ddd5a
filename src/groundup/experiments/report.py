"""The page of a run: `report.html`, one file that needs nothing else, made from what the run folder holds.

The figures come from headline.py, the curves from charts.py; this file sets the page. Everything that is
not ours (samples, configuration, commands) is escaped. A picture of the learning curve for other pages is
written beside it where matplotlib is installed.
"""

import dataclasses
import importlib.util
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import groundup
from groundup.experiments.charts import Line, Mark, line_chart
from groundup.experiments.headline import Figure, headline, key_figures, notices
from groundup.experiments.quantities import count, significant, size
from groundup.experiments.records import RunRecord, Samples, column, number, read_run
from groundup.files import StrPath, spelled, write_atomic

MAX_SAMPLES = 8
_TIME_UNITS = ((2 * 86_400.0, 86_400.0, "days"), (2 * 3600.0, 3600.0, "hours"), (120.0, 60.0, "minutes"))


def write_report(run_folder: StrPath) -> Path:
    """Write `report.html` (and `learning-curve.png`, if matplotlib is there) into a run folder; returns its path.

    Works on a run that is under way, was killed or diverged: what is missing is left out.
    Raises CheckpointError if the folder holds no run.
    """
    run = read_run(run_folder)
    path = run.folder / "report.html"
    write_atomic(path, spelled(render(run)))
    if importlib.util.find_spec("matplotlib") is not None and (run.train or run.evals):
        from groundup.experiments.plots import save_learning_curve

        save_learning_curve(run.folder, run.folder / "learning-curve.png")
    return path


def render(run: RunRecord) -> str:
    """The page as HTML text."""
    here = Path(__file__)
    style = here.with_suffix(".css").read_text(encoding="utf-8")
    script = here.with_suffix(".js").read_text(encoding="utf-8")
    sections = [_header(run), _figures(key_figures(run)), _curves(run), _samples(run.samples), _plan(run), _course(run)]
    sections.append(_details(run))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(run.name)} · groundup</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(filter(None, sections))
        + f"\n</main>\n<footer>Written by groundup {escape(groundup.__version__)}.</footer>\n"
        f"<script>\n{script}</script>\n</body>\n</html>\n"
    )


def _header(run: RunRecord) -> str:
    started = str(run.environment.get("started", ""))[:10]
    kicker = " · ".join(filter(None, ["Training run", started]))
    notes = "".join(f'<p class="notice">{escape(note)}</p>' for note in notices(run))
    return (
        f'<header><p class="kicker">{escape(kicker)}</p><h1>{escape(run.name)}</h1>'
        f'<p class="headline">{_joined(headline(run))}</p>{notes}</header>'
    )


def _figures(figures: Sequence[Figure]) -> str:
    if not figures:
        return ""
    cells = []
    for figure in figures:
        unit = f" <small>{escape(figure.unit)}</small>" if figure.unit else ""
        about = f'<dd class="about">{_joined(figure.about)}</dd>' if figure.about else ""
        style = ' class="main"' if figure.is_main else ""
        cells.append(
            f"<div{style}><dt>{escape(figure.name)}</dt>"
            f'<dd class="value">{escape(figure.value)}{unit}</dd>{about}</div>'
        )
    return f'<dl class="figures">{"".join(cells)}</dl>'


def _curves(run: RunRecord) -> str:
    unit_s, unit = _time_unit(number(run.last, "seconds"))
    charts = [
        _loss_chart(run, "step", 1.0, "Loss over updates", "update"),
        _loss_chart(run, "seconds", unit_s, "Loss over time", unit),
    ]
    if not any(charts):
        return ""
    text = (
        "Training loss is the mean over the updates since the point before; validation loss is a full pass "
        "over text the model never trains on."
    )
    return _section("Learning curve", text, "charts", charts)


def _loss_chart(run: RunRecord, key: str, unit: float, title: str, x_name: str) -> str:
    def line(name: str, records: Sequence[Mapping[str, Any]], style: str) -> Line:
        xs = [x / unit for x in column(records, key)]
        return Line(name, xs, column(records, "loss"), style, has_dots=name == "validation" and len(xs) <= 40)

    return line_chart(
        [line("training", run.train, "train"), line("validation", run.evals, "valid")],
        title=title,
        unit="nats per token",
        x_name=x_name,
        format_x=_plain,
        format_y=_loss,
        marks=[Mark(number(record, key) / unit, "resumed") for record in run.resumed],
        may_log=True,
    )


def _course(run: RunRecord) -> str:
    """How the run went besides its loss: rate, size of the gradients, speed."""
    steps = column(run.train, "step")
    wanted = (
        ("Learning rate", "per update", "lr", lambda value: f"{value:.3g}"),
        ("Gradient norm", "before clipping", "grad_norm", significant),
        ("Speed", "tokens per second", "tokens_per_s", count),
    )
    charts = [
        line_chart(
            [Line(title.lower(), steps, column(run.train, key))],
            title=title,
            unit=unit,
            x_name="update",
            format_x=_plain,
            format_y=write,
            from_zero=True,
        )
        for title, unit, key, write in wanted
    ]
    if not any(charts):
        return ""
    text = "What the optimizer was told, what it met, and how fast it went."
    return _section("On the way", text, "charts small", charts)


def _plan(run: RunRecord) -> str:
    """What `groundup run` chose and why, and the loss that it expected beside the one that was reached."""
    choices = run.plan.get("reasons")
    if not isinstance(choices, list) or not choices:
        return ""
    rows = [
        f"<tr><th>{escape(str(choice['name']))}</th><td>{escape(str(choice['value']))}</td>"
        f"<td>{escape(str(choice['why']))}</td></tr>"
        for choice in choices
    ]
    if run.best_eval is not None:
        reached = significant(number(run.best_eval, "bits_per_byte"))
        rows.append(f"<tr><th>reached loss</th><td>{reached} bits per byte</td><td>on the held-out text</td></tr>")
    text = "Chosen before the run began, from the text and from what was measured on this machine."
    return _section("The plan", text, "plan", [f"<table>{''.join(rows)}</table>"])


def _samples(samples: Sequence[Samples]) -> str:
    """The newest texts, and before them one from each of at most two earlier moments."""
    if not samples:
        return ""
    earlier = [samples[0], samples[len(samples) // 2]] if len(samples) > 2 else list(samples[:-1])
    cards = [_card(moment.items[0], moment.step) for moment in earlier]
    cards += [_card(item, samples[-1].step) for item in samples[-1].items[:MAX_SAMPLES]]
    text = "Prompts in colour; all the rest is the model’s own."
    return _section("What it writes", text, "samples", cards)


def _card(item: Mapping[str, Any], step: int | None) -> str:
    prompt, text = str(item.get("prompt", "")), str(item["text"])
    text = text if prompt else text.lstrip()
    about = [] if step is None else [f"after {step:,} updates"]
    names = {"temperature": "temperature", "top_p": "top-p", "top_k": "top-k", "seed": "seed"}
    about += [f"{name} {item[key]}" for key, name in names.items() if item.get(key) is not None]
    pieces = [escape(piece).replace(" ", "\u00a0") for piece in about]
    footer = f"<footer>{' · '.join(pieces)}</footer>" if about else ""
    return f'<article class="sample"><p><b>{escape(prompt)}</b>{escape(text)}</p>{footer}</article>'


def _section(title: str, text: str, style: str, parts: Iterable[str]) -> str:
    return f'<h2>{title}</h2><p>{text}</p><div class="{style}">{"".join(parts)}</div>'


def _details(run: RunRecord) -> str:
    tables = [_table("Machine", _machine_rows(run.environment))]
    if run.config is not None:
        model = dataclasses.replace(
            run.config.model, d_ff=run.config.model.ffn_width, num_kv_heads=run.config.model.kv_heads
        )
        parts = {"Model": model, "Data": run.config.data, "Training": run.config.training}
        parts["Optimizer"] = run.config.optimizer
        tables = [_table(name, _rows(part)) for name, part in parts.items()] + tables
    text = "Every setting as the run used it, defaults filled in."
    configuration = _section("Configuration and machine", text, "tables", tables) if any(tables) else ""
    return configuration + _reproduction(run)


def _reproduction(run: RunRecord) -> str:
    command = run.environment.get("command") or shlex.join(["groundup", "train", str(run.folder / "config.yaml")])
    version = f"groundup {run.environment.get('groundup') or groundup.__version__}"
    revision = run.environment.get("revision")
    version += f", revision {revision}" if revision else ""
    return f"<h2>Do it again</h2><p>With {escape(version)}:</p><pre>{escape(str(command))}</pre>"


def _machine_rows(environment: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for key, value in environment.items():
        if key in ("command", "revision", "groundup") or value in (None, [], ""):
            continue
        name = key.removesuffix("_bytes").replace("_", " ")
        if isinstance(value, list):
            yield name, ", ".join(map(str, value))
        else:
            is_size = key.endswith("_bytes") and isinstance(value, int)
            yield name, size(value) if is_size else str(value)


def _rows(part: Any) -> Iterable[tuple[str, str]]:
    for field in dataclasses.fields(part):
        yield field.name, _setting(getattr(part, field.name))


def _setting(value: Any) -> str:
    """A value of the configuration in words."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "default" if value is None else str(value) or "–"


def _table(title: str, rows: Iterable[tuple[str, str]]) -> str:
    body = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<section><h3>{escape(title)}</h3><table>{body}</table></section>" if body else ""


def _time_unit(seconds: float) -> tuple[float, str]:
    return next(((unit, name) for least, unit, name in _TIME_UNITS if seconds >= least), (1.0, "seconds"))


def _joined(text: str) -> str:
    """Escaped, with each number kept on one line with its unit."""
    text = re.sub(r"(\d) (?=(million|billion|trillion|days?|d|h|min|s|[kMGT]?B|[kMGT])\b)", "\\1\u00a0", text)
    text = re.sub(r"(\d\u00a0(?:d|h|min)) (?=\d)", "\\1\u00a0", text)
    return escape(text)


def _plain(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _loss(value: float) -> str:
    return f"{value:.2f}"
