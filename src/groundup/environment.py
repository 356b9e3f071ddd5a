"""What this machine is and what of it we may use: cores, memory, instruction sets, versions, revision.

A container or a batch system often gives a process less than the machine has; everything here reports
what this process may use, so affinity and cgroup limits (versions 1 and 2) count. `describe()` is what
a run folder keeps as environment.json and what `groundup doctor` prints. Nothing here imports torch
unless asked about a GPU.
"""

import importlib.metadata
import math
import os
import platform
import resource
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import groundup

# What the kernels and PyTorch dispatch on, under the names Linux gives them.
INSTRUCTION_SETS = (
    *("avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16"),
    *("avx512_fp16", "amx_tile", "amx_bf16", "neon", "fp16", "bf16", "sve", "sve2", "i8mm"),
)
_ARM_NAMES = {"asimd": "neon", "asimdhp": "fp16"}
_APPLE_NAMES = {
    "avx1_0": "avx",
    "avx2_0": "avx2",
    "FEAT_BF16": "bf16",
    "FEAT_FP16": "fp16",
    "FEAT_I8MM": "i8mm",
}
_CGROUPS = Path("/sys/fs/cgroup")
_PROC = Path("/proc")


def describe() -> dict[str, Any]:
    """Versions, revision and hardware as one JSON-ready dictionary; None for what cannot be found out."""
    return {
        "groundup": groundup.__version__,
        "revision": git_revision(),
        "python": platform.python_version(),
        "torch": installed_version("torch"),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "processor": processor_name(),
        "cores": usable_cores(),
        "memory_bytes": memory_bytes(),
        "memory_available_bytes": available_memory_bytes(),
        "instruction_sets": sorted(cpu_flags(), key=INSTRUCTION_SETS.index),
    }


def usable_cores() -> int:
    """Cores this process may use: its affinity, cut to the cgroup's quota, at least 1."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in _cgroup_folders("cpu"):
        quota, period = _cpu_quota(folder)
        if quota is not None and quota > 0 and period:
            allowed = min(allowed, max(1, math.ceil(quota / period)))
    return allowed


def memory_bytes() -> int:
    """Memory this process could ever have: the machine's, cut to the cgroup's limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [limit for folder in _cgroup_folders("memory") if (limit := _memory_limit(folder)) is not None]
    return min([total, *limits])


def available_memory_bytes() -> int:
    """Memory this process could take now without swapping (all of it, where the system does not say).

    File pages the kernel would give up count as free, in the machine and in each cgroup.
    """
    available = _system_available_bytes()
    available = memory_bytes() if available is None else available
    for folder in _cgroup_folders("memory"):
        limit = _memory_limit(folder)
        used = _read_int(folder, "memory.current", "memory.usage_in_bytes")
        if limit is not None and used is not None:
            available = min(available, max(0, limit - used + _reclaimable_bytes(folder)))
    return available


def peak_memory_bytes() -> int:
    """The most memory this process has held at once up to now: resident pages, those of its libraries among them.

    On Linux from /proc: the number that getrusage has there may be that of the program which started this one.
    """
    for line in (_read(_PROC / "self" / "status") or "").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def peak_device_memory_bytes(device: str) -> int | None:
    """The most memory that torch has held at once on a CUDA `device`; None for any other."""
    if not device.startswith("cuda"):
        return None
    import torch

    return torch.cuda.max_memory_allocated(device)


def cpu_flags() -> frozenset[str]:
    """The instruction sets out of `INSTRUCTION_SETS` that this processor has."""
    text = _read(_PROC / "cpuinfo")
    if text is not None:
        return _flags_of_cpuinfo(text)
    return _flags_of_sysctl(_output("sysctl", "hw.optional") or "")


def has_fast_bf16(device: str) -> bool:
    """True where bfloat16 products run in hardware on `device` ("cpu", "cuda", "cuda:1", "mps").

    A processor without such instructions computes them in float32 with conversions around, which is
    slower than float32. CUDA has them from compute capability 8.0, Apple's GPUs under macOS 14.
    """
    kind = device.split(":")[0]
    if kind == "cpu":
        return not cpu_flags().isdisjoint({"avx512_bf16", "amx_bf16", "bf16"})
    if kind == "cuda":
        import torch

        return torch.cuda.is_available() and torch.cuda.get_device_capability(device) >= (8, 0)
    if kind == "mps":
        major = platform.mac_ver()[0].split(".")[0]
        return major.isdigit() and int(major) >= 14
    return False


def cpp_compiler() -> str | None:
    """Path of the C++ compiler that torch.compile would call for the CPU (CXX, g++, clang++), or None."""
    named = os.environ.get("CXX")
    candidates = [named.split()[0]] if named and named.split() else ["g++", "clang++"]
    return next(filter(None, map(shutil.which, candidates)), None)


def has_python_headers() -> bool:
    """True if Python.h is installed: torch.compile builds a Python extension and needs it."""
    return Path(sysconfig.get_path("include"), "Python.h").is_file()


def installed_version(package: str) -> str | None:
    """Version of an installed distribution, without importing it, or None."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor_name() -> str:
    """The processor as its maker calls it, or the architecture where there is no name."""
    for line in (_read(_PROC / "cpuinfo") or "").splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Model") and value.strip():
            return value.strip()
    named = _output("sysctl", "-n", "machdep.cpu.brand_string")
    return named or platform.processor() or platform.machine() or "unknown"


def git_revision() -> str | None:
    """Commit of the checkout this package runs from, "-dirty" added if files differ; None if installed."""
    package = Path(__file__).resolve().parent
    root = package.parent.parent
    # Not just any repository above us: a virtual environment often lies inside someone else's.
    if not (root / ".git").exists() or package != root / "src" / "groundup":
        return None
    return _output("git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def _cgroup_folders(controller: str) -> Iterator[Path]:
    """Folders of this process's cgroup for `controller`, innermost first: every level sets a limit."""
    for line in (_read(_PROC / "self" / "cgroup") or "").splitlines():
        _, controllers, inside = line.split(":", 2)
        if controllers == "":  # version 2: one hierarchy for all controllers
            root = _CGROUPS
        elif controller in controllers.split(","):
            root = _CGROUPS / controller
        else:
            continue
        # Inside a container the path may be the host's and lead nowhere; its root is then ours.
        innermost = root / inside.lstrip("/")
        for folder in (innermost, *innermost.parents):
            if folder.is_dir():
                yield folder
            if folder == root:
                break


def _cpu_quota(folder: Path) -> tuple[int | None, int | None]:
    """(quota, period) in microseconds; a quota of None or -1 means no limit."""
    version_2 = (_read(folder / "cpu.max") or "").split()
    if len(version_2) == 2:
        return (None if version_2[0] == "max" else int(version_2[0])), int(version_2[1])
    return _read_int(folder, "cpu.cfs_quota_us"), _read_int(folder, "cpu.cfs_period_us")


def _memory_limit(folder: Path) -> int | None:
    return _read_int(folder, "memory.max", "memory.limit_in_bytes")


def _reclaimable_bytes(folder: Path) -> int:
    """File pages not used lately, which count as used but are given up on demand."""
    fields = dict(line.split()[:2] for line in (_read(folder / "memory.stat") or "").splitlines())
    return int(fields.get("total_inactive_file", fields.get("inactive_file", 0)))


def _system_available_bytes() -> int | None:
    for line in (_read(_PROC / "meminfo") or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return _available_of_vm_stat(_output("vm_stat") or "")


def _available_of_vm_stat(text: str) -> int | None:
    """Free, inactive and speculative pages in macOS's vm_stat, in bytes."""
    header, *lines = text.splitlines() or [""]
    sizes = [int(word) for word in header.split() if word.isdigit()]
    if not sizes:
        return None
    pages = dict(line.split(":", 1) for line in lines if ":" in line)
    names = ("Pages free", "Pages inactive", "Pages speculative")
    return sizes[0] * sum(int(pages.get(name, "0").strip(" .")) for name in names)


def _flags_of_cpuinfo(text: str) -> frozenset[str]:
    """Flags of the first processor in /proc/cpuinfo ("flags" on x86, "Features" on ARM)."""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key.strip() in ("flags", "Features"):
            return frozenset(_ARM_NAMES.get(flag, flag) for flag in value.split()) & set(INSTRUCTION_SETS)
    return frozenset()


def _flags_of_sysctl(text: str) -> frozenset[str]:
    """Flags in the output of macOS's `sysctl hw.optional` (lines such as `hw.optional.avx2_0: 1`)."""
    found = set()
    for line in text.splitlines():
        key, _, value = line.partition(":")
        name = key.rsplit(".", 1)[-1]
        if value.strip() == "1":
            found.add(_APPLE_NAMES.get(name, name))
    return frozenset(found) & set(INSTRUCTION_SETS)


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _read_int(folder: Path, *names: str) -> int | None:
    """The number in the first of these files that there is; None for "max" or no file."""
    text = next((text for name in names if (text := _read(folder / name)) is not None), "").strip()
    return int(text) if text.lstrip("-").isdigit() else None


def _output(*command: str) -> str | None:
    """What a program prints, stripped; None if it is missing, fails, hangs or prints nothing."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
