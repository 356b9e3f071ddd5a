"""The attention layer against PyTorch's, its fused weight under three names, and groups of heads."""

import copy

import pytest
import torch
from safetensors.torch import load, save
from torch import nn

from groundup.model.attention import CausalSelfAttention
from groundup.model.rope import RotaryEmbedding

NAMES = ["q_proj.weight", "k_proj.weight", "v_proj.weight", "output_proj.weight"]


def test_equals_pytorch_multi_head_attention():
    torch.manual_seed(0)
    ours = CausalSelfAttention(12, 3)
    theirs = nn.MultiheadAttention(12, 3, bias=False, batch_first=True)
    weights = ours.state_dict()
    theirs.in_proj_weight.data = torch.cat([weights[name] for name in NAMES[:3]])
    theirs.out_proj.weight.data = weights["output_proj.weight"]
    x = torch.randn(2, 7, 12)
    forbidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
    expected, _ = theirs(x, x, x, attn_mask=forbidden, need_weights=False)
    torch.testing.assert_close(ours(x), expected, rtol=1e-5, atol=1e-6)


def test_groups_of_heads_equal_repeated_heads():
    torch.manual_seed(0)
    grouped, full = CausalSelfAttention(16, 4, 2), CausalSelfAttention(16, 4)
    weights = grouped.state_dict()
    for name in ("k_proj.weight", "v_proj.weight"):
        weights[name] = weights[name].unflatten(0, (2, 4)).repeat_interleave(2, dim=0).flatten(0, 1)
    full.load_state_dict(weights)
    x, rotation = torch.randn(2, 5, 16), RotaryEmbedding(4, 5).at(torch.arange(5))
    torch.testing.assert_close(grouped(x, rotation), full(x, rotation), rtol=1e-5, atol=1e-6)


def test_each_projection_starts_with_its_own_deviation():
    torch.manual_seed(0)
    weights = CausalSelfAttention(256, 8, 2).state_dict()
    for name, rows in zip(NAMES, (256, 64, 64, 256), strict=True):
        assert weights[name].shape == (rows, 256)
        expected = 0.9866 * (2 / (256 + rows)) ** 0.5  # cut at three deviations
        assert weights[name].std().item() == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("settings", [{}, {"num_kv_heads": 2, "qk_norm": True}])
def test_weights_are_saved_and_loaded_under_three_names(settings):
    source, target = CausalSelfAttention(16, 4, **settings), CausalSelfAttention(16, 4, **settings)
    weights = source.state_dict()
    norms = ["q_norm.weight", "k_norm.weight"] if settings else []
    assert list(weights) == [*NAMES, *norms]
    before = dict(weights)
    target.load_state_dict(load(save(weights)))  # through safetensors, which is strict about shared memory
    assert torch.equal(target.qkv_weight, source.qkv_weight)
    assert dict(weights) == before  # the caller's dictionary is left alone
    again = copy.deepcopy(target)
    assert list(again.state_dict()) == list(weights)


def test_loading_reports_the_public_names():
    layer = CausalSelfAttention(8, 2)
    weights = layer.state_dict()
    value = weights.pop("v_proj.weight")
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "v_proj.weight"\. *$'):
        layer.load_state_dict(weights)
    weights["v_proj.weight"] = value[:4]
    with pytest.raises(RuntimeError, match=r"size mismatch for v_proj.weight: \(4, 8\), not \(8, 8\)"):
        layer.load_state_dict(weights)
    with pytest.raises(RuntimeError, match=r'Unexpected key\(s\) in state_dict: "z_proj.weight"'):
        layer.load_state_dict({**layer.state_dict(), "z_proj.weight": value})


def test_loading_one_projection_keeps_the_others():
    layer = CausalSelfAttention(8, 2)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    report = layer.load_state_dict({"k_proj.weight": torch.zeros(8, 8)}, strict=False)
    assert report.missing_keys == ["q_proj.weight", "v_proj.weight", "output_proj.weight"]
    after = layer.state_dict()
    assert (after["k_proj.weight"] == 0).all()
    assert torch.equal(after["q_proj.weight"], before["q_proj.weight"])
    assert torch.equal(after["v_proj.weight"], before["v_proj.weight"])


def test_qk_norm_makes_scores_independent_of_the_size_of_queries():
    torch.manual_seed(0)
    layer, x = CausalSelfAttention(8, 2, qk_norm=True, norm_eps=1e-12), torch.randn(1, 5, 8)
    before = layer(x)
    weights = layer.state_dict()
    layer.load_state_dict({**weights, "q_proj.weight": 7 * weights["q_proj.weight"]})
    torch.testing.assert_close(layer(x), before, rtol=1e-5, atol=1e-6)


def test_dropout_acts_in_training_only():
    torch.manual_seed(0)
    layer, x = CausalSelfAttention(8, 2, dropout=0.5), torch.randn(1, 9, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))
