"""Our training step in several ways on the base model: time, memory and page faults.

    python benchmarks/step.py --threads 2 --rounds 5          time, in turns in one process
    python benchmarks/step.py --memory --batch-size 32        memory, each way in a process of its own

The readable reference, the operations of kernels/ module by module, and the one function of kernels/standard_model.py,
the last two also with activations computed again in backward. Time (with one thread, processor time holds on a busy
machine): each has a model of its own with the same weights
and batch; prints median seconds, tokens per second, and the part of the time that the same matrix products take when
nothing else is done. Memory: the most that the process ever held, less what it held before there was a model; pages
that the system had to give per step, and the part of the processor's time spent there and elsewhere in the system.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import torch
from bench.step_ways import CHECKPOINTED, DTYPES, MODULES, PRODUCTS, REFERENCE, SHAPE, WAYS, products_of, step_of

from groundup import _native
from groundup.environment import peak_memory_bytes
from groundup.training.products import fast_products

STEPS = 2  # measured for memory, after one to warm up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--precision", choices=DTYPES, default="float32")
    parser.add_argument("--processor-time", action="store_true", help="count the seconds of this process alone")
    parser.add_argument("--memory", action="store_true", help="memory and page faults, not time")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=None, help="only these")
    parser.add_argument("--alone", choices=WAYS, help="print the memory of one way as JSON; for this script itself")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.alone:
        print(json.dumps(memory_of(options.alone, options.precision, options.batch_size)))
        return
    print(f"{_native.kernel_variants()[0]}, {options.threads} threads, torch {torch.__version__}, {options.precision}")
    print(f"batch {options.batch_size} x {SHAPE.context_length}")
    if options.memory:
        print_memory(options)
    else:
        print_times(options)


def print_times(options: argparse.Namespace) -> None:
    clock = time.process_time if options.processor_time else time.perf_counter
    ways = options.ways or [way for way in WAYS if way != MODULES + CHECKPOINTED]
    dtype, ids = DTYPES[options.precision], some_ids(options.batch_size)
    tokens = options.batch_size * SHAPE.context_length
    calls: dict[str, Callable[[], object]] = {way: step_of(way, dtype, ids).seconds for way in ways}
    calls[PRODUCTS] = products_of(tokens, dtype)
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(options.rounds + 1):
        for name, call in calls.items():
            with fast_products("cpu", wanted=name != REFERENCE):  # as in training
                start = clock()
                call()
                seconds[name].append(clock() - start)
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    base = next(iter(medians))
    print(f"median of {options.rounds}, after one to warm up")
    print(f"| step | seconds | low to high | tokens/s | times {base} | products' part |\n|---|---|---|---|---|---|")
    for name, median in medians.items():
        ratio = statistics.median(one / other for one, other in zip(seconds[base][1:], seconds[name][1:], strict=True))
        part, low, high = medians[PRODUCTS] / median, min(seconds[name][1:]), max(seconds[name][1:])
        print(
            f"| {name} | {median:.3f} | {low:.3f} to {high:.3f} | {tokens / median:,.0f} | {ratio:.2f} | {part:.0%} |"
        )


def print_memory(options: argparse.Namespace) -> None:
    print("| step | peak MB | of it before the model | pages given per step | processor's time in the system |")
    print("|---|---|---|---|---|")
    for way in options.ways or WAYS:
        command = [sys.executable, __file__, "--alone", way, "--precision", options.precision]
        command += ["--batch-size", str(options.batch_size), "--threads", str(options.threads)]
        found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        peak, before = found["peak_bytes"] / 1e6, found["before_bytes"] / 1e6
        print(
            f"| {way} | {peak:,.0f} | {before:,.0f} | {found['faults']:,.0f} | {found['system_share']:.1%} |",
            flush=True,
        )


def memory_of(way: str, precision: str, batch_size: int) -> dict[str, float]:
    """What this process, which has done nothing else, needs for some steps."""
    before = peak_memory_bytes()
    with fast_products("cpu", wanted=way != REFERENCE):
        step = step_of(way, DTYPES[precision], some_ids(batch_size)).seconds
        step()
        start = resource.getrusage(resource.RUSAGE_SELF)
        for _ in range(STEPS):
            step()
        end = resource.getrusage(resource.RUSAGE_SELF)
    system_s, user_s = end.ru_stime - start.ru_stime, end.ru_utime - start.ru_utime
    return {
        "peak_bytes": peak_memory_bytes(),
        "before_bytes": before,
        "faults": (end.ru_minflt - start.ru_minflt) / STEPS,
        "system_share": system_s / (system_s + user_s),
    }


def some_ids(batch_size: int) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randint(SHAPE.vocab_size, (batch_size, SHAPE.context_length + 1))


if __name__ == "__main__":
    main()
