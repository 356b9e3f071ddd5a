"""Packed weights, and which models the native decoder takes."""

import dataclasses

import pytest
import torch

from groundup.config import ModelConfig
from groundup.errors import ConfigError
from groundup.kernels import decoding
from groundup.kernels.decoding import PANEL, Decoder, check_weights, decoder_of, pack, refusal
from groundup.model.layers import Linear, SwiGLU
from groundup.model.ops import mixed
from groundup.model.rope import RotaryEmbedding
from groundup.model.transformer import Block, TransformerLM
from groundup.model.variants import build_model

CONFIG = ModelConfig(vocab_size=50, context_length=16, d_model=24, num_layers=1, num_heads=2, d_ff=20)


def unpacked(panels):
    """(outputs, inputs), with the rows that fill up the last panel; of int8 also with the half of a last pair."""
    return panels.transpose(1, 2).flatten(2).flatten(0, 1).float()


@pytest.mark.parametrize("outputs", [1, 31, 32, 33, 70])
def test_panels_hold_the_matrix_and_end_in_zeros(outputs):
    matrix = torch.randn(outputs, 5)
    panels, scales = pack(matrix, "float32")
    assert scales is None and panels.shape == (-(-outputs // PANEL), 5, PANEL)
    assert torch.equal(unpacked(panels)[:outputs], matrix) and not unpacked(panels)[outputs:].any()
    assert torch.equal(unpacked(pack(matrix, "bf16")[0])[:outputs], matrix.bfloat16().float())


def test_int8_is_off_by_half_a_scale_at_most():
    matrix = torch.randn(70, 9) * torch.logspace(-6, 6, 70)[:, None]
    matrix[3] = 0
    panels, scales = pack(matrix, "int8")
    assert scales is not None
    scales = scales.flatten()[:70, None]
    torch.testing.assert_close(scales[:, 0], matrix.abs().amax(1).div(127).where(matrix.any(1), 1.0))
    assert panels.shape == (3, 5, PANEL, 2) and not unpacked(panels)[:, 9].any()
    assert ((unpacked(panels)[:70, :9] * scales - matrix).abs() <= 0.5001 * scales).all()


@pytest.mark.parametrize(
    ("field", "other"),
    [
        ("norm", "post"),
        ("positions", "none"),
        ("ffn", "silu"),
        ("qk_norm", True),
        ("ffn", "relu2"),
        ("value_residual", True),
        ("embedding_shortcut", True),
        ("scale_embeddings", True),
        ("logit_cap", 15.0),
    ],
)
def test_variants_are_refused(field, other):
    model = build_model(dataclasses.replace(CONFIG, **{field: other}))
    assert refusal(model) == f"{field} is {other}"
    with pytest.raises(ConfigError, match=field):
        Decoder(model)


def test_other_models_and_products_are_refused():
    assert refusal(TransformerLM(CONFIG)) is None
    assert refusal(torch.nn.Linear(2, 2)) == "the model is a Linear"
    assert refusal(TransformerLM(CONFIG).bfloat16()) == "token_embeddings.weight is not dense float32 on the CPU"
    assert refusal(TransformerLM(CONFIG, ops=mixed(torch.bfloat16))) == "its products are not float32"


def test_what_native_code_would_pass_over_is_refused():
    with_hook = TransformerLM(CONFIG)
    with_hook.layers[0].attn.register_forward_hook(lambda *_: None)
    assert refusal(with_hook) == "the model has hooks, which native code would not call"
    exchanged = TransformerLM(CONFIG)
    exchanged.lm_head = torch.nn.Linear(24, 50)
    assert refusal(exchanged) == "lm_head is not the model's own"
    patched = TransformerLM(CONFIG)
    patched.layers[0].ffn.w2.forward = lambda x: x[..., :24]
    assert refusal(patched) == "layers.0.ffn.w2 is not the model's own"
    with torch.inference_mode():
        frozen = TransformerLM(CONFIG)
    assert str(refusal(frozen)).startswith("its weights were made in inference mode")


def test_models_of_another_size_than_configured_are_refused():
    deeper, wider, pruned, longer = (TransformerLM(CONFIG) for _ in range(4))
    deeper.layers.append(Block(CONFIG))  # its keys would lie beyond the memory for one layer
    wider.lm_head = Linear(24, 51)
    pruned.layers[0].ffn = SwiGLU(24, 10)
    longer.rope = RotaryEmbedding(12, 32)
    for model in (deeper, wider, pruned, longer):
        assert refusal(model) == "its shape is not that of its configuration"


def test_weights_that_do_not_exist_are_named():
    with pytest.raises(ConfigError, match="weights is 'int4'; use float32, bf16 or int8"):
        check_weights("int4")


def test_what_changes_nothing_in_writing_is_taken():
    model = TransformerLM(dataclasses.replace(CONFIG, dropout=0.1)).requires_grad_(False)
    model.lm_head.register_full_backward_hook(lambda *_: None)
    assert refusal(model) is None


def test_logits_are_the_models():
    torch.manual_seed(0)
    model = TransformerLM(CONFIG)
    ids = torch.randint(50, (2, 3, 16))
    with torch.no_grad():
        # 1e-5: float32 sums in another order, on logits of size 1
        torch.testing.assert_close(Decoder(model).logits(ids), model(ids), atol=1e-5, rtol=0)
        torch.testing.assert_close(Decoder(model).logits(ids[0, 0, :3]), model(ids[0, 0, :3]), atol=1e-5, rtol=0)


def test_large_weights_make_short_calls(monkeypatch):
    assert Decoder(TransformerLM(CONFIG)).passes == 32
    monkeypatch.setattr(decoding, "_CALL_BYTES", 100_000)
    narrow, wide = (Decoder(TransformerLM(CONFIG), weights).passes for weights in ("int8", "float32"))
    assert 1 < wide < narrow < 32
    monkeypatch.setattr(decoding, "_CALL_BYTES", 1)
    assert Decoder(TransformerLM(CONFIG)).passes == 1


def test_weights_are_packed_once_until_they_change():
    model = TransformerLM(CONFIG)
    first = decoder_of(model)
    assert decoder_of(model) is first
    with torch.no_grad():
        model.layers[0].ln1.weight.mul_(2)
    changed = decoder_of(model)
    assert changed is not first and decoder_of(model, "int8") is not changed
    changed = decoder_of(model)
    model.rope = RotaryEmbedding(12, 16, theta=100.0)
    assert decoder_of(model) is not changed
