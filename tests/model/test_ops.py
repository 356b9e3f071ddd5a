"""The functions of the model against PyTorch's own, and where they could overflow or divide by zero."""

import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional as F

from groundup.model import ops
from groundup.model.rope import rotate

# Different order of the same float32 sums of at most a few hundred terms of size 1.
CLOSE = {"rtol": 1e-5, "atol": 2e-6}


def away_from_one(*shape: int) -> Tensor:
    """Gains as training makes them: a backward pass that forgets one is not seen at 1."""
    return 0.5 + 2 * torch.rand(shape)


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 1, 3, 2)])
def test_linear_embedding_and_norm_take_any_leading_dimensions(leading):
    torch.manual_seed(0)
    x, weight, gain = torch.randn(*leading, 6), torch.randn(4, 6), away_from_one(6)
    ids = torch.randint(0, 4, leading)
    torch.testing.assert_close(ops.linear(x, weight), F.linear(x, weight), **CLOSE)
    torch.testing.assert_close(ops.embedding(ids, weight), F.embedding(ids, weight))
    torch.testing.assert_close(ops.rms_norm(x, gain, 1e-5), F.rms_norm(x, (6,), gain, 1e-5), **CLOSE)
    torch.testing.assert_close(ops.silu(x), F.silu(x), **CLOSE)
    torch.testing.assert_close(ops.swiglu(x, x + 1), F.silu(x) * (x + 1), **CLOSE)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax(dim):
    torch.manual_seed(0)
    x = 30 * torch.randn(3, 4, 5)
    torch.testing.assert_close(ops.softmax(x, dim), F.softmax(x, dim), **CLOSE)
    torch.testing.assert_close(ops.softmax(x + 1e4, dim), F.softmax(x + 1e4, dim), **CLOSE)


def test_norm_and_softmax_compute_wide_and_return_the_type_given():
    x = torch.tensor([[1000.0, -2000.0, 500.0, 250.0]], dtype=torch.float16)  # squares overflow float16
    normed = ops.rms_norm(x, torch.ones(4, dtype=torch.float16), 1e-5)
    assert normed.dtype == torch.float16
    torch.testing.assert_close(normed.float(), F.rms_norm(x.float(), (4,), eps=1e-5), rtol=1e-3, atol=1e-3)
    many = torch.zeros(4096, dtype=torch.bfloat16)  # a sum in bf16 would stop growing at 256
    assert ops.softmax(many, 0).dtype == torch.bfloat16
    torch.testing.assert_close(ops.softmax(many, 0).float(), torch.full((4096,), 2.0**-12))


def test_norm_gradient_away_from_the_initial_values():
    torch.manual_seed(0)
    x = (3 * torch.randn(2, 3, 5, dtype=torch.float64) + 1).requires_grad_()
    gain = away_from_one(5).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x, gain: ops.rms_norm(x, gain, 1e-5), (x, gain))
    tiny = (1e-3 * torch.randn(2, 5, dtype=torch.float64)).requires_grad_()  # where eps matters
    assert torch.autograd.gradcheck(lambda x, gain: ops.rms_norm(x, gain, 1e-5), (tiny, gain))


@settings(max_examples=30, deadline=None)
@given(
    leading=st.lists(st.integers(1, 3), max_size=3),
    queries=st.integers(1, 7),
    keys=st.integers(1, 7),
    widths=st.tuples(st.integers(1, 5), st.integers(1, 5)),
    seed=st.integers(0, 10_000),
)
def test_attention_equals_pytorch(leading, queries, keys, widths, seed):
    torch.manual_seed(seed)
    q, k = 3 * torch.randn(*leading, queries, widths[0]), torch.randn(*leading, keys, widths[0])
    v = torch.randn(*leading, keys, widths[1])
    mask = torch.rand(queries, keys) < 0.6
    mask[:, 0] = True  # PyTorch's answer for an empty row is not ours
    ours = ops.scaled_dot_product_attention(q, k, v, mask)
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v, mask), **CLOSE)
    ours = ops.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(ours, F.scaled_dot_product_attention(q, k, v), **CLOSE)


def test_attention_is_the_formula_with_softmax():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 3, 5, 4) for _ in range(3))
    weights = ops.softmax(q @ k.mT / 2, dim=-1)
    torch.testing.assert_close(ops.scaled_dot_product_attention(q, k, v), weights @ v, **CLOSE)


def test_causal_attention_and_groups_of_heads_equal_pytorch():
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 6, 5, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
    ours = ops.scaled_dot_product_attention(q, k, v, causal=True)
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(ours, theirs, **CLOSE)


@pytest.mark.parametrize("with_positions", [True, False])
def test_causal_attention_from_fused_projections_equals_pytorch(with_positions):
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 6, 5, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 4)
    fused = torch.cat([x.transpose(1, 2) for x in (q, k, v)], dim=2)  # (batch, seq, all heads, d_head)
    rotation = (torch.rand(1, 5, 2), torch.rand(1, 5, 2)) if with_positions else None
    if rotation is not None:
        q, k = rotate(q, *rotation), rotate(k, *rotation)
    theirs = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    torch.testing.assert_close(ops.causal_attention(fused, (6, 2, 2), rotation), theirs.transpose(1, 2), **CLOSE)


def test_attention_mask_may_have_more_leading_dimensions_than_the_scores():
    torch.manual_seed(0)
    q, k, v = (torch.randn(5, 4) for _ in range(3))
    masks = torch.rand(3, 5, 5) < 0.5
    masks[..., 0] = True
    theirs = F.scaled_dot_product_attention(q.expand(3, 5, 4), k.expand(3, 5, 4), v.expand(3, 5, 4), masks)
    torch.testing.assert_close(ops.scaled_dot_product_attention(q, k, v, masks), theirs, **CLOSE)


def test_leading_dimensions_broadcast():
    torch.manual_seed(0)
    q, one, two = torch.randn(2, 5, 4), torch.randn(3, 4), torch.randn(1, 3, 4)
    for x, k in ((q, one), (q, two), (two, q), (one, q)):
        x_all, k_all = x.expand(2, *x.shape[-2:]), k.expand(2, *k.shape[-2:])
        expected = F.scaled_dot_product_attention(x_all, k_all, k_all)
        torch.testing.assert_close(ops.scaled_dot_product_attention(x, k, k), expected, **CLOSE)


def test_a_query_without_keys_gets_zeros_and_gives_zero_gradients():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 3, requires_grad=True) for _ in range(3))
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[1] = False
    out = ops.scaled_dot_product_attention(q, k, v, mask)
    assert (out[:, 1] == 0).all() and (out[:, 0] != 0).any()
    out.square().sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (q, k, v))
    assert q.grad is not None and (q.grad[:, 1] == 0).all()
    nothing = ops.scaled_dot_product_attention(q, k, v, torch.zeros(4, 4, dtype=torch.bool))
    assert (nothing == 0).all()


def test_attention_gradient_with_masks_and_empty_rows():
    torch.manual_seed(0)
    q, k, v = ((2 * torch.randn(2, 4, 3, dtype=torch.float64)).requires_grad_() for _ in range(3))
    mask = torch.rand(4, 4) < 0.6
    mask[2] = False
    mask[3] = torch.tensor([False, True, False, False])  # a single key: its weight is 1 whatever the score
    assert torch.autograd.gradcheck(lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, mask), (q, k, v))
    assert torch.autograd.gradcheck(lambda q, k, v: ops.scaled_dot_product_attention(q, k, v, causal=True), (q, k, v))


def test_attention_with_huge_scores_stays_finite():
    q = torch.full((1, 3, 4), 1e4, requires_grad=True)
    out = ops.scaled_dot_product_attention(q, q, q, causal=True)
    out.sum().backward()
    assert out.isfinite().all() and q.grad is not None and q.grad.isfinite().all()


def test_attention_in_bf16_is_as_close_as_its_inputs():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 32, 8).bfloat16() for _ in range(3))
    ours = ops.scaled_dot_product_attention(q, k, v, causal=True)
    exact = ops.scaled_dot_product_attention(q.double(), k.double(), v.double(), causal=True)
    assert ours.dtype == torch.bfloat16
    torch.testing.assert_close(ours.double(), exact, rtol=0, atol=0.03)  # 8 bits of inputs near 3


def test_dropout_keeps_the_mean_and_does_nothing_at_zero():
    torch.manual_seed(0)
    x = torch.ones(200, 500)
    assert ops.dropout(x, 0.0) is x
    dropped = ops.dropout(x, 0.2)
    assert set(dropped.unique().tolist()) == {0.0, 1.25}
    assert (dropped == 0).float().mean() == pytest.approx(0.2, abs=0.005)  # 4 standard errors of 100,000 draws


def test_attention_drops_weights_not_outputs():
    torch.manual_seed(0)
    q, k, v = torch.zeros(1, 1000, 4), torch.zeros(1, 2, 4), torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
    out = ops.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    assert set(out.unique().tolist()) == {0.0, 1.0}  # each weight 1/2, dropped or doubled
    assert out.mean() == pytest.approx(0.5, abs=0.05)


def test_mixed_products_are_narrow_and_gradients_wide():
    torch.manual_seed(0)
    x, weight = torch.randn(64, 32, requires_grad=True), torch.randn(16, 32, requires_grad=True)
    y = ops.mixed(torch.bfloat16).linear(x, weight)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y.float(), x @ weight.mT, rtol=0.02, atol=0.1)
    y.float().square().sum().backward()
    for tensor in (x, weight):
        assert tensor.grad is not None and tensor.grad.dtype == torch.float32


def test_ops_travel_to_other_processes():
    again = pickle.loads(pickle.dumps(ops.mixed(torch.bfloat16)))
    assert again.linear(torch.ones(1, 2), torch.ones(1, 2)).dtype == torch.bfloat16
    assert pickle.loads(pickle.dumps(ops.REFERENCE)) == ops.REFERENCE
