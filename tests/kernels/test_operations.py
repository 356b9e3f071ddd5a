"""The kernels as torch operations: values and gradients against the reference in float64, opcheck, torch.compile.

Sizes are odd, gains away from 1. The arithmetic alone is tested without torch in test_native_*.py.
"""

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from groundup import _native
from groundup.kernels import gates, lookup, loss, norm
from groundup.model import loss as reference_loss
from groundup.model import ops

FLOAT32, BF16, FLOAT64 = torch.float32, torch.bfloat16, torch.float64
both_types = pytest.mark.parametrize("dtype", [FLOAT32, BF16], ids=["float32", "bf16"])
ROWS, WIDTH, VOCAB_SIZE = (3, 7), 37, 29


def halves(both: Tensor) -> tuple[Tensor, ...]:
    return both.chunk(2, dim=-1)


def weight_of_norm() -> Tensor:
    return 0.5 + 2 * torch.rand(WIDTH)


def case(name: str, dtype: torch.dtype):
    """(operation, its oracle, float tensors, integer tensors): one test case."""
    torch.manual_seed(0)
    x, y = 3 * torch.randn(*ROWS, WIDTH) + 1, torch.randn(*ROWS, WIDTH).to(dtype)
    ids = torch.randint(0, VOCAB_SIZE, ROWS)
    head = torch.randn(VOCAB_SIZE, WIDTH)
    if name == "rms_norm":
        return lambda x, w: norm.rms_norm(x, w, 1e-5), lambda x, w: ops.rms_norm(x, w, 1e-5), [x, weight_of_norm()]
    if name == "add_rms_norm":

        def exactly(x: Tensor, y: Tensor, w: Tensor):
            return x + y, ops.rms_norm(x + y, w, 1e-5)

        return lambda *xs: norm.add_rms_norm(*xs, 1e-5), exactly, [x, y, weight_of_norm()]
    if name == "silu":
        return gates.silu, ops.silu, [3 * y]
    if name == "swiglu":
        return gates.swiglu, ops.swiglu, [3 * y, x.to(dtype)]
    if name == "swiglu_of_halves":
        both = torch.randn(*ROWS, 2 * WIDTH).to(dtype)
        return gates.swiglu_of_halves, lambda both: ops.swiglu(*halves(both)), [both]
    if name == "cross_entropy":
        logits = 3 * torch.randn(*ROWS, VOCAB_SIZE).to(dtype)
        return lambda z: loss.cross_entropy(z, ids), lambda z: reference_loss.cross_entropy(z, ids), [logits]
    if name == "embedding":
        return lambda w: lookup.embedding(ids, w), lambda w: ops.embedding(ids, w), [head.to(dtype)]
    assert name in ("linear_cross_entropy", "linear_cross_entropy_in_parts")

    def linear_loss(x: Tensor, w: Tensor) -> Tensor:
        hold = name == "linear_cross_entropy"
        return loss.linear_cross_entropy(x, w, ids, dtype=dtype, rows_at_once=5, hold_gradient=hold)

    return linear_loss, lambda x, w: reference_loss.cross_entropy(ops.linear(x, w), ids), [0.3 * x.to(dtype), head]


CASES = [
    *("rms_norm", "add_rms_norm", "silu", "swiglu", "swiglu_of_halves"),
    *("cross_entropy", "linear_cross_entropy", "linear_cross_entropy_in_parts", "embedding"),
]


def values_and_gradients(operation, tensors: list[Tensor]) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """What it returns, and the gradients of a sum of that with random weights."""
    tensors = [tensor.clone().requires_grad_() for tensor in tensors]
    outputs = operation(*tensors)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    torch.manual_seed(1)
    total = sum((output * torch.randn(output.shape).to(output.dtype)).sum() for output in outputs)
    assert isinstance(total, Tensor)
    return outputs, torch.autograd.grad(total, tensors)


# Rounding to float32 is off by 2^-24 and to bf16 by 2^-9 at most, as a part of the value; a gradient is rounded on its
# way more than once.
VALUE_ERROR, GRADIENT_ERROR = {FLOAT32: 1e-6, BF16: 0.005}, {FLOAT32: 1e-5, BF16: 0.01}


def error(ours: Tensor, exact: Tensor) -> float:
    return float((ours.detach().double() - exact.detach()).norm() / exact.detach().norm())


@both_types
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_the_reference(name, dtype, variant):
    operation, oracle, tensors = case(name, dtype)
    ours, gradients = values_and_gradients(operation, tensors)
    exact, exact_gradients = values_and_gradients(oracle, [tensor.double() for tensor in tensors])
    for one, other in zip(ours, exact, strict=True):
        assert error(one, other) < VALUE_ERROR[dtype]
    for tensor, one, other in zip(tensors, gradients, exact_gradients, strict=True):
        assert one.dtype == tensor.dtype
        assert error(one, other) < GRADIENT_ERROR[dtype]


@both_types
@pytest.mark.parametrize("name", CASES)
def test_tensors_need_not_be_dense(name, dtype):
    operation, _, tensors = case(name, dtype)
    apart = [torch.stack([tensor, tensor], dim=-1)[..., 0] for tensor in tensors]
    assert not apart[0].is_contiguous()
    dense, sparse = values_and_gradients(operation, tensors), values_and_gradients(operation, apart)
    for one, other in zip(dense, sparse, strict=True):
        for a, b in zip(one, other, strict=True):
            torch.testing.assert_close(a, b, rtol=0, atol=0)


def operations(dtype: torch.dtype):
    """Each registered operation with arguments."""
    torch.manual_seed(0)
    x, y = torch.randn(*ROWS, WIDTH), torch.randn(*ROWS, WIDTH).to(dtype)
    ids, head, weight = torch.randint(0, VOCAB_SIZE, ROWS), torch.randn(VOCAB_SIZE, WIDTH), weight_of_norm()
    rms, sums, logits = torch.rand(ROWS) + 0.5, torch.randn(ROWS) + 4, torch.randn(*ROWS, VOCAB_SIZE).to(dtype)
    x, y, head, weight, logits = (tensor.requires_grad_() for tensor in (x, y, head, weight, logits))
    both = torch.randn(*ROWS, 2 * WIDTH).to(dtype).requires_grad_()
    return {
        norm._rms_norm: (x, weight, 1e-5),
        norm._add_rms_norm: (x, y, weight, 1e-5),
        norm._rms_norm_backward: (y.detach(), x.detach(), rms, weight.detach(), None),
        gates._silu: (y,),
        gates._silu_backward: (y.detach(), y.detach()),
        gates._swiglu: (y, y.detach().clone().requires_grad_()),
        gates._swiglu_backward: (y.detach(), y.detach(), y.detach()),
        gates._swiglu_of_halves: (both,),
        gates._swiglu_of_halves_backward: (y.detach(), both.detach()),
        loss._cross_entropy: (logits, ids),
        loss._cross_entropy_backward: (torch.tensor(1.0), logits.detach(), ids, sums),
        loss._linear_cross_entropy: (y, head, ids, dtype, 5, True),
        loss._linear_cross_entropy_loss: (y.detach(), head.detach(), ids, dtype, 5),
        lookup._embedding: (ids, head.detach().to(dtype).requires_grad_()),
        lookup._embedding_backward: (y.detach(), ids, VOCAB_SIZE),
    }


@both_types
def test_opcheck(dtype):
    for operation, arguments in operations(dtype).items():
        torch.library.opcheck(operation, arguments)


def test_what_kernels_do_not_take_goes_to_the_reference():
    x, weight = torch.randn(3, 5, dtype=FLOAT64, requires_grad=True), torch.ones(5, dtype=FLOAT64)
    assert torch.autograd.gradcheck(lambda x: norm.rms_norm(x, weight, 1e-5), x)
    assert torch.autograd.gradcheck(gates.silu, x)
    assert torch.autograd.gradcheck(gates.swiglu, (x, x))
    assert torch.autograd.gradcheck(lambda x: loss.cross_entropy(x, torch.tensor([0, 4, 2])), x)
    assert torch.autograd.gradcheck(lambda x: lookup.embedding(torch.tensor([0, 2, 0]), x), x)


@pytest.mark.parametrize("name", CASES)
def test_second_derivatives_are_refused_not_wrong(name):
    operation, _, tensors = case(name, FLOAT32)
    tensors = [tensor.clone().requires_grad_() for tensor in tensors]
    outputs = operation(*tensors)
    total = sum(output.square().sum() for output in (outputs if isinstance(outputs, tuple) else (outputs,)))
    assert isinstance(total, Tensor)
    with pytest.raises(RuntimeError, match=r"no autograd formula was registered|has no second derivative"):
        gradient = torch.autograd.grad(total, tensors[-1], create_graph=True)[0]
        torch.autograd.grad(gradient.square().sum(), tensors[-1])


def test_targets_of_other_types_and_shapes():
    hidden, head, targets = torch.randn(2, 3, 5), torch.randn(7, 5), torch.randint(0, 7, (2, 3))
    expected = ops.linear_cross_entropy(hidden, head, targets)
    torch.testing.assert_close(loss.linear_cross_entropy(hidden, head, targets.int()), expected)
    with pytest.raises(AssertionError):
        loss.linear_cross_entropy(hidden, head, targets.mT)
    with pytest.raises(AssertionError):
        gates.swiglu_of_halves(torch.randn(2, 5))


def test_kernels_run_on_the_threads_of_torch():
    assert _native.has_openmp_threads()


def test_ids_outside_the_vocabulary_are_refused():
    with pytest.raises(IndexError, match="id 5 at place 1"):
        loss.cross_entropy(torch.randn(2, 5), torch.tensor([0, 5]))
    with pytest.raises(IndexError, match="id -1 at place 0"):
        lookup.embedding(torch.tensor([-1]), torch.randn(2, 5))


def test_the_loss_alone_is_the_same():
    operation, _, tensors = case("linear_cross_entropy", BF16)
    with torch.no_grad():
        alone = operation(*tensors)
    torch.testing.assert_close(alone, values_and_gradients(operation, tensors)[0][0].detach(), rtol=0, atol=0)


def test_compiled_graphs_take_them():
    # In a process of its own: torch.compile fails over the type checks of tests. "aot_eager" needs no compiler.
    program = """
import torch
from groundup import _native
from groundup.kernels import gates, lookup, loss, norm

def step(ids, weight, gain):
    x = lookup.embedding(ids, weight)
    total, normed = norm.add_rms_norm(x, gates.swiglu(x, norm.rms_norm(x, gain, 1e-5)), gain, 1e-5)
    return loss.linear_cross_entropy(normed, weight, ids) + loss.cross_entropy(total @ weight.mT, ids)

torch.manual_seed(0)
ids, weight, gain = torch.randint(0, 11, (2, 5)), torch.randn(11, 6), torch.rand(6) + 0.5
results = []
for f in (step, torch.compile(step, backend="aot_eager", fullgraph=True)):
    inputs = [weight.clone().requires_grad_(), gain.clone().requires_grad_()]
    value = f(ids, *inputs)
    results.append([value, *torch.autograd.grad(value, inputs)])
for one, other in zip(*results):
    torch.testing.assert_close(one, other)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
