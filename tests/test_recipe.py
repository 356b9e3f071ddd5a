"""Reading recipes: types, overrides, and one-sentence errors with the nearest name (case D12)."""

import dataclasses
from pathlib import Path

import pytest

from groundup.config import ModelConfig, OptimizerConfig, RunConfig
from groundup.errors import ConfigError
from groundup.recipe import changed, differences, override, read_config, setting, write_config

RECIPES = Path(__file__).parent.parent / "recipes"


@pytest.fixture
def recipe(tmp_path):
    def write(text):
        path = tmp_path / "a recipe.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_defaults_are_the_dataclasses():
    assert read_config() == RunConfig()


def test_override_on_top_of_a_recipe(recipe):
    path = recipe("optimizer:\n  lr: 3e-3\n  betas: [0.9, 0.99]\ntraining:\n  sinks: [tensorboard]\n")
    config = read_config(path, ["--optimizer.lr", "1e-4", "--model.norm=post", "--training.compile"])
    assert config.optimizer == OptimizerConfig(lr=1e-4, betas=(0.9, 0.99))
    assert config.model.norm == "post"
    assert config.training.compile is True
    assert config.training.sinks == ("tensorboard",)


@pytest.mark.parametrize(
    ("override", "value"),
    [("--optimizer.lr=1", 1.0), ("--optimizer.lr=0", 0.0), ("--optimizer.weight_decay=1e-1", 0.1)],
)
def test_whole_numbers_are_accepted_where_a_float_is_meant(override, value):
    config = read_config(None, [override, "--optimizer.min_lr=0"])
    name = override[len("--optimizer.") :].partition("=")[0]
    assert getattr(config.optimizer, name) == value and isinstance(getattr(config.optimizer, name), float)


def test_a_round_float_is_accepted_where_a_whole_number_is_meant():
    assert read_config(None, ["--training.max_steps", "1e3"]).training.max_steps == 1000
    assert read_config(None, ["--optimizer.warmup_steps", "2e2"]).optimizer.warmup_steps == 200


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["--optimizer.lrr=1"], "unknown option --optimizer.lrr; did you mean --optimizer.lr?"),
        (["--lr=1"], "unknown option --lr; did you mean --optimizer.lr?"),
        (["--model.num_layer", "3"], "did you mean --model.num_layers?"),
        (["--optimizer.lr=fast"], "optimizer.lr is 'fast'; it must be a number"),
        (["--training.max_steps=1.5"], "training.max_steps is '1.5'; it must be a whole number"),
        (["--model.num_kv_heads=x"], "model.num_kv_heads is 'x'; it must be a whole number or null"),
        (["--model.norm=middle"], "model.norm is 'middle'; it must be one of pre, post, none"),
        (["--model.ffn=gelu"], "model.ffn is 'gelu'; it must be one of swiglu, silu, relu2"),
        (["--optimizer.name=lion"], "optimizer.name is 'lion'; it must be one of adamw, sgd, muon"),
        (["--optimizer.schedule=step"], "optimizer.schedule is 'step'; it must be one of cosine, trapezoid"),
        (["--training.max_steps"], "--training.max_steps needs a value: a whole number"),
        (["optimizer.lr=1"], "'optimizer.lr=1' is not an option; write --name value"),
        (["--model.d_model=100", "--model.num_heads=3"], "d_model is 100; it must be a multiple of num_heads 3"),
        (["--training.batch_size=0"], "training.batch_size is 0; it must be at least 1"),
        (["--optimizer.min_lr=1"], "it must lie between 0 and optimizer.lr"),
        (["--training.sinks=[paper]"], "training.sinks names ['paper']; use any of tensorboard, wandb"),
    ],
)
def test_bad_overrides_get_one_sentence(overrides, message):
    with pytest.raises(ConfigError) as caught:
        read_config(None, overrides)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("optimizer:\n  lrr: 3\n", "unknown key 'optimizer.lrr'; did you mean optimizer.lr?"),
        ("optimiser:\n  lr: 3\n", "unknown key 'optimiser'; did you mean optimizer?"),
        ("optimizer: 3\n", "optimizer in recipe"),
        ("optimizer: [1\n", "is not valid YAML at line 2"),
        ("", "holds no settings"),
        ("training:\n  max_steps: many\n", "training.max_steps is 'many'; it must be a whole number"),
    ],
)
def test_bad_recipes_get_one_sentence(recipe, text, message):
    with pytest.raises(ConfigError) as caught:
        read_config(recipe(text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_recipe_is_named(tmp_path):
    with pytest.raises(ConfigError, match="there is no recipe"):
        read_config(tmp_path / "nothing.yaml")


def test_written_configuration_reads_back_equal(recipe):
    config = RunConfig(
        out="runs/ä b",
        model=ModelConfig(num_kv_heads=4, qk_norm=True),
        optimizer=OptimizerConfig(lr=1e-7, min_lr=0.0, betas=(0.8, 0.95)),
    )
    assert read_config(recipe(write_config(config))) == config


def test_a_folder_whose_name_the_locale_cannot_spell_is_written_readably(recipe):
    path = recipe(write_config(RunConfig(out="runs/\udcc3\udca4 b \udcff")))
    assert read_config(path).out == "runs/ä b \ufffd"


def test_differences_name_the_fields():
    base = RunConfig()
    other = dataclasses.replace(base, optimizer=OptimizerConfig(lr=1.0), out="x")
    assert differences(base, other) == {"out": (base.out, "x"), "optimizer.lr": (base.optimizer.lr, 1.0)}


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.yaml")), ids=lambda path: path.stem)
def test_recipes_of_the_project_are_valid(path):
    assert read_config(path).out.startswith("runs/")


def test_a_configuration_is_overridden_as_a_recipe_is():
    config = RunConfig(out="a", model=ModelConfig(vocab_size=5, d_model=32, num_heads=2))
    found = override(config, ["--optimizer.lr", "1e-4", "--model.d_ff=48", "--optimizer.betas=[0.8,0.9]"])
    assert set(differences(config, found)) == {"optimizer.lr", "model.d_ff", "optimizer.betas"}
    assert (found.optimizer.lr, found.model.d_ff, found.optimizer.betas) == (1e-4, 48, (0.8, 0.9))
    assert override(config, []) == config
    with pytest.raises(ConfigError, match=r"did you mean --optimizer\.lr"):
        override(config, ["--optimizer.ls=1"])


def test_fields_are_replaced_by_their_dotted_names_and_checked():
    config = changed(RunConfig(), {"out": "b", "model.norm": "none", "model.d_ff": None, "training.seed": 3})
    assert set(differences(RunConfig(), config)) == {"out", "model.norm", "training.seed"}
    assert setting(config, "training.seed") == 3
    with pytest.raises(ConfigError, match=r"optimizer\.lr is -1"):
        changed(config, {"optimizer.lr": -1.0})
