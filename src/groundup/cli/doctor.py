"""`groundup doctor`: what this machine has, what groundup will use of it, and why.

Each line is a `Finding`: something looked at, what was found, and advice where something is missing.
Only what groundup cannot work without is a problem and makes the exit code 1.
"""

import argparse
import dataclasses
import importlib
import json
import locale
import shutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from groundup import environment
from groundup.cli.parser import Parser
from groundup.experiments.quantities import significant, size

OPTIONAL = {
    "matplotlib": ("pictures of learning curves", "plots"),
    "pyarrow": ("reading .parquet", "data"),
    "tensorboard": ("metrics in TensorBoard", "track"),
    "wandb": ("metrics in Weights & Biases", "track"),
}
SCARCE_DISK_BYTES = 2_000_000_000  # some checkpoints of the base model, 0.27 GB each with its optimizer
PRODUCT_SIZE = 512  # side of the matrices multiplied: enough to use all cores, done in milliseconds


@dataclasses.dataclass(frozen=True)
class Finding:
    """One thing looked at. `state` is "ok", "note" (works, could be better) or "problem"."""

    group: str
    name: str
    found: str
    state: str = "ok"
    advice: str = ""


def main(arguments: list[str]) -> int:
    """Print the findings; 1 if something that groundup needs is missing."""
    options = _parser().parse_args(arguments)
    findings = [*machine(), *software(), *choices()]
    problems = [finding for finding in findings if finding.state == "problem"]
    if options.json:
        listed = [dataclasses.asdict(finding) for finding in findings]
        print(json.dumps({"environment": environment.describe(), "findings": listed, "ok": not problems}))
    else:
        _print(findings)
        print(f"\n{len(problems)} problem(s) found." if problems else "\nReady.")
    return 1 if problems else 0


def machine() -> Iterator[Finding]:
    """The hardware, as far as this process may use it."""
    group = "this machine"
    cores = environment.usable_cores()
    yield Finding(group, "processor", f"{environment.processor_name()}, {cores} core{'s' * (cores > 1)} to use")
    flags = sorted(environment.cpu_flags(), key=environment.INSTRUCTION_SETS.index)
    yield Finding(group, "instructions", " ".join(flags) or "none that matter here")
    free = environment.available_memory_bytes()
    yield Finding(group, "memory", f"{size(free)} free of {size(environment.memory_bytes())}")
    disk = shutil.disk_usage(Path.cwd()).free
    scarce = disk < SCARCE_DISK_BYTES
    advice = "checkpoints may not fit: choose another disk with --out" if scarce else ""
    yield Finding(group, "disk", f"{size(disk)} free in the current folder", "note" if scarce else "ok", advice)


def software() -> Iterator[Finding]:
    """Versions, the native core, the encoding, optional packages."""
    group = "software"
    described = environment.describe()
    revision = f", revision {described['revision']}" if described["revision"] else ""
    yield Finding(group, "groundup", f"{described['groundup']}{revision}")
    yield Finding(group, "python", f"{described['python']} on {described['platform']}")
    yield _torch()
    yield _native_core()
    yield _encoding()
    for package, (use, extra) in OPTIONAL.items():
        version = environment.installed_version(package)
        advice = "" if version else f"for {use}: pip install 'groundup[{extra}]'"
        yield Finding(group, package, version or "not installed (optional)", "ok" if version else "note", advice)


def choices() -> Iterator[Finding]:
    """What a run with the default settings will use, and why."""
    group = "what will be used"
    try:
        import torch
    except ImportError:
        return
    from groundup.device import choose_device

    device = choose_device("auto")
    yield Finding(group, "device", f"{device}: {_why_device(device, torch)}")
    yield _precision(group, device)
    yield _compile(group, device)
    for name, dtype in (("float32", torch.float32), ("bf16", torch.bfloat16)):
        rate = product_rate(torch, device, dtype)
        yield Finding(group, f"{name} products", f"{significant(rate / 1e9)} GFLOP/s, just measured")


def product_rate(torch: Any, device: str, dtype: Any) -> float:
    """Floating-point operations per second of a square matrix product, the median of some."""
    a = torch.ones(PRODUCT_SIZE, PRODUCT_SIZE, dtype=dtype, device=device)

    def seconds() -> float:
        start = time.perf_counter()
        float((a @ a)[0, 0])  # reading a value waits for the device
        return time.perf_counter() - start

    seconds()
    times, begin = [seconds()], time.perf_counter()
    while len(times) < 9 and time.perf_counter() - begin < 0.3:
        times.append(seconds())
    return 2 * PRODUCT_SIZE**3 / statistics.median(times)


def _torch() -> Finding:
    try:
        torch = importlib.import_module("torch")
    except ImportError as error:
        advice = "pip install -c constraints.txt -e ."
        return Finding("software", "torch", f"cannot be imported: {error}", "problem", advice)
    return Finding("software", "torch", f"{torch.__version__}, {torch.get_num_threads()} threads")


def _native_core() -> Finding:
    try:
        native = importlib.import_module("groundup._native")
    except ImportError as error:
        advice = "pip install -c constraints.txt -e . builds it; it needs a C++20 compiler"
        return Finding("software", "native core", f"cannot be loaded: {error}", "problem", advice)
    threads = native.default_num_threads()
    return Finding("software", "native core", f"loaded, {threads} threads, Unicode of {native.UNICODE_TABLES_VERSION}")


def _encoding() -> Finding:
    """Files are UTF-8 whatever is set; only what the terminal shows depends on it."""
    terminal, preferred = sys.stdout.encoding or "none", locale.getpreferredencoding(False)
    found = f"terminal {terminal}, locale {preferred}"
    if terminal.lower().replace("-", "") == "utf8":
        return Finding("software", "encoding", found)
    advice = "the terminal cannot show all text: set PYTHONUTF8=1 or a UTF-8 locale"
    return Finding("software", "encoding", found, "note", advice)


def _why_device(device: str, torch: Any) -> str:
    if device == "cuda":
        properties = torch.cuda.get_device_properties(0)
        return f"{properties.name}, {size(properties.total_memory)}, the first of {torch.cuda.device_count()}"
    if device == "mps":
        return "Apple's graphics processor; no CUDA device"
    built = "this torch is built without CUDA" if torch.version.cuda is None else "torch sees no CUDA device"
    return f"{built}, and there is no Apple graphics processor"


def _precision(group: str, device: str) -> Finding:
    if environment.has_fast_bf16(device):
        return Finding(group, "bf16", "computed in hardware; --training.precision bf16 saves time and memory")
    reason = {
        "cpu": "the processor has no bfloat16 instructions (avx512_bf16, amx_bf16, or ARM's bf16)",
        "cuda": "the graphics processor is older than compute capability 8.0",
        "mps": "bfloat16 on Apple's graphics processor needs macOS 14",
    }[device.split(":")[0]]
    return Finding(group, "bf16", f"falls back to float32: {reason}", "note")


def _compile(group: str, device: str) -> Finding:
    """torch.compile calls a C++ compiler for the CPU and needs Triton for CUDA."""
    name = "torch.compile"
    if device == "cuda":
        version = environment.installed_version("triton")
        found = f"usable with Triton {version}" if version else "falls back to eager: Triton is not installed"
        return Finding(group, name, found, "ok" if version else "note")
    compiler = environment.cpp_compiler()
    if compiler is None:
        return Finding(group, name, "falls back to eager: no C++ compiler", "note", "install g++, or set CXX")
    if not environment.has_python_headers():
        advice = "install Python's development package"
        return Finding(group, name, "falls back to eager: Python.h is missing", "note", advice)
    return Finding(group, name, f"usable with {compiler}; --training.compile true")


def _print(findings: list[Finding]) -> None:
    signs: Callable[[str], str] = {"ok": " ", "note": "-", "problem": "!"}.__getitem__
    width = max(len(finding.name) for finding in findings)
    group = ""
    for finding in findings:
        if finding.group != group:
            group = finding.group
            print(f"{group.capitalize()}:")
        print(f"{signs(finding.state)} {finding.name:<{width}}  {finding.found}")
        if finding.advice:
            print(f"  {'':<{width}}  -> {finding.advice}")


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="groundup doctor",
        description="What this machine has, what will be used of it, and why. Exit code 1 if something is broken.",
        example="groundup doctor --json",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser
