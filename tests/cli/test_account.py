"""Tests of `groundup account` against the oracles of the specification."""

import json
from pathlib import Path

import pytest

from groundup.cli.main import main


def account(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main(["account", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("preset", "parameters", "flops"),
    [
        ("gpt2", 190_460_160, 3.4963e11),
        ("gpt2-medium", 505_629_696, 1.0331e12),
        ("gpt2-large", 1_072_469_760, 2.2578e12),
        ("gpt2-xl", 2_127_057_600, 4.5133e12),
        ("base", 22_696_448, None),
    ],
)
def test_presets_are_the_shapes_of_the_specification(capsys, preset, parameters, flops) -> None:
    found = account(capsys, "--preset", preset)
    assert found["parameters"]["total"] == parameters
    assert sum(value for key, value in found["parameters"].items() if key != "total") == parameters
    if flops is not None:
        assert found["forward_flops"]["total"] == pytest.approx(flops, rel=2e-4)


def test_shares_of_the_large_shape_and_how_the_context_moves_them(capsys) -> None:
    short = account(capsys, "--preset", "gpt2-xl")
    percent = {name: round(100 * share, 1) for name, share in short["forward_shares"].items()}
    assert percent == {
        "qkv": 16.7,
        "scores": 3.6,
        "weighted_sum": 3.6,
        "output": 5.6,
        "feed_forward": 66.9,
        "head": 3.6,
    }
    long = account(capsys, "--preset", "gpt2-xl", "--model.context_length", "16384")
    assert long["forward_flops"]["total"] == pytest.approx(1.4952e14, rel=1e-4)
    assert long["forward_shares"]["scores"] + long["forward_shares"]["weighted_sum"] == pytest.approx(0.552, abs=5e-4)


def test_settings_go_on_top_wherever_they_stand(capsys) -> None:
    found = account(capsys, "--model.d_ff", "4288", "--preset", "gpt2-xl")
    assert found["parameters"]["total"] == 1_640_452_800
    assert found["forward_flops"]["total"] == pytest.approx(3.5168e12, rel=1e-4)
    assert found["model"]["d_ff"] == 4288


def test_days_of_the_specification(capsys) -> None:
    options = ["--batch_size", "1024", "--training.max_steps", "400000", "--flops_per_s", "19.5e12"]
    assert account(capsys, "--preset", "gpt2-xl", *options)["days"] == pytest.approx(6584, abs=1)
    half = account(capsys, "--preset", "gpt2-xl", *options, "--utilization", "0.25")
    assert half["days"] == pytest.approx(2 * 6584, abs=2)
    assert "days" not in account(capsys, "--preset", "gpt2-xl")


def test_memory_by_the_specification_s_count(capsys) -> None:
    memory = account(capsys, "--preset", "gpt2-xl")["adamw_memory"]
    assert memory["bytes_per_sequence"] / 1e9 == pytest.approx(15.31, abs=0.005)
    assert memory["fixed_bytes"] / 1e9 == pytest.approx(34.03, abs=0.005)
    assert memory["largest_batch"] == 3
    assert account(capsys, "--preset", "gpt2-xl", "--memory", "49e9")["adamw_memory"]["largest_batch"] == 0


def test_a_recipe_and_the_part_of_a_batch_that_is_in_memory(capsys, tmp_path: Path) -> None:
    recipe = tmp_path / "small.yaml"
    recipe.write_text(
        "model: {vocab_size: 3000, d_model: 32, num_heads: 2}\ntraining: {batch_size: 8, eval_batch_size: 1}\n"
    )
    whole = account(capsys, str(recipe))
    assert whole["parameters"]["embedding"] == 96_000
    parts = account(capsys, str(recipe), "--training.micro_batch_size", "2")
    assert (parts["batch_size"], parts["micro_batch_size"]) == (8, 2)
    assert parts["training_memory"]["activations_bytes"] == whole["training_memory"]["activations_bytes"] / 4
    assert whole["training_memory"]["optimizer_bytes"] == 8 * whole["parameters"]["total"]
    assert whole["training_memory"]["gradients_bytes"] == 0  # at the loss of a whole batch
    assert parts["training_memory"]["gradients_bytes"] == 4 * whole["parameters"]["total"]


def test_peak_memory_is_that_of_the_largest_moment(capsys) -> None:
    memory = account(capsys, "--batch_size", "8", "--training.eval_batch_size", "64")["training_memory"]
    assert memory["moment"] == "validation" and memory["total_bytes"] == memory["moments"]["validation"]
    assert memory["total_bytes"] == max(memory["moments"].values())
    assert sum(value for name, value in memory.items() if name.endswith("_bytes")) == 2 * memory["total_bytes"]
    reference = account(capsys, "--batch_size", "8", "--training.kernels", "reference")["training_memory"]
    assert reference["moments"]["loss"] > memory["moments"]["loss"]


def test_the_vocabulary_of_the_data(capsys, prepared: Path) -> None:
    found = account(capsys, "--model.vocab_size", "0", "--data.path", str(prepared))
    assert found["model"]["vocab_size"] == json.loads((prepared / "manifest.json").read_text())["vocab_size"]
    assert main(["account", "--model.vocab_size", "0"]) == 2
    assert "model.vocab_size is 0" in capsys.readouterr().err


def test_tables_for_people(capsys) -> None:
    arguments = ["--preset", "gpt2-xl", "--batch_size", "1024", "--training.max_steps", "400000"]
    assert main(["account", *arguments, "--flops_per_s", "19.5e12"]) == 0
    text = capsys.readouterr().out
    lines = {" ".join(line.split()) for line in text.splitlines()}
    assert "total 2,127,057,600 100.0 %" in lines
    assert "to load them: 8.51 GB in float32, 4.25 GB in bf16" in lines
    assert "Q, K, V projections 7.5497e+11 16.7 %" in lines
    assert "15.31 GB * batch + 34.03 GB; largest batch in 80.0 GB: 3" in lines
    assert "6,584 days at 50 % of 19.5 TFLOP/s" in lines
    title = (
        "Peak memory of training on a CPU, in loss: 1,024 sequences at once, 32 in validation, float32, kernels auto"
    )
    assert title in lines
    assert text.isascii()  # a terminal that knows no UTF-8 shows it too


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--preset", "gpt3"], "invalid choice: 'gpt3'"),
        (["--preset", "gpt2", "x.yaml"], "give either a recipe (x.yaml) or --preset gpt2, not both"),
        (["nowhere.yaml"], "'nowhere.yaml'"),
        (["--model.dff", "3"], "did you mean --model.d_ff?"),
        (["--num_layer", "3"], "did you mean --model.num_layers?"),
        (["--model.d_model", "much"], "model.d_model is 'much'"),
        (["--batch_size", "0"], "training.batch_size is 0; it must be at least 1"),
        (["--batch_size", "x"], "invalid int value: 'x'"),
        (["--flops_per_s", "fast"], "'fast' is not a number"),
        (["--flops_per_s", "-1"], "-1 is not positive"),
        (["--model.num_heads", "7"], "a multiple of num_heads 7"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(capsys, arguments: list[str], message: str) -> None:
    assert main(["account", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert len(captured.err.strip().splitlines()) == 1


def test_help_has_an_example(capsys) -> None:
    assert main(["account", "--help"]) == 0
    assert "groundup account --preset gpt2-xl" in capsys.readouterr().out


def test_the_operations_of_muon_stand_beside_those_of_the_update(capsys) -> None:
    found = account(capsys, "--preset", "base", "--optimizer.name", "muon")
    assert found["muon_flops"] == 4 * 10 * (4 * 3 * 512**3 + 3 * (2 * 512**2 * 1344 + 512**3))
    assert main(["account", "--preset", "base", "--optimizer.name", "muon"]) == 0
    assert f"and {found['muon_flops']:.2e} in the matrix products of Muon" in capsys.readouterr().out
    assert "muon_flops" not in account(capsys, "--preset", "base")
