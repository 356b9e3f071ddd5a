"""State dicts of torch.save: the course's names, llama2.c's training, nanoGPT's; nothing in a file is run."""

import os

import pytest
import torch
from interop.models import GROUPED, KINDS, TIED, logits, make_run, some_ids

from groundup.checkpoint import load_run, save_checkpoint
from groundup.errors import CheckpointError, ConfigError
from groundup.interop.llama import weights_of
from groundup.interop.names import META, expand
from groundup.interop.runs import write_run
from groundup.interop.state_dicts import read_state_dict, read_state_dict_model
from groundup.optim.sgd import SGD


@pytest.fixture
def vocabulary(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "tokenizer.json")
    return tmp_path / "tokenizer.json"


@pytest.mark.parametrize(
    "fields", [*KINDS, {"norm": "post"}, {"norm": "none"}, {"ffn": "silu"}, {"qk_norm": True}], ids=str
)
def test_a_state_dict_of_the_course(fields, tokenizer, vocabulary, tmp_path):
    """Everything but heads, context and rotation is seen from the names and the shapes, the variant too."""
    run = make_run(tokenizer, **fields)
    torch.save({f"_orig_mod.{name}": tensor for name, tensor in run.model.state_dict().items()}, tmp_path / "model.pt")
    imported = read_state_dict_model(tmp_path / "model.pt", tokenizer=vocabulary, num_heads=4, context_length=32)
    back = load_run(write_run(imported, tmp_path / "run"))
    assert torch.equal(logits(back, some_ids(run)), logits(run, some_ids(run)))
    assert back.model.config.tie_embeddings == run.model.config.tie_embeddings


def test_a_checkpoint_of_one_file(tokenizer, vocabulary, tmp_path):
    run = make_run(tokenizer)
    save_checkpoint(run.model, SGD(run.model.parameters(), lr=1.0), 5, tmp_path / "checkpoint.pt")
    read = {"tokenizer": vocabulary, "num_heads": 4, "context_length": 8, "rope_theta": 500}
    imported = read_state_dict_model(tmp_path / "checkpoint.pt", **read)
    assert torch.equal(imported.weights["ln_final.weight"], run.model.state_dict()["ln_final.weight"])
    assert (imported.config.context_length, imported.config.rope_theta) == (8, 500.0)


@pytest.mark.parametrize("fields", [{}, GROUPED | TIED], ids=str)
def test_a_checkpoint_of_the_training_of_llama2c(fields, tokenizer, vocabulary, tmp_path):
    run = make_run(tokenizer, **fields)
    names = expand(META, 2)
    weights = {names[name]: tensor for name, tensor in run.model.state_dict().items()}
    arguments = {"dim": 32, "n_layers": 2, "n_heads": 4, "n_kv_heads": run.model.config.kv_heads, "vocab_size": 300,
                 "multiple_of": 32, "max_seq_len": 32, "dropout": 0.0}  # fmt: skip
    torch.save(
        {"model": weights, "model_args": arguments, "iter_num": 3, "config": {"device": "cpu"}}, tmp_path / "c.pt"
    )
    imported = read_state_dict_model(tmp_path / "c.pt", tokenizer=vocabulary)
    assert imported.config == run.model.config
    assert all(torch.equal(imported.weights[name], tensor) for name, tensor in weights_of(run.model).items())
    torch.save({"model": weights}, tmp_path / "c.pt")
    with pytest.raises(CheckpointError, match="has no model_args with dim"):
        read_state_dict_model(tmp_path / "c.pt", tokenizer=vocabulary)


def test_nanogpt_is_read_and_refused_by_what_it_is(vocabulary, tmp_path):
    weights = {"_orig_mod.transformer.wte.weight": torch.ones(3, 2), "_orig_mod.lm_head.weight": torch.ones(3, 2)}
    torch.save(
        {"model": weights, "model_args": {"n_layer": 1}, "best_val_loss": torch.tensor(3.0)}, tmp_path / "ckpt.pt"
    )
    found, arguments = read_state_dict(tmp_path / "ckpt.pt")
    assert sorted(found) == ["lm_head.weight", "transformer.wte.weight"] and arguments == {"n_layer": 1}
    with pytest.raises(CheckpointError, match="a GPT-2 of nanoGPT: its LayerNorm, learned positions and GELU"):
        read_state_dict_model(tmp_path / "ckpt.pt", tokenizer=vocabulary)


class Mischief:
    def __reduce__(self):
        return os.mkdir, ("mischief",)


def test_nothing_in_a_file_is_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save({"model": {"weight": torch.ones(1)}, "config": Mischief()}, "model.pt")
    with pytest.raises(CheckpointError, match="holds more than tensors and plain values") as error:
        read_state_dict("model.pt")
    assert not (tmp_path / "mischief").exists() and "\n" not in str(error.value)


def test_what_cannot_be_read_gets_one_sentence(tokenizer, vocabulary, tmp_path):
    weights = make_run(tokenizer).model.state_dict()
    path, said = tmp_path / "model.pt", {"tokenizer": vocabulary, "num_heads": 4, "context_length": 8}
    for content, options, kind, message in [
        (weights, said | {"tokenizer": None}, ConfigError, "no tokenizer inside; give a tokenizer.json"),
        (weights, {"tokenizer": vocabulary, "context_length": 8}, ConfigError, "give --num_heads"),
        (weights, {"tokenizer": vocabulary, "num_heads": 4}, ConfigError, "give --context_length"),
        (weights, said | {"num_heads": 5}, CheckpointError, "no model of 5 heads"),
        ({"a.weight": torch.ones(1)}, said, CheckpointError, "the names in .* are not known \\(a.weight, ...\\)"),
        ({"a": 3}, said, CheckpointError, "holds no state dict"),
        ([1, 2], said, CheckpointError, "holds no state dict"),
    ]:
        torch.save(content, path)
        with pytest.raises(kind, match=message) as error:
            read_state_dict_model(path, **options)
        assert "\n" not in str(error.value)
    for content in (b"", b"neither pickle nor zip", path.read_bytes()[:200]):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"model\.pt' is not"):
            read_state_dict(path)
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        read_state_dict(tmp_path / "missing.pt")
