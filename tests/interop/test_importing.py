"""What arrives is a run: it is told apart by its files, trained on, and never written over anything."""

import dataclasses

import pytest
import torch
from interop.models import make_run, some_ids

from groundup.checkpoint import find_checkpoint, load_run
from groundup.config import OptimizerConfig, RunConfig, TrainingConfig
from groundup.errors import CheckpointError, ConfigError
from groundup.generation.text import generate
from groundup.interop.gguf import export_gguf
from groundup.interop.huggingface import export_huggingface
from groundup.interop.importing import import_model
from groundup.interop.llama2c import export_llama2c
from groundup.training.loop import train


@pytest.fixture(scope="module")
def exports(tokenizer, tmp_path_factory):
    folder, run = tmp_path_factory.mktemp("exports"), make_run(tokenizer, num_layers=1)
    torch.save(run.model.state_dict(), folder / "model.pt")
    tokenizer.save(folder / "tokenizer.json")
    export_huggingface(run, folder / "hf")
    export_gguf(run, folder / "model.gguf")
    export_llama2c(run, folder / "llama2c")
    return run, folder


@pytest.mark.parametrize("name", ["hf", "model.gguf", "llama2c", "llama2c/model.bin", "model.pt"])
def test_every_format_is_known_by_its_files(name, exports, tmp_path):
    run, folder = exports
    said = {"tokenizer": folder / "tokenizer.json", "num_heads": 4, "context_length": 32} if name == "model.pt" else {}
    back = load_run(import_model(folder / name, tmp_path / "run", **said))
    if "llama2c" not in name:  # whose ids are others, see test_llama2c.py
        with torch.inference_mode():
            assert torch.equal(back.model(some_ids(run)), run.model(some_ids(run)))
    # A tie of random logits would be a fault of the test.
    texts = [generate(one, "The cat", max_tokens=8, temperature=0.0)[0].text for one in (run, back)]
    assert texts[0] == texts[1] or "llama2c" in name


def test_an_imported_model_is_trained_on(exports, prepared, tmp_path):
    _, folder = exports
    imported = import_model(folder / "hf", tmp_path / "imported")
    config = load_run(imported).config
    config = dataclasses.replace(
        config,
        out=str(tmp_path / "run"),
        init_from=str(imported),
        data=dataclasses.replace(config.data, path=str(prepared)),
        optimizer=OptimizerConfig(lr=0.0, weight_decay=0.0),
        training=TrainingConfig(max_steps=1, batch_size=2, device="cpu", kernels="reference"),
    )
    trained = train(config)
    before = load_run(imported).model.state_dict()
    # At a rate of 0 nothing moves, so that these are the imported weights.
    assert all(torch.equal(before[name], tensor) for name, tensor in trained.model.state_dict().items())
    moved = train(dataclasses.replace(config, out=str(tmp_path / "moved"), optimizer=OptimizerConfig(lr=1e-3)))
    assert not torch.equal(moved.model.state_dict()["lm_head.weight"], before["lm_head.weight"])


def test_an_imported_run_says_what_it_is(exports, tmp_path):
    run, folder = exports
    imported = import_model(folder / "hf", tmp_path / "imported")
    names = {path.name for path in imported.iterdir()}
    assert names == {"config.yaml", "tokenizer.json", "README.md", "checkpoints"}
    assert load_run(imported).config == RunConfig(out=str(imported), model=run.model.config)
    assert find_checkpoint(imported).name == "step-00000000"


def test_the_random_state_of_the_caller_stays(exports, tmp_path):
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    import_model(exports[1] / "hf", tmp_path / "imported")
    assert torch.equal(torch.rand(3), expected)


def test_what_is_no_model_gets_one_sentence(exports, tmp_path):
    _, folder = exports
    (tmp_path / "taken").mkdir()
    run = import_model(folder / "hf", tmp_path / "run")
    for path, options, kind, message in [
        (folder / "hf", {"out": tmp_path / "taken"}, ConfigError, "taken' exists already"),
        (folder / "hf", {"num_heads": 4}, ConfigError, "--num_heads is not for a Hugging Face folder"),
        (folder / "model.gguf", {"rope_theta": 1.0}, ConfigError, "--rope_theta is not for a GGUF file"),
        (run, {}, ConfigError, "is a run of groundup already"),
        (find_checkpoint(run), {}, ConfigError, "is a run of groundup already"),
        (tmp_path / "missing", {}, CheckpointError, "there is no "),
        (tmp_path / "taken", {}, CheckpointError, "is none of the models that are read"),
        (folder / "tokenizer.json", {}, CheckpointError, "a file that ends in .gguf, .bin, .pt, .pth, .ckpt"),
    ]:
        with pytest.raises(kind, match=message) as error:
            import_model(path, **({"out": tmp_path / "new"} | options))
        assert "\n" not in str(error.value)
    assert not (tmp_path / "new").exists()
