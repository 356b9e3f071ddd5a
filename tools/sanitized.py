"""Runs Python on a core that is built to end the program at a memory error or undefined behaviour.

    python tools/sanitized.py -m pytest tests/tokenizer/test_native.py

AddressSanitizer, UndefinedBehaviorSanitizer and the assertions of the standard library watch the core and
its bindings. That build lies in a folder of its own, build/sanitized; the installed core stays as it is.
Needs cmake, ninja and nanobind beside Python (`make test-sanitized` sees to that) and GCC or Clang with libasan.
"""

import fcntl
import importlib.util
import os
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
BUILD = PROJECT / "build" / "sanitized"
NATIVE = "groundup._native"
_READY = "GROUNDUP_SANITIZED_CORE"  # the core's file, set for the Python that this one becomes


def build() -> Path:
    """The sanitized core's file, brought up to date."""
    tools = Path(sys.executable).parent
    nanobind = _output(sys.executable, "-m", "nanobind", "--cmake_dir")
    configure = [
        *[tools / "cmake", "-S", PROJECT, "-B", BUILD, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}"],
        # The build takes most of the time of a short run: no more is optimized than the core, and that a little.
        *["-DCMAKE_BUILD_TYPE=None", "-DGROUNDUP_SANITIZE=ON", "-DGROUNDUP_WERROR=ON"],
        *[f"-Dnanobind_DIR={nanobind}", f"-DPython_EXECUTABLE={sys.executable}"],
    ]
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # `make -j2 test-sanitized fuzz` comes here twice
        for command in (configure, [tools / "cmake", "--build", BUILD]):
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                sys.exit(f"{done.stdout}\nthe sanitized core could not be built")
    (core,) = BUILD.glob("_native*.so")
    return core


def environment(core: Path) -> dict[str, str]:
    """What the sanitizers' runtime needs in a Python that does not know of it."""
    compiler = os.environ.get("CXX", "c++")
    # Python loads the core late: both libraries have to be there before it. libstdc++ too, else exceptions
    # are not seen.
    libraries = [_output(compiler, f"-print-file-name={name}.so") for name in ("libasan", "libstdc++")]
    return os.environ | {
        _READY: str(core),
        "LD_PRELOAD": " ".join(libraries),
        # Python never frees all it has; what the core allocates it holds in objects that free it. A request for
        # too much memory is an exception, as without sanitizers.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:detect_stack_use_after_return=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        # A report goes to the process's stderr, which pytest would keep for itself.
        "PYTEST_ADDOPTS": f"{os.environ.get('PYTEST_ADDOPTS', '')} --capture=sys",
        # Each object in memory of its own, so that reading past the end of a text is seen.
        "PYTHONMALLOC": "malloc",
    }


def run(core: str, arguments: list[str]) -> None:
    """Runs `-m module ...` or `script.py ...` with this core in the place of the installed one."""
    spec = importlib.util.spec_from_file_location(NATIVE, core)
    assert spec is not None and spec.loader is not None
    native = importlib.util.module_from_spec(spec)
    sys.modules[NATIVE] = native
    spec.loader.exec_module(native)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        runpy.run_path(arguments[0], run_name="__main__")


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: sanitized.py (-m MODULE | SCRIPT) ... | --requirements")
    if sys.argv[1] == "--requirements":
        project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
        print(*project["build-system"]["requires"])
        sys.exit()
    if _READY in os.environ:
        run(os.environ[_READY], sys.argv[1:])
    else:
        os.execve(sys.executable, [sys.executable, *sys.argv], environment(build()))
