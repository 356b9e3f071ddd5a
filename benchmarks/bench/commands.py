"""What whole processes take: loading a vocabulary, and our command line from a file to shards."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.rounds import interleave
from bench.sessions import OURS, Answers, Entrant, Measure, Reading, Session, Step, conclude, play, rate, read
from bench.tokenizer_inputs import Inputs
from bench.tokenizer_peers import TokenizerPeer

COMMAND_S = 600.0
COMMAND_RUNS = 5
FIRST_LOADING = Measure("import + first load of a file", "ms", "lower")
LOADING = Measure("import + load", "ms", "lower")
SHARDS = Measure("first file to shards", "MB/s", "higher")
IN_MEMORY = Measure("the same in memory", "MB/s", "higher")
SHARE = Measure("shards / in memory", "x", None)
SAMPLE = "It's 1999: naïve café,\n\n  “quoted” — ok?"
COMMAND_LINE = "import sys; from groundup.cli.main import main; sys.exit(main())"


class CommandError(RuntimeError):
    """A command that failed or told something else than expected."""


def measure_loading(
    peers: Sequence[TokenizerPeer], entrants: Mapping[str, Entrant], inputs: Inputs, *, rounds: int, loads: int
) -> dict[str, dict[str, Any]]:
    """Milliseconds from a fresh interpreter to a tokenizer, the interpreter's own start subtracted.

    Of a file that was never loaded before, with an empty cache folder, and of one that was: only ours keeps what it
    found. All is timed `loads` times in every round, and the medians count.
    """
    special_id = inputs.vocab_size - 1
    codes = {one.peer.name: one.load.replace("{n}", str(special_id)) for one in peers if one.load}
    refused: dict[str, str] = {}
    expected: list[int] | None = None
    for one in peers:  # ours comes first; its ids are compared with the reference wherever text is encoded
        name = one.peer.name
        if name not in codes:
            continue
        try:
            ids = json.loads(_run_python(entrants[name], f"{codes[name]}; s = {SAMPLE!r}; print({one.ids})", inputs))
            expected = expected or ids
            if ids != expected:
                raise CommandError(f"wrong ids: {ids}, not {expected}")
        except CommandError as error:
            refused[name] = str(error)

    def seconds(name: str, code: str, cache: Path) -> float:
        start = time.perf_counter()
        _run_python(entrants[name], code, inputs, cache)
        return time.perf_counter() - start

    def measure(name: str) -> tuple[float, float]:
        times = []
        for _ in range(loads):
            with tempfile.TemporaryDirectory(dir=inputs.folder) as empty:
                first = seconds(name, codes[name], Path(empty))
            times.append((seconds(name, "pass", _cache(inputs)), first, seconds(name, codes[name], _cache(inputs))))
        starting, first, later = (statistics.median(column) for column in zip(*times, strict=True))
        return (first - starting) * 1e3, (later - starting) * 1e3

    played = interleave([name for name in codes if name not in refused], measure, rounds)
    return {
        which.name: conclude(which, {name: [pair[place] for pair in pairs] for name, pairs in played.items()}, refused)
        for place, which in enumerate((FIRST_LOADING, LOADING))
    }


def measure_shards(
    ours: Entrant, inputs: Inputs, reference: Path, *, threads: int, rounds: int
) -> dict[str, dict[str, Any]]:
    """Our `data prepare` on the first file of the corpus against our encoding of its documents from memory.

    What the command takes for next to nothing is subtracted: that is start-up, and not of the rate. Both are timed
    COMMAND_RUNS times in every round, and the medians count.
    """
    size = inputs.sizes["first file documents"]
    nothing = inputs.folder / "nothing.txt"  # next to it, and held out, so that the rest is encoded whole
    nothing.write_text("One story.", encoding="utf-8")
    set_up = Step("set_up", "set_up", {"folder": str(inputs.folder), "threads": threads})
    fields = {"texts": str(inputs.documents["first file"]), "reference": str(reference)}
    session = Session("in memory", (set_up, Step("batch", "encode_batch", fields)), ())
    documents = json.loads(inputs.documents["first file"].read_text(encoding="utf-8"))
    num_ids = reference.stat().st_size // 4 + len(documents)  # 32 bits an id; each document ends with one more

    def measure(_: str) -> Answers:
        answer = play(session, ours)["batch"]
        starts, wholes = [], []
        problem = None
        for _ in range(COMMAND_RUNS):  # start-up is the larger part: one run of each would measure its spread
            starts.append(_prepare_shards(nothing, nothing, inputs, threads)[0])
            seconds, found = _prepare_shards(inputs.corpus[0], nothing, inputs, threads)
            wholes.append(seconds)
            if found != num_ids:
                problem = f"wrong ids: {found:,} in the shards, not {num_ids:,}"
        seconds = statistics.median(wholes) - statistics.median(starts)
        return {"batch": answer, "shards": {"seconds": seconds, "problem": problem}}

    readings = (
        Reading(SHARDS, ("shards",), rate(size)),
        Reading(IN_MEMORY, ("batch",), rate(size)),
        Reading(SHARE, ("batch", "shards"), lambda memory, shards: memory["seconds"] / shards["seconds"]),
    )
    try:
        played = interleave([OURS], measure, rounds)
    except CommandError as error:
        return {reading.measure.name: conclude(reading.measure, {}, {OURS: str(error)}) for reading in readings}
    return read(Session("shards", (), readings), played)


def _prepare_shards(file: Path, held_out: Path, inputs: Inputs, threads: int) -> tuple[float, int]:
    """Seconds of the command, and how many ids it wrote for the file."""
    out = inputs.folder / "shards"
    shutil.rmtree(out, ignore_errors=True)
    options = {
        "--out": out,
        "--valid": held_out,
        "--tokenizer": inputs.folder / "tokenizer.json",
        "--threads": threads,
    }
    words = [str(word) for option in options.items() for word in option]
    start = time.perf_counter()
    told = _run([sys.executable, "-c", COMMAND_LINE, "data", "prepare", str(file), *words, "--json"], inputs)
    return time.perf_counter() - start, json.loads(told)["splits"]["train"]["tokens"]


def _run_python(entrant: Entrant, code: str, inputs: Inputs, cache: Path | None = None) -> str:
    if entrant.python is None:
        raise CommandError(entrant.problem or "it is not installed")
    return _run([str(entrant.python), "-c", code], inputs, cache)


def _cache(inputs: Inputs) -> Path:
    """The cache folder in which a first call, whose ids are checked, leaves what later ones find."""
    return inputs.folder / "cache"


def _run(command: Sequence[str], inputs: Inputs, cache: Path | None = None) -> str:
    """What it prints. It runs in the folder of the inputs; tiktoken must not keep copies of files there."""
    environment = os.environ | {"TIKTOKEN_CACHE_DIR": "", "XDG_CACHE_HOME": str(cache or _cache(inputs))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # peers were compiled when they were installed
    try:
        done = subprocess.run(
            command, cwd=inputs.folder, env=environment, capture_output=True, text=True, timeout=COMMAND_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise CommandError(f"no end within {COMMAND_S:g} s") from None
    if done.returncode:
        raise CommandError((done.stderr.strip().splitlines() or ["it failed"])[-1])
    return done.stdout
