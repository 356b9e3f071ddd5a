"""`groundup export`, `import` and `push` as a user types them."""

import json

import pytest
import torch
from interop.models import make_run

from groundup.checkpoint import load_run, save_checkpoint
from groundup.interop.runs import Imported, write_run
from groundup.optim.sgd import SGD


@pytest.fixture(scope="module")
def run_folder(tokenizer, tmp_path_factory):
    run = make_run(tokenizer, num_layers=1)
    folder = tmp_path_factory.mktemp("handover") / "run"
    return write_run(Imported(run.model.config, dict(run.model.state_dict()), tokenizer), folder)


@pytest.mark.parametrize(
    ("form", "name", "options"),
    [("hf", "out", ["--dtype", "bf16", "--license", "mit"]), ("gguf", "out.gguf", ["--dtype", "q8_0"]),
     ("llama2c", "out", [])],
)  # fmt: skip
def test_out_and_in_again(form, name, options, run_command, run_folder, tmp_path):
    out = tmp_path / name
    code, printed, said = run_command("export", form, run_folder, "--out", out, *options, "--json")
    assert ".tmp" not in said  # the file that is being written has another name, which is nobody's business
    files = [out] if out.is_file() else list(out.iterdir())
    assert code == 0 and json.loads(printed)["files"] == {file.name: file.stat().st_size for file in files}
    code, printed, _ = run_command("import", out, "--out", tmp_path / "back")
    assert code == 0 and f"--init_from {tmp_path / 'back'}" in printed
    before, after = load_run(run_folder), load_run(tmp_path / "back")
    sizes = [sum(tensor.abs().sum() for tensor in run.model.state_dict().values()) for run in (before, after)]
    torch.testing.assert_close(sizes[0], sizes[1], rtol=1e-3, atol=0)
    if form == "hf":
        assert 'license: "mit"' in (out / "README.md").read_text(encoding="utf-8")
        code, printed, _ = run_command("export", form, run_folder, "--out", tmp_path / "plain")
        assert code == 0 and "model.safetensors" in printed


def test_a_state_dict_with_what_it_does_not_say(run_command, run_folder, tmp_path):
    model = load_run(run_folder).model
    save_checkpoint(model, SGD(model.parameters(), lr=1.0), 1, tmp_path / "model.pt")
    said = ["--tokenizer", run_folder, "--num_heads", 4, "--context_length", 16, "--rope_theta", "1e3"]
    code, printed, _ = run_command("import", tmp_path / "model.pt", "--out", tmp_path / "back", *said, "--json")
    assert code == 0 and json.loads(printed)["parameters"] == model.num_parameters()
    config = load_run(tmp_path / "back").model.config
    assert (config.context_length, config.rope_theta) == (16, 1000.0)


def test_bad_input_gets_one_sentence(run_command, run_folder, tmp_path):
    for line, code, part in [
        (("export", "onnx", run_folder, "--out", tmp_path / "x"), 2, "invalid choice: 'onnx'"),
        (("export", "hf", run_folder), 2, "the following arguments are required: --out"),
        (("export", "hf", run_folder, "--out", tmp_path / "x", "--dtyp", "bf16"), 2, "did you mean --dtype?"),
        (("export", "llama2c", run_folder, "--out", tmp_path / "x", "--dtype", "bf16"), 2, "invalid choice: 'bf16'"),
        (("export", "hf", tmp_path / "none", "--out", tmp_path / "x"), 1, "there is no run or checkpoint"),
        (("export", "hf", run_folder, "--out", run_folder), 2, "exists already"),
        (("import", tmp_path / "none", "--out", tmp_path / "x"), 1, "there is no "),
        (("import", run_folder, "--out", tmp_path / "x"), 2, "is a run of groundup already"),
        (("push", run_folder, "someone/little"), 2, "is a run; make a folder that others can read"),
    ]:
        found, out, err = run_command(*line)
        assert (found, out) == (code, "") and "Traceback" not in err, line
        assert part in err.strip().splitlines()[-1] and err.count("error: ") == 1, err
    assert list(tmp_path.iterdir()) == []
