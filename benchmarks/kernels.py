"""The native kernels against torch's own functions, on the shapes of the base model, in one process.

    python benchmarks/kernels.py --threads 1 --processor-time

Prints a table: median milliseconds of ours, and how many times as long torch takes, calls interleaved. Results
are compared in tests/kernels. With one thread, processor time says the same as time, and holds on a busy machine.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn import functional as F

from groundup import _native
from groundup.kernels import attention, gates, lookup, loss, norm, update
from groundup.kernels.update import Update

ROWS, D_MODEL, D_FF, VOCAB_SIZE, NUM_PARAMETERS = 2048, 512, 1344, 10_000, 22_700_000
NUM_HEADS, D_HEAD = 16, 32
Call = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--processor-time", action="store_true", help="count the seconds of this process alone")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.processor_time else time.perf_counter
    print(f"{_native.kernel_variants()[0]}, {options.threads} threads, torch {torch.__version__}")
    print("| kernel | values | ours, ms | torch, times ours |\n|---|---|---|---|")
    for dtype in (torch.float32, torch.bfloat16):
        for name, ours, theirs in pairs(dtype):
            our_s, their_s = race([ours, theirs], options.repeats, clock)
            values = str(dtype).removeprefix("torch.")
            print(f"| {name} | {values} | {1e3 * our_s:.2f} | {their_s / our_s:.1f} |", flush=True)


def race(calls: list[Call], repeats: int, clock: Callable[[], float]) -> list[float]:
    """The median seconds of each, called in turns after one call to warm up."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats + 1):
        for call, its_times in zip(calls, times, strict=True):
            start = clock()
            call()
            its_times.append(clock() - start)
    return [statistics.median(its_times[1:]) for its_times in times]


def pairs(dtype: torch.dtype) -> Iterator[tuple[str, Call, Call]]:
    """(name, ours, torch's) of each kernel; what is summed, normed or updated is float32."""
    torch.manual_seed(0)
    x, change, gain = torch.randn(ROWS, D_MODEL), torch.randn(ROWS, D_MODEL).to(dtype), torch.rand(D_MODEL) + 0.5

    def torch_norm(x: Tensor, change: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
        total = x + change
        return total, F.rms_norm(total, (D_MODEL,), gain, 1e-5).to(dtype)

    def our_norm(x: Tensor, change: Tensor, gain: Tensor) -> tuple[Tensor, Tensor]:
        return norm.add_rms_norm(x, change, gain, 1e-5)

    yield from both_passes("residual + RMSNorm", our_norm, torch_norm, [x, change, gain])

    both = torch.randn(ROWS, 2 * D_FF).to(dtype)
    for batch, seq in ((8, 256), (2, 1024), (1, 4096)):
        qkv = torch.randn(batch, seq, 3 * NUM_HEADS, D_HEAD).to(dtype)
        yield from both_passes(f"causal attention, {batch} x {seq}", our_attention, torch_attention, [qkv])

    yield from both_passes("SwiGLU", gates.swiglu_of_halves, lambda z: F.silu(z[:, :D_FF]) * z[:, D_FF:], [both])

    logits, ids = torch.randn(ROWS, VOCAB_SIZE).to(dtype), torch.randint(VOCAB_SIZE, (ROWS,))
    yield from both_passes(
        "cross-entropy", lambda z: loss.cross_entropy(z, ids), lambda z: F.cross_entropy(z.float(), ids), [logits]
    )
    weight = torch.randn(VOCAB_SIZE, D_MODEL).to(dtype)
    yield from both_passes("embedding", lambda w: lookup.embedding(ids, w), lambda w: F.embedding(ids, w), [weight])

    gradient = torch.randn(NUM_PARAMETERS)
    ours, theirs = torch.randn(NUM_PARAMETERS), torch.nn.Parameter(torch.randn(NUM_PARAMETERS))
    theirs.grad = gradient
    copy = None if dtype == torch.float32 else torch.empty(NUM_PARAMETERS, dtype=dtype)
    one = Update(ours, torch.zeros_like(ours), torch.zeros_like(ours), gradient, 1e-3, 0.1, 1, copy)
    optimizer = torch.optim.AdamW([theirs], lr=1e-3, weight_decay=0.1, fused=True)

    def torch_step() -> None:
        optimizer.step()
        if copy is not None:
            copy.copy_(theirs.detach())

    yield "AdamW (torch: fused)", lambda: update.adamw([one], betas=(0.9, 0.95), eps=1e-8), torch_step
    typed = gradient.to(dtype)
    yield "global norm", lambda: update.global_norm([typed]), lambda: torch.linalg.vector_norm(typed)


def our_attention(qkv: Tensor) -> Tensor:
    return attention.causal_attention(qkv, (NUM_HEADS, NUM_HEADS, NUM_HEADS))


def torch_attention(qkv: Tensor) -> Tensor:
    q, k, v = qkv.transpose(1, 2).chunk(3, dim=1)
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def both_passes(
    name: str, ours: Callable[..., object], theirs: Callable[..., object], tensors: list[Tensor]
) -> Iterator[tuple[str, Call, Call]]:
    with torch.no_grad():
        yield f"{name}, forward", lambda: ours(*tensors), lambda: theirs(*tensors)
    tensors = [tensor.clone().requires_grad_() for tensor in tensors]
    calls = []
    for function in (ours, theirs):
        found = function(*tensors)
        outputs = found if isinstance(found, tuple) else (found,)
        gradients = [torch.ones_like(output) for output in outputs]
        calls.append(lambda o=outputs, g=gradients: torch.autograd.grad(o, tensors, g, retain_graph=True))
    yield f"{name}, backward", *calls


if __name__ == "__main__":
    main()
