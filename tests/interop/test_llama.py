"""What Llama is in our terms: names, shapes, the order of rows; and what is no Llama is refused by every export."""

import pytest
import torch
from interop.models import KINDS, make_run

from groundup.errors import CheckpointError, ConfigError
from groundup.interop.gguf import export_gguf
from groundup.interop.huggingface import export_huggingface
from groundup.interop.llama import llama_shapes, take_weights, to_halves, to_pairs, weights_of
from groundup.interop.llama2c import export_llama2c
from groundup.interop.names import GGUF, HUGGING_FACE, META, expand

EXPORTS = [export_huggingface, export_gguf, export_llama2c]


@pytest.mark.parametrize("naming", [HUGGING_FACE, GGUF, META])
def test_every_weight_has_one_name(naming, tokenizer):
    names = expand(naming, 2)
    assert list(names) == list(llama_shapes(make_run(tokenizer).model.config))
    assert names.keys() == make_run(tokenizer).model.state_dict().keys()
    assert len(set(names.values())) == len(names)


@pytest.mark.parametrize("fields", KINDS)
def test_shapes_are_those_of_the_model(fields, tokenizer):
    run = make_run(tokenizer, **fields)
    shapes = {name: tuple(tensor.shape) for name, tensor in weights_of(run.model).items()}
    assert shapes == llama_shapes(run.model.config)


def test_rows_move_within_heads_and_back():
    weight = torch.arange(24.0).reshape(12, 2)
    halves = to_halves(weight, 2)
    assert halves[:, 0].tolist() == [0, 4, 8, 2, 6, 10, 12, 16, 20, 14, 18, 22]
    assert torch.equal(to_pairs(halves, 2), weight)


@pytest.mark.parametrize("export", EXPORTS)
@pytest.mark.parametrize(
    "fields",
    [
        {"norm": "post"},
        {"norm": "none"},
        {"positions": "none"},
        {"ffn": "silu"},
        {"qk_norm": True},
        {"ffn": "relu2"},
        {"value_residual": True},
        {"embedding_shortcut": True},
        {"scale_embeddings": True},
        {"logit_cap": 15.0},
    ],
)
def test_other_variants_are_refused_in_one_sentence(export, fields, tokenizer, tmp_path):
    ((name, value),) = fields.items()
    with pytest.raises(ConfigError, match=f"its {name} is {value!r}, and the Llama architecture") as error:
        export(make_run(tokenizer, **fields), tmp_path / "out")
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("export", EXPORTS)
def test_what_exists_is_never_replaced(export, tokenizer, tmp_path):
    (tmp_path / "out").write_text("dear")
    with pytest.raises(ConfigError, match="out' exists already"):
        export(make_run(tokenizer), tmp_path / "out")
    assert (tmp_path / "out").read_text() == "dear"


@pytest.mark.parametrize("export", EXPORTS)
def test_an_export_that_fails_leaves_nothing(export, tokenizer, tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("groundup.interop.gguf._write_tokenizer", fail)
    monkeypatch.setattr("groundup.interop.huggingface.write_card", lambda *_, **__: fail())
    monkeypatch.setattr("groundup.interop.llama2c.write_tokenizer_bin", fail)
    with pytest.raises(OSError, match="No space left"):
        export(make_run(tokenizer), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda weights: weights.pop("blk.1.ffn_up.weight"), "lacks the tensor 'blk.1.ffn_up.weight'"),
        (lambda weights: weights.update({"output_norm.weight": torch.ones(3)}), "is \\(3,\\); its configuration asks"),
        (lambda weights: weights.update({"output_norm.weight": torch.ones(32).int()}), "is torch.int32; only float32"),
        (lambda weights: weights.update({"blk.0.attn_q.bias": torch.ones(32)}), "has biases \\('blk.0.attn_q.bias'\\)"),
        (lambda weights: weights.update({"blk.0.extra.weight": torch.ones(3)}), "no place for, 'blk.0.extra.weight'"),
    ],
)
def test_weights_that_do_not_fit_are_named(change, message, tokenizer):
    run = make_run(tokenizer)
    names = expand(GGUF, 2)
    tensors = {names[name]: tensor for name, tensor in weights_of(run.model).items()}
    assert take_weights(tensors, GGUF, run.model.config, "a file").keys() == names.keys()
    change(tensors)
    with pytest.raises(CheckpointError, match=message):
        take_weights(tensors, GGUF, run.model.config, "a file")


def test_a_stored_head_must_be_the_embedding_where_it_is_said_to_be(tokenizer):
    run = make_run(tokenizer, tie_embeddings=True)
    names = expand(GGUF, 2)
    tensors = {names[name]: tensor for name, tensor in weights_of(run.model).items()}
    tensors["output.weight"] = tensors["token_embd.weight"].clone()
    assert "lm_head.weight" not in take_weights(tensors, GGUF, run.model.config, "a file")
    tensors["output.weight"][0, 0] += 1
    with pytest.raises(CheckpointError, match=r"holds a 'output\.weight' that differs"):
        take_weights(tensors, GGUF, run.model.config, "a file")
