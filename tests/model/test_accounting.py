"""What a model costs: the specification's numbers, real models, and what autograd really keeps."""

import pytest
import torch

from groundup.config import ModelConfig
from groundup.model import accounting
from groundup.model.transformer import TransformerLM
from groundup.model.variants import build_model
from groundup.optim.muon import orthogonalized


def gpt2(num_layers: int, d_model: int, num_heads: int, **changes) -> ModelConfig:
    shape = {"vocab_size": 50_257, "context_length": 1024, "d_ff": 4 * d_model}
    shape |= {"num_layers": num_layers, "d_model": d_model, "num_heads": num_heads}
    return ModelConfig(**{**shape, **changes})


XL = gpt2(48, 1600, 25)


@pytest.mark.parametrize(
    ("config", "parameters", "flops"),
    [
        (gpt2(12, 768, 12), 190_460_160, "3.4963e+11"),
        (gpt2(24, 1024, 16), 505_629_696, "1.0331e+12"),
        (gpt2(36, 1280, 20), 1_072_469_760, "2.2578e+12"),
        (XL, 2_127_057_600, "4.5133e+12"),
        (gpt2(48, 1600, 25, d_ff=None), 1_640_452_800, "3.5168e+12"),
    ],
    ids=["small", "medium", "large", "xl", "xl-d_ff-4288"],
)
def test_gpt2_shapes(config, parameters, flops):
    assert accounting.num_parameters(config).total == parameters
    assert f"{accounting.flops(config).total:.4e}" == flops


def test_xl_shares_and_long_context():
    shares = {name: round(100 * share, 1) for name, share in accounting.flops(XL).shares.items()}
    assert shares == {
        "qkv": 16.7,
        "scores": 3.6,
        "weighted_sum": 3.6,
        "output": 5.6,
        "feed_forward": 66.9,
        "head": 3.6,
    }
    both = accounting.flops(XL).shares
    assert round(100 * (both["scores"] + both["weighted_sum"]), 1) == 7.1
    long = accounting.flops(XL, context_length=16_384)
    assert f"{long.total:.4e}" == "1.4952e+14"
    assert round(long.total / accounting.flops(XL).total, 1) == 33.1
    assert round(100 * (long.shares["scores"] + long.shares["weighted_sum"]), 1) == 55.2


def test_xl_memory_and_time():
    assert 4 * accounting.num_parameters(XL).total / 1e9 == pytest.approx(8.51, abs=0.005)
    line = accounting.adamw_memory(XL)
    assert line.bytes_per_sequence / 1e9 == pytest.approx(15.31, abs=0.005)
    assert line.fixed_bytes / 1e9 == pytest.approx(34.03, abs=0.005)
    assert line.largest_batch(80e9) == 3
    assert line.largest_batch(30e9) == 0
    days = accounting.training_days(XL, steps=400_000, batch_size=1024, flops_per_s=19.5e12, utilization=0.5)
    assert round(days) == 6584


def test_base_configuration():
    parameters = accounting.num_parameters(ModelConfig())
    assert parameters.total == 22_696_448
    assert parameters.total - parameters.embedding == 17_576_448


@pytest.mark.parametrize("norm", ["pre", "post", "none"])
@pytest.mark.parametrize("ffn", ["swiglu", "silu"])
@pytest.mark.parametrize("kv_heads", [None, 2, 1])
@pytest.mark.parametrize("tied", [False, True])
def test_parameters_of_every_variant_equal_the_real_model(norm, ffn, kv_heads, tied):
    for qk_norm in (False, True):
        config = ModelConfig(
            vocab_size=77,
            context_length=8,
            d_model=24,
            num_layers=3,
            num_heads=4,
            num_kv_heads=kv_heads,
            norm=norm,
            ffn=ffn,
            tie_embeddings=tied,
            qk_norm=qk_norm,
        )
        with torch.device("meta"):
            model = TransformerLM(config)
        parameters = accounting.num_parameters(config)
        assert parameters.total == model.num_parameters()
        block = model.layers[0]
        attention = block.attn.qkv_weight.numel() + block.attn.output_proj.weight.numel()
        assert parameters.attention == 3 * attention
        assert parameters.feed_forward == 3 * sum(p.numel() for p in block.ffn.parameters())


OPTIONS = {"ffn": "relu2", "value_residual": True, "scale_embeddings": True, "logit_cap": 9.0, "zero_outputs": True}
OPTIONS |= {"embedding_shortcut": True}


@pytest.mark.parametrize("changes", [OPTIONS, {"value_residual": True, "num_kv_heads": 2, "tie_embeddings": True}])
def test_parameters_with_options_of_the_leaderboard_equal_the_real_model(changes):
    config = ModelConfig(vocab_size=77, context_length=8, d_model=24, num_layers=3, num_heads=4, **changes)
    model = build_model(config)
    assert accounting.num_parameters(config).total == model.num_parameters()
    assert accounting.learned_shares(config) == sum(p.numel() for n, p in model.named_parameters() if "share" in n) > 0


@pytest.mark.parametrize("changes", [{}, {"num_kv_heads": 2}, {"ffn": "relu2", "d_ff": 16}])
def test_operations_of_muon_equal_those_that_pytorch_counts(changes):
    from torch.utils.flop_counter import FlopCounterMode

    config = ModelConfig(vocab_size=77, context_length=8, d_model=24, num_layers=3, num_heads=4, **changes)
    with FlopCounterMode(display=False) as counter:
        for block in build_model(config).layers:
            heights = [heads * block.attn.d_head for heads in block.attn.heads]
            matrices = [block.attn.output_proj.weight, *block.attn.qkv_weight.split(heights), *block.ffn.parameters()]
            for matrix in matrices:
                orthogonalized(matrix.detach())
    assert counter.get_total_flops() == accounting.muon_flops(config)


@pytest.mark.parametrize("changes", [{}, {"num_kv_heads": 2}, {"ffn": "silu"}, OPTIONS, OPTIONS | {"num_kv_heads": 1}])
def test_flops_equal_those_that_pytorch_counts(changes):
    from torch.utils.flop_counter import FlopCounterMode

    config = ModelConfig(vocab_size=77, context_length=8, d_model=24, num_layers=3, num_heads=4, **changes)
    with FlopCounterMode(display=False) as counter:
        logits = build_model(config)(torch.randint(0, 77, (5, 6)))
        forward = counter.get_total_flops()
        logits.sum().backward()
    assert forward == accounting.flops(config, context_length=6, batch_size=5).total
    assert counter.get_total_flops() == 3 * forward
