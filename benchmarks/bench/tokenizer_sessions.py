"""The sessions of the benchmark of the tokenizer: what each fresh process is asked, and what that measures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.sessions import Entrant, Measure, Reading, Session, Step, play, rate
from bench.tokenizer_inputs import ADVERSARIAL, Inputs, Scale
from bench.tokenizer_peers import REFERENCES


def training_sessions(inputs: Inputs, scale: Scale, threads: int) -> list[Session]:
    """From files to merges, for each size of vocabulary."""
    sessions = []
    for vocab_size in scale.vocab_sizes:
        fields = {
            "files": [str(path) for path in inputs.corpus],
            "num_merges": vocab_size - 257,
            "alphabet": inputs.alphabet,
            "threads": threads,
            "out": str(inputs.folder / f"merges-{{peer}}-{vocab_size}.json"),
        }
        step = Step("train", "train", fields)
        what = f"{inputs.corpus_bytes / 1e6:.0f} MB to {vocab_size:,}"
        seconds = Measure(what, "s", "lower")
        memory = Measure(f"{what}, peak memory", "MB", "lower")
        readings = (
            Reading(seconds, ("train",), lambda answer: answer["seconds"]),
            Reading(memory, ("train",), lambda answer: answer["peak_bytes"] / 1e6),
        )
        sessions.append(Session(what, (step,), readings))
    return sessions


def encoding_sessions(inputs: Inputs, references: Mapping[str, Path], threads: int) -> list[Session]:
    """Text to ids and back: first call of a process, unseen text, the same again, lists, threads, small documents."""

    def encode(key: str, name: str, form: str = "fastest") -> Step:
        return Step(key, "encode", {"text": str(inputs.texts[name]), "reference": str(references[name]), "form": form})

    def documents(key: str, name: str, operation: str) -> Step:
        reference = references[f"{name} documents"]
        return Step(key, operation, {"texts": str(inputs.documents[name]), "reference": str(reference)})

    size = inputs.sizes
    english, multilingual = rate(size["English"]), rate(size.get("multilingual", 0))
    sessions = [
        Session(
            "English",
            (_set_up(inputs, 1), encode("first", "English"), encode("unseen", "unseen"), encode("again", "English")),
            (
                Reading(Measure("English, first call", "MB/s", "higher"), ("first",), english),
                Reading(Measure("unseen text, warm", "MB/s", "higher"), ("unseen",), rate(size["unseen"])),
                Reading(Measure("English again", "MB/s", "higher"), ("again",), english),
            ),
        ),
        Session(
            "lists",
            (_set_up(inputs, 1), encode("first", "English", "list"), encode("again", "English", "list")),
            (
                Reading(Measure("list[int], first call", "MB/s", "higher"), ("first",), english),
                Reading(Measure("list[int] again", "MB/s", "higher"), ("again",), english),
            ),
        ),
        Session(
            "small documents",
            (_set_up(inputs, 1), *(documents(key, "small", "encode_each") for key in ("first", "again"))),
            (Reading(Measure("1.5 kB, one call each", "us", "lower"), ("again",), lambda it: it["seconds"] * 1e6),),
        ),
        Session(
            "decoding",
            (_set_up(inputs, 1), *(Step(key, "decode", {"text": str(inputs.texts["English"])}) for key in "ab")),
            (Reading(Measure("decode", "MB/s", "higher"), ("b",), english),),
        ),
    ]
    if "multilingual" in references:
        steps = (_set_up(inputs, 1), encode("first", "multilingual"), encode("again", "multilingual"))
        readings = (
            Reading(Measure("multilingual, first call", "MB/s", "higher"), ("first",), multilingual),
            Reading(Measure("multilingual again", "MB/s", "higher"), ("again",), multilingual),
        )
        sessions.insert(1, Session("multilingual", steps, readings))
    for number in sorted({1, threads}):
        steps = tuple(documents(key, "English", "encode_batch") for key in ("first", "again"))
        plural = "thread" if number == 1 else "threads"
        readings = tuple(
            Reading(
                Measure(f"documents, {number} {plural}, {key}", "MB/s", "higher"),
                (key,),
                rate(size["English documents"]),
            )
            for key in ("first", "again")
        )
        sessions.append(Session(f"documents, {number} {plural}", (_set_up(inputs, number), *steps), readings))
    return sessions


def adversarial_sessions(inputs: Inputs, references: Mapping[str, Path], scale: Scale) -> list[Session]:
    """The first call of a fresh object on each bad input, short and long; linear time is a ratio of their sizes."""
    short, long = scale.adversarial_bytes
    sessions = []
    for kind in ADVERSARIAL:
        names = [name for name in (f"{kind} {short}", f"{kind} {long}") if name in references]
        if len(names) < 2:
            continue
        steps = [_set_up(inputs, 1)]
        for key, name in zip(("short", "long"), names, strict=True):
            fields = {"text": str(inputs.texts[name]), "reference": str(references[name])}
            steps.append(Step(key, "encode", {**fields, "form": "fastest", "fresh": True}))
        readings = (
            Reading(Measure(kind, "MB/s", "higher"), ("short",), rate(inputs.sizes[names[0]])),
            Reading(
                Measure(f"{kind}, {long / short:g} times as long", "x", None),
                ("short", "long"),
                lambda short, long: long["seconds"] / short["seconds"],
            ),
        )
        sessions.append(Session(kind, tuple(steps), readings))
    return sessions


def write_references(
    inputs: Inputs, entrants: Mapping[str, Entrant], texts: Sequence[str], documents: Sequence[str]
) -> tuple[dict[str, Path], dict[str, str]]:
    """Files with the right ids of the named inputs, and the problem of those that no reference can encode."""
    wanted: dict[str, dict[str, Any]] = {name: {"text": str(inputs.texts[name])} for name in texts}
    wanted |= {f"{name} documents": {"texts": str(inputs.documents[name])} for name in documents}
    written: dict[str, Path] = {}
    problems: dict[str, str] = {}
    for reference in REFERENCES:
        for name, fields in wanted.items():
            if name in written:
                continue
            out = inputs.folder / f"{name}.ids"
            step = Step("ids", "write_ids", {**fields, "out": str(out)})
            answer = play(Session(name, (_set_up(inputs, 1), step), ()), entrants[reference])["ids"]
            if problem := answer.get("problem"):
                problems.setdefault(name, problem)
            else:
                written[name] = out
    return written, {name: problem for name, problem in problems.items() if name not in written}


def _set_up(inputs: Inputs, threads: int) -> Step:
    return Step("set_up", "set_up", {"folder": str(inputs.folder), "threads": threads})
