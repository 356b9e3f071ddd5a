"""Causal attention as a torch operation: against the reference in float64, opcheck, torch.compile, what it hands on.

The arithmetic alone, on every variant and at more sizes, is tested without torch in test_native_causal_attention.py.
"""

import subprocess
import sys

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from groundup.kernels import attention
from groundup.model import ops
from groundup.model.rope import RotaryEmbedding

FLOAT32, BF16, FLOAT64 = torch.float32, torch.bfloat16, torch.float64
both_types = pytest.mark.parametrize("dtype", [FLOAT32, BF16], ids=["float32", "bf16"])


def qkv_of(*shape: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
    """With scores of size 3, so that the softmax is far from even."""
    torch.manual_seed(seed)
    return (1.7 * torch.randn(shape) + 0.3).to(dtype)


def value_and_gradient(f, qkv: Tensor) -> tuple[Tensor, Tensor]:
    """What f returns, and the gradient of a sum of that with random weights."""
    qkv = qkv.detach().requires_grad_()
    out = f(qkv)
    (gradient,) = torch.autograd.grad(out, qkv, grad_of(out))
    return out.detach(), gradient


def grad_of(out: Tensor) -> Tensor:
    """The same random weights of what comes out for every call of one shape."""
    torch.manual_seed(1)
    return torch.randn(out.shape).to(out.dtype)


def error(ours: Tensor, exact: Tensor) -> float:
    return float((ours.double() - exact).norm() / exact.norm())


@settings(deadline=None, max_examples=25)
@given(
    batch=st.integers(1, 3),
    seq=st.integers(2, 210),
    kv_heads=st.integers(1, 2),
    group=st.integers(1, 3),
    d_head=st.sampled_from([8, 16, 24, 32, 40, 64]),
    dtype=st.sampled_from([FLOAT32, BF16]),
    with_positions=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_values_and_gradients_are_those_of_the_reference(
    batch, seq, kv_heads, group, d_head, dtype, with_positions, seed
):
    heads = (group * kv_heads, kv_heads, kv_heads)
    qkv = qkv_of(batch, seq, sum(heads), d_head, dtype=dtype, seed=seed)
    rotation = RotaryEmbedding(d_head, seq).at(torch.arange(seq)[None]) if with_positions else None
    out, gradient = value_and_gradient(lambda x: attention.causal_attention(x, heads, rotation), qkv)
    exact, exact_gradient = value_and_gradient(lambda x: ops.causal_attention(x, heads, rotation), qkv.double())
    assert out.dtype == gradient.dtype == dtype
    assert error(out, exact) < (2e-6 if dtype == FLOAT32 else 0.005)
    # The gradient of the scores is the difference of dO . V and dO . O, sums in float32 with O kept in `dtype`: where
    # a query attends to hardly more than one key the two nearly cancel, and what is left is the rounding of both.
    weights = grad_of(exact).double()
    rounding = torch.finfo(dtype).eps / 2 * float((exact * weights).norm())
    values = qkv.double().split(heads, dim=2)[2]
    rounding += torch.finfo(FLOAT32).eps / 2 * float(values.norm(dim=-1).max() * weights.norm())
    reach = float(qkv.double().norm(dim=-1).max()) / d_head**0.5
    tolerance = 2e-5 if dtype == FLOAT32 else 0.01
    for ours, theirs in zip(gradient.split(heads, dim=2), exact_gradient.split(heads, dim=2), strict=True):
        assert float((ours.double() - theirs).norm()) < tolerance * float(theirs.norm()) + rounding * reach


@both_types
def test_any_leading_dimensions_and_tensors_that_are_not_dense(dtype):
    heads, rotation = (4, 2, 2), RotaryEmbedding(16, 33).at(torch.arange(33)[None])
    qkv = qkv_of(6, 33, 8, 16, dtype=dtype)
    expected = value_and_gradient(lambda x: attention.causal_attention(x, heads, rotation), qkv)

    def apart(x: Tensor) -> Tensor:
        """The same through sequences in two dimensions, of a tensor and to a gradient with gaps."""
        x = torch.stack([x, x], dim=-1)[..., 0].unflatten(0, (2, 3))
        assert not x.is_contiguous()
        return torch.stack([attention.causal_attention(x, heads, rotation).flatten(0, 1)] * 2, dim=-1)[..., 0]

    for ours, theirs in zip(value_and_gradient(apart, qkv), expected, strict=True):
        assert torch.equal(ours, theirs)
    alone = attention.causal_attention(qkv[0], heads, rotation)
    assert torch.equal(alone, expected[0][0])


def test_cosines_and_sines_with_gaps():
    heads, qkv = (2, 1, 1), qkv_of(2, 40, 4, 16, dtype=FLOAT32)
    dense = RotaryEmbedding(16, 40).at(torch.arange(40))
    expected = value_and_gradient(lambda x: attention.causal_attention(x, heads, dense), qkv)
    with_gaps = (torch.stack([dense[0], dense[0]], dim=-1)[..., 0], torch.stack([dense[1], dense[1]], dim=-1)[..., 0])
    results = value_and_gradient(lambda x: attention.causal_attention(x, heads, with_gaps), qkv)
    for ours, theirs in zip(results, expected, strict=True):
        assert torch.equal(ours, theirs)


def test_what_the_kernel_does_not_take_goes_to_the_reference():
    heads, rope = (2, 1, 1), RotaryEmbedding(8, 5)
    qkv = qkv_of(2, 5, 4, 8, dtype=FLOAT64).requires_grad_()
    rotation = rope.at(torch.arange(5)[None])
    assert torch.autograd.gradcheck(lambda x: attention.causal_attention(x, heads, rotation), qkv)
    # Each sequence at places of its own.
    places = torch.tensor([[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]])[:, None]
    qkv = qkv_of(2, 5, 4, 8, dtype=FLOAT32)
    ours = attention.causal_attention(qkv, heads, rope.at(places))
    assert torch.equal(ours, ops.causal_attention(qkv, heads, rope.at(places)))


@both_types
@pytest.mark.parametrize("with_positions", [True, False])
def test_opcheck(dtype, with_positions):
    qkv = qkv_of(2, 7, 8, 8, dtype=dtype)
    cos, sin = RotaryEmbedding(8, 7).at(torch.arange(7)) if with_positions else (None, None)
    out, log2_sum = attention._causal_attention(qkv, 2, cos, sin)
    torch.library.opcheck(attention._causal_attention, (qkv.clone().requires_grad_(), 2, cos, sin))
    arguments = (torch.randn(out.shape).to(dtype), qkv, 2, cos, sin, out, log2_sum)
    torch.library.opcheck(attention._causal_attention_backward, arguments)


def test_compiled_graphs_take_it():
    # In a process of its own: torch.compile fails over the type checks of tests. "aot_eager" needs no compiler.
    program = """
import torch
from groundup.config import ModelConfig
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM

torch.manual_seed(0)
config = ModelConfig(vocab_size=11, context_length=9, d_model=32, num_layers=2, num_heads=4, num_kv_heads=2, d_ff=8)
model = TransformerLM(config, ops=choose("cpu", torch.float32))
ids = torch.randint(0, 11, (2, 9))
results = []
for f in (model, torch.compile(model, backend="aot_eager", fullgraph=True)):
    loss = f(ids).square().mean()
    results.append([loss, *torch.autograd.grad(loss, list(model.parameters()))])
for one, other in zip(*results):
    torch.testing.assert_close(one, other)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
