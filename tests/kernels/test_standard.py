"""Which models are the standard one, and what keeps others from it."""

import dataclasses
from typing import get_args, get_type_hints

import pytest
import torch
from torch import nn

from groundup.config import ModelConfig
from groundup.kernels.standard import STANDARD, has_hooks, why_not_standard, why_not_standard_shape
from groundup.model.layers import Linear
from groundup.model.transformer import TransformerLM
from groundup.model.variants import build_model

SHAPE = ModelConfig(vocab_size=11, context_length=8, d_model=8, num_layers=2, num_heads=2, d_ff=8)


def model_of(**variant) -> TransformerLM:
    return build_model(dataclasses.replace(SHAPE, **variant))


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        ({}, ""),
        ({"tie_embeddings": True, "num_kv_heads": 1, "positions": "none"}, ""),
        ({"norm": "post"}, "norm is post"),
        ({"norm": "none"}, "norm is none"),
        ({"ffn": "silu"}, "ffn is silu"),
        ({"dropout": 0.1}, "dropout is 0.1"),
        ({"qk_norm": True}, "qk_norm is True"),
        ({"zero_outputs": True}, ""),
        ({"ffn": "relu2"}, "ffn is relu2"),
        ({"value_residual": True}, "value_residual is True"),
        ({"scale_embeddings": True}, "scale_embeddings is True"),
        ({"logit_cap": 15.0}, "logit_cap is 15.0"),
    ],
)
def test_what_is_not_standard(variant, reason):
    model = model_of(**variant)
    assert why_not_standard(model) == why_not_standard_shape(model.config) == reason


def test_every_other_choice_is_refused_also_one_that_is_added_later():
    kinds = get_type_hints(ModelConfig)
    refused = [field for field in dataclasses.fields(ModelConfig) if field.name not in STANDARD]
    assert {"norm", "ffn", "dropout", "qk_norm", "value_residual"} <= {field.name for field in refused}
    for field in refused:
        choices = get_args(kinds[field.name]) or {bool: (False, True), float: (0.0, 0.5)}[kinds[field.name]]
        other = next(value for value in choices if value != field.default)
        assert why_not_standard_shape(dataclasses.replace(SHAPE, **{field.name: other})) == f"{field.name} is {other}"


def test_a_variant_is_not_taken_for_the_base_whatever_its_configuration_says():
    model = model_of(value_residual=True)
    model.config = SHAPE
    assert why_not_standard(model) == "the model is a VariantLM"


def test_parameters_that_are_not_standard():
    frozen = model_of()
    frozen.ln_final.weight.requires_grad_(False)
    assert why_not_standard(frozen) == "ln_final.weight is frozen"
    assert why_not_standard(model_of().double()) == "token_embeddings.weight is not dense float32 on the CPU"
    turned = model_of()
    turned.lm_head.weight.data = torch.zeros(8, 11).mT
    assert why_not_standard(turned) == "lm_head.weight is not dense float32 on the CPU"


def test_parts_that_were_exchanged():
    class Wrapped(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

    wrapped, parametrized, patched, shorter, wider = (model_of() for _ in range(5))
    wrapped.layers[1].ffn.w2 = Wrapped(wrapped.layers[1].ffn.w2)
    assert why_not_standard(wrapped) == "layers.1.ffn.w2 is not the model's own"
    nn.utils.parametrize.register_parametrization(parametrized.lm_head, "weight", nn.Identity())
    assert why_not_standard(parametrized) == "lm_head is not the model's own"
    patched.ln_final.forward = lambda x: x
    assert why_not_standard(patched) == "ln_final is not the model's own"
    shorter.layers = shorter.layers[:1]
    assert why_not_standard(shorter) == "its shape is not that of its configuration"
    wider.lm_head = Linear(8, 12)
    assert why_not_standard(wider) == "its shape is not that of its configuration"
    assert why_not_standard(Wrapped(model_of())) == "the model is a Wrapped"


def test_who_watches_is_seen():
    model = model_of()
    assert not has_hooks(model)
    for watch in (
        lambda: model.layers[1].ffn.register_forward_hook(lambda *_: None),
        lambda: model.ln_final.register_full_backward_hook(lambda *_: None),
        lambda: model.lm_head.weight.register_hook(lambda gradient: None),
        lambda: model.lm_head.weight.register_post_accumulate_grad_hook(lambda parameter: None),
    ):
        handle = watch()
        assert has_hooks(model)
        handle.remove()
        assert not has_hooks(model)
