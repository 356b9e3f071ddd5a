"""Runs targets in a process of their own, and tells what became of it: findings, crashes, hangs."""

import faulthandler
import os
import random
import resource
import select
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from fuzz.outcome import Target

LIMIT_S = 60.0  # for one case; the longest take a second on the sanitized core
_MOST_MEMORY_KIB = 3 << 20
_FINDING = 3  # exit status of a process that has said what it found


@dataclass(frozen=True)
class Case:
    """One input of one target: the same, whatever was run before it."""

    target: Target
    seed: int
    number: int

    def __str__(self) -> str:
        return f"{self.target.name}:{self.seed}:{self.number}"

    def make(self) -> object:
        return self.target.make(random.Random(str(self)))


def run(targets: Sequence[Target], seed: int, seconds: float, *, limit_s: float = LIMIT_S) -> bool:
    """Fuzzes for so long, each target for an equal part of the time; whether nothing was found."""
    read_end, write_end = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read_end)
        _work(targets, seed, seconds, write_end)
    os.close(write_end)
    started, hangs = _watch(read_end, limit_s)
    os.close(read_end)
    if hangs:
        os.kill(process, signal.SIGABRT)  # faulthandler shows where it is
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    if status == 0:
        counts = {target.name: 0 for target in targets} | {case.split(":")[0]: 0 for case in started}
        for case in started:
            counts[case.split(":")[0]] += 1
        print(f"seed {seed}: " + ", ".join(f"{count} {name}" for name, count in counts.items()), flush=True)
        return True
    if status != _FINDING:
        what = f"took longer than {limit_s:g} s" if hangs else f"ended the process with status {status}"
        report(case_of(started[-1], targets), f"it {what}")
    return False


def run_case(case: Case) -> bool:
    """Checks one input, in this process; whether it is fine. Reports what is not."""
    value = case.make()
    try:
        case.target.check(value)
    except Exception:
        report(case, traceback.format_exc())
        return False
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > _MOST_MEMORY_KIB:
        report(case, f"it took more than {_MOST_MEMORY_KIB >> 20} GiB of memory")
        return False
    return True


def case_of(name: str, targets: Sequence[Target]) -> Case:
    """The case that `str` named so. Raises ValueError."""
    target, seed, number = name.split(":")
    return Case(next(t for t in targets if t.name == target), int(seed), int(number))


def report(case: Case, what: str) -> None:
    """Writes a finding to stderr: the case, its input, what happened."""
    print(f"\nfinding in case {case}\ninput: {case.make()!r:.20000}\n{what}", file=sys.stderr)
    print(f"again: PYTHONPATH=tests python tools/sanitized.py -m fuzz --case {case}", file=sys.stderr, flush=True)


def _work(targets: Sequence[Target], seed: int, seconds: float, output: int) -> None:
    """What the process does: cases, each announced before it begins. Never returns."""
    faulthandler.enable()
    end = time.monotonic() + seconds
    used = dict.fromkeys(range(len(targets)), 0.0)
    numbers = dict.fromkeys(used, 0)
    is_fine = True
    while is_fine and (now := time.monotonic()) < end:
        place = min(used, key=used.__getitem__)
        case = Case(targets[place], seed, numbers[place])
        os.write(output, f"{case}\n".encode())
        is_fine = run_case(case)
        numbers[place] += 1
        used[place] += time.monotonic() - now
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0 if is_fine else _FINDING)


def _watch(input: int, limit_s: float) -> tuple[list[str], bool]:
    """The cases that were begun, until the process ended or one took too long; whether one did."""
    names = b""
    while True:
        ready, _, _ = select.select([input], [], [], limit_s)
        if not ready:
            return names.decode().split(), True
        some = os.read(input, 1 << 16)
        if not some:
            return names.decode().split(), False
        names += some
