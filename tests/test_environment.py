"""Tests of groundup.environment on made-up machines: files of /proc and cgroups written into a folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from groundup import environment

X86_SERVER = "processor\t: 0\nflags\t\t: fpu avx avx2 fma avx512f avx512_bf16 amx_bf16 amx_tile\n"
X86_LAPTOP = "processor\t: 0\nmodel name\t: Small CPU\nflags\t\t: fpu sse2 avx avx2 fma f16c\n\nflags\t\t: avx512f\n"
ARM_SERVER = "processor\t: 0\nFeatures\t: fp asimd asimdhp sve bf16 i8mm\n"


class Machine:
    """Stand-ins for /proc and /sys/fs/cgroup that a test fills."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.proc, self.cgroups = folder / "proc", folder / "cgroup"
        monkeypatch.setattr(environment, "_PROC", self.proc)
        monkeypatch.setattr(environment, "_CGROUPS", self.cgroups)
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
        sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 4_000_000}
        monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
        self.write("proc/meminfo", "MemTotal: 16000000 kB\nMemFree: 1 kB\nMemAvailable:    8000000 kB\n")

    def write(self, name: str, text: str) -> None:
        path = self.proc.parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_without_limits_the_machine_is_ours(machine: Machine) -> None:
    assert environment.usable_cores() == 8
    assert environment.memory_bytes() == 4096 * 4_000_000
    assert environment.available_memory_bytes() == 8_000_000 * 1024


def test_cgroup_version_2_limits_of_every_level_count(machine: Machine) -> None:
    machine.write("proc/self/cgroup", "0::/batch/job\n")
    machine.write("cgroup/batch/job/cpu.max", "max 100000\n")
    machine.write("cgroup/batch/cpu.max", "250000 100000\n")
    machine.write("cgroup/batch/job/memory.max", "max\n")
    machine.write("cgroup/batch/memory.max", "4000000000\n")
    machine.write("cgroup/batch/memory.current", "3000000000\n")
    machine.write("cgroup/batch/memory.stat", "anon 1\ninactive_file 500000000\n")
    assert environment.usable_cores() == 3  # 2.5 cores keep three threads busy
    assert environment.memory_bytes() == 4_000_000_000
    assert environment.available_memory_bytes() == 1_500_000_000


def test_cgroup_version_1(machine: Machine) -> None:
    machine.write("proc/self/cgroup", "7:cpu,cpuacct:/docker/x\n4:memory:/docker/x\n0::/\n")
    machine.write("cgroup/cpu/cpu.cfs_quota_us", "200000\n")  # the host's path leads nowhere: the root is ours
    machine.write("cgroup/cpu/cpu.cfs_period_us", "100000\n")
    machine.write("cgroup/memory/docker/x/memory.limit_in_bytes", "2000000000\n")
    machine.write("cgroup/memory/docker/x/memory.usage_in_bytes", "1900000000\n")
    machine.write("cgroup/memory/docker/x/memory.stat", "total_inactive_file 300000000\n")
    assert environment.usable_cores() == 2
    assert environment.memory_bytes() == 2_000_000_000
    assert environment.available_memory_bytes() == 400_000_000


def test_no_limit_spelt_as_a_huge_number_or_minus_one(machine: Machine) -> None:
    machine.write("proc/self/cgroup", "7:cpu:/\n4:memory:/\n")
    machine.write("cgroup/cpu/cpu.cfs_quota_us", "-1\n")
    machine.write("cgroup/cpu/cpu.cfs_period_us", "100000\n")
    machine.write("cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n")
    machine.write("cgroup/memory/memory.usage_in_bytes", "5000000000\n")
    assert environment.usable_cores() == 8
    assert environment.memory_bytes() == 4096 * 4_000_000
    assert environment.available_memory_bytes() == 8_000_000 * 1024


def test_a_quota_below_one_core_is_one_core(machine: Machine) -> None:
    machine.write("proc/self/cgroup", "0::/\n")
    machine.write("cgroup/cpu.max", "10000 100000\n")
    assert environment.usable_cores() == 1


@pytest.mark.parametrize(
    ("cpuinfo", "flags", "bf16"),
    [
        (X86_SERVER, {"avx", "avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile"}, True),
        (X86_LAPTOP, {"avx", "avx2", "fma", "f16c"}, False),
        (ARM_SERVER, {"neon", "fp16", "sve", "bf16", "i8mm"}, True),
        ("processor: 0\n", set(), False),
    ],
)
def test_instruction_sets_decide_bf16_on_a_processor(
    machine: Machine, cpuinfo: str, flags: set[str], bf16: bool
) -> None:
    machine.write("proc/cpuinfo", cpuinfo)
    assert environment.cpu_flags() == flags
    assert environment.has_fast_bf16("cpu") is bf16


def test_macos_tools_are_understood() -> None:
    sysctl = "hw.optional.avx1_0: 1\nhw.optional.avx2_0: 0\nhw.optional.arm.FEAT_BF16: 1\nhw.optional.neon: 1\n"
    assert environment._flags_of_sysctl(sysctl) == {"avx", "bf16", "neon"}
    vm_stat = (
        "Mach Virtual Memory Statistics: (page size of 16384 bytes)\n"
        "Pages free:                     100.\nPages active:          9000.\n"
        "Pages inactive:                  20.\nPages speculative:        3.\n"
    )
    assert environment._available_of_vm_stat(vm_stat) == 16384 * 123
    assert environment._available_of_vm_stat("") is None


def test_bf16_on_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", {"cuda": (7, 5), "cuda:1": (8, 0)}.__getitem__)
    assert not environment.has_fast_bf16("cuda")
    assert environment.has_fast_bf16("cuda:1")
    monkeypatch.setattr(environment.platform, "mac_ver", lambda: ("14.1", ("", "", ""), "arm64"))
    assert environment.has_fast_bf16("mps")
    monkeypatch.setattr(environment.platform, "mac_ver", lambda: ("13.6", ("", "", ""), "arm64"))
    assert not environment.has_fast_bf16("mps")
    assert not environment.has_fast_bf16("abacus")


def test_peak_memory_is_the_most_ever_held_and_not_that_of_the_program_before() -> None:
    """A child of a large process: what getrusage tells it on Linux is at least what its parent held."""
    ballast = bytearray(400_000_000)
    program = (
        "import groundup.environment as e; first = e.peak_memory_bytes(); taken = b'x' * 100_000_000; del taken;"
        "print(first, e.peak_memory_bytes())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = map(int, done.stdout.split())
    assert environment.peak_memory_bytes() > len(ballast)
    assert first < 100_000_000 <= second - first + 1_000_000 < 110_000_000


def test_peak_memory_without_proc(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=3000))
    assert environment.peak_memory_bytes() == 3_072_000
    monkeypatch.setattr(sys, "platform", "darwin")
    assert environment.peak_memory_bytes() == 3000
    machine.write("proc/self/status", "Name:\tpython\nVmHWM:\t   5000 kB\n")
    assert environment.peak_memory_bytes() == 5_120_000


def test_the_compiler_is_the_one_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "my-c++"
    compiler.write_text("#!/bin/sh\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", f"{compiler} -O2")
    assert environment.cpp_compiler() == str(compiler)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX")
    assert environment.cpp_compiler() is None


def test_revision_is_that_of_the_package_and_not_of_a_folder_around_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> None:
        author = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *author, *words], check=True, capture_output=True)

    here, elsewhere = tmp_path / "src/groundup/environment.py", tmp_path / "lib/groundup/environment.py"
    here.parent.mkdir(parents=True)
    here.write_text("")
    git("init")
    git("add", "-A")
    git("commit", "-m", "first")
    monkeypatch.setattr(environment, "__file__", str(here))
    clean = environment.git_revision()
    assert clean is not None
    assert len(clean) == 12
    here.write_text("changed")
    assert environment.git_revision() == f"{clean}-dirty"
    monkeypatch.setattr(environment, "__file__", str(elsewhere))
    assert environment.git_revision() is None


def test_programs_that_fail_give_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment._output("no-such-program-here") is None
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout="\n"))
    assert environment._output("anything") is None


def test_describe_is_json_and_does_not_import_torch() -> None:
    program = (
        "import json, sys, groundup.environment as environment; print(json.dumps(environment.describe()));"
        "assert 'torch' not in sys.modules and 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["python"] == sys.version.split()[0]
    assert found["torch"] == environment.installed_version("torch")
    assert found["cores"] >= 1
    assert found["memory_bytes"] > 0
    assert environment.installed_version("no-such-distribution") is None
