"""The commands as a user types them, on good and on bad input: one sentence, the right exit code, nothing lost."""

import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys

import pytest

from groundup.cli.main import COMMANDS, main
from groundup.cli.progress import TrainingProgress
from groundup.config import RunConfig
from groundup.recipe import read_config, write_config
from groundup.tokenizer.bpe import Tokenizer

SMALL = [
    "--model.context_length=16", "--model.d_model=16", "--model.num_layers=1", "--model.num_heads=2",
    "--training.max_steps=6", "--training.batch_size=4", "--training.eval_every=3", "--training.save_every=3",
    "--training.device=cpu",
]  # fmt: skip


@pytest.fixture(scope="session")
def corpus(text, tmp_path_factory):
    path = tmp_path_factory.mktemp("a corpus") / "Märchen.txt"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def finished_run(corpus, tmp_path_factory):
    """Text, tokenizer, data and a run, made by the commands of the README."""
    folder = tmp_path_factory.mktemp("by hand")
    tokenizer, data, run = folder / "tokenizer.json", folder / "data", folder / "run"
    lines = [
        ["tokenizer", "train", corpus, "--vocab_size", "300", "--out", tokenizer],
        ["data", "prepare", corpus, "--tokenizer", tokenizer, "--out", data],
        ["train", "--data.path", data, "--out", run, *SMALL],
    ]
    for line in lines:
        assert main([str(word) for word in line]) == 0
    return run


def assert_one_sentence(err, *parts):
    """The last line of stderr is the error; no traceback, and it names what it must."""
    lines = err.strip().splitlines()
    assert "Traceback" not in err
    assert "error: " in lines[-1]
    for part in parts:
        assert part in lines[-1], lines[-1]


def test_the_whole_path_leaves_a_run_and_a_report(finished_run):
    names = set(os.listdir(finished_run))
    assert {"config.yaml", "metrics.jsonl", "environment.json", "checkpoints", "samples", "report.html"} <= names
    assert "nats per token" in (finished_run / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_an_example(run_command, name):
    code, out, _ = run_command(name, "--help")
    assert code == 0
    assert f"groundup {name}" in out and "example" in out.lower()


@pytest.mark.parametrize(
    "line", [("tokenizer", "train"), ("tokenizer", "encode"), ("tokenizer", "decode"), ("tokenizer", "inspect"),
             ("data", "download"), ("data", "prepare"), ("data", "inspect")]
)  # fmt: skip
def test_every_subcommand_has_help_with_an_example(run_command, line):
    code, out, _ = run_command(*line, "--help")
    assert code == 0 and "example" in out


def test_help_and_version(run_command):
    assert run_command("--help")[0] == 0
    assert run_command("--version")[1].startswith("groundup 0.")
    code, out, _ = run_command()
    assert code == 2 and "commands:" in out


def test_encode_decode_round_trip(run_command, finished_run):
    tokenizer = finished_run / "tokenizer.json"
    _, out, _ = run_command("tokenizer", "encode", tokenizer, "Où est la lune?\n")
    assert run_command("tokenizer", "decode", tokenizer, *out.split())[1] == "Où est la lune?\n"
    code, out, _ = run_command("tokenizer", "encode", tokenizer, "the cat", "--json")
    assert code == 0 and "".join(json.loads(out)["tokens"]) == "the cat"


def test_a_tokenizer_grows_and_its_ids_stay(run_command, corpus, tmp_path):
    def train(name, *options):
        out = tmp_path / name
        code, printed, _ = run_command("tokenizer", "train", corpus, "--out", out, "--json", *options)
        assert code == 0
        return json.loads(printed)["fingerprint"], Tokenizer.load(out)

    _, small = train("small.json", "--vocab_size", 280)
    whole, _ = train("whole.json", "--vocab_size", 300)
    assert train("large.json", "--vocab_size", 300, "--continue_from", tmp_path / "small.json")[0] == whole
    shifted = Tokenizer(
        {1000 - id: token for id, token in small.vocab.items()} | {7: b"not made by merges"},
        small.merges, ["<|endoftext|>", "<|user|>"], pattern=r"\S+|\s+",
    )  # fmt: skip
    shifted.save(tmp_path / "other.json")
    _, grown = train("grown.json", "--vocab_size", 300, "--continue_from", tmp_path / "other.json")
    assert grown.vocab.items() >= shifted.vocab.items() and len(grown.vocab) == 300
    assert grown.merges[: len(small.merges)] == small.merges and grown.pattern == shifted.pattern
    assert grown.special_tokens == shifted.special_tokens
    file = json.loads((tmp_path / "small.json").read_text(encoding="utf-8"))
    (tmp_path / "nfc.json").write_text(json.dumps(file | {"normalizer": {"type": "NFC"}}), encoding="utf-8")
    out = ["--vocab_size", 300, "--out", tmp_path / "no.json", "--continue_from", tmp_path / "nfc.json"]
    code, _, err = run_command("tokenizer", "train", corpus, *out)
    assert code == 2 and "nfc.json normalizes text (NFC)" in err


def test_limits_of_a_tokenizer(run_command, corpus, tmp_path):
    options = ["--vocab_size", 600, "--min_frequency", 40, "--max_token_length", 4]
    code, _, err = run_command("tokenizer", "train", corpus, "--out", tmp_path / "t.json", *options)
    tokenizer = Tokenizer.load(tmp_path / "t.json")
    assert code == 0 and f"{tokenizer.vocab_size} entries within the limits given" in err
    assert max(len(left + right) for left, right in tokenizer.merges) == 4


def test_ctrl_c_while_a_tokenizer_is_trained(run_command, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("groundup.cli.tokenizer.Counter.__call__", lambda *_: os.kill(os.getpid(), signal.SIGINT))
    code, out, err = run_command("tokenizer", "train", corpus, "--vocab_size", 300, "--out", tmp_path / "t.json")
    assert (code, out, err.strip()) == (130, "", "groundup: interrupted")
    assert not list(tmp_path.iterdir())


def test_inspect_json(run_command, finished_run):
    facts = json.loads(run_command("tokenizer", "inspect", finished_run, "--json")[1])
    assert facts["vocab_size"] == 300 and facts["special_tokens"] == {"<|endoftext|>": 0}
    data = json.loads(run_command("data", "inspect", finished_run.parent / "data", "--json")[1])
    assert data["dtype"] == "uint16"


def test_eval_scores_the_held_out_split_or_a_text(run_command, finished_run, corpus):
    code, out, _ = run_command("eval", finished_run, "--json")
    own = json.loads(out)
    assert code == 0 and own["nats_per_token"] > 0 and own["bits_per_byte"] > 0
    other = json.loads(run_command("eval", finished_run, "--text", corpus, "--json")[1])
    assert other["num_targets"] > own["num_targets"]
    code, out, _ = run_command("eval", finished_run)
    assert code == 0 and "bits per byte" in out


def test_generate_is_reproducible_and_batches_equal_single_runs(run_command, finished_run):
    options = ["--max_tokens", "12", "--seed", "3", "--json"]
    both = run_command("generate", finished_run, "--prompt", "The", "--prompt", "A dog ran", *options)[1]
    first, second = (json.loads(line) for line in both.splitlines())
    single = json.loads(run_command("generate", finished_run, "--prompt", "A dog ran", *options)[1])
    assert second["ids"] == single["ids"] and first["prompt"] == "The"
    streamed = run_command("generate", finished_run, "--prompt", "A dog ran", "--max_tokens", "12", "--seed", "3")[1]
    assert streamed == "A dog ran" + single["text"] + "\n"


def test_generate_and_eval_take_the_engine_and_the_weights(run_command, finished_run):
    options = ["--prompt", "A dog", "--max_tokens", "12", "--temperature", "0", "--json"]
    written = {
        name: json.loads(run_command("generate", finished_run, *options, *extra)[1])
        for name, extra in {
            "native": [],
            "reference": ["--kernels", "reference"],
            "int8": ["--weights", "int8"],
        }.items()
    }
    assert written["native"]["ids"] == written["reference"]["ids"]
    assert len(written["int8"]["ids"]) == 12 and written["int8"]["logprobs"] != written["native"]["logprobs"]
    own, rounded = (
        json.loads(run_command("eval", finished_run, "--json", *extra)[1]) for extra in ([], ["--weights", "int8"])
    )
    assert 0 < abs(own["nats_per_token"] - rounded["nats_per_token"]) < 0.02


def test_generate_reads_prompts_from_a_pipe(finished_run):
    program = "import sys; from groundup.cli.main import main; sys.exit(main())"
    line = [sys.executable, "-c", program, "generate", str(finished_run), "--max_tokens", "3", "--seed", "0"]
    done = subprocess.run(line, input="The cat\nA dog\n", capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    assert "The cat" in done.stdout and "A dog" in done.stdout


def test_generate_answers_a_pipe_with_json_where_asked(run_command, finished_run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("The cat\nA dog\n"))
    _, out, _ = run_command("generate", finished_run, "--max_tokens", "3", "--num_samples", "2", "--json")
    assert [json.loads(line)["prompt"] for line in out.splitlines()] == ["The cat", "The cat", "A dog", "A dog"]


def test_bytes_on_a_pipe_that_are_not_text_get_one_sentence(run_command, finished_run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"caf\xe9\n"), encoding="utf-8"))
    code, _, err = run_command("generate", finished_run, "--max_tokens", "3")
    assert code == 1
    assert_one_sentence(err, "surrogate", "3")


def test_num_samples(run_command, finished_run):
    _, out, _ = run_command("generate", finished_run, "--prompt", "The", "--num_samples", "3", "--max_tokens", "5")
    assert out.count("--- ") == 3


def test_print_config_is_a_recipe(run_command, tmp_path):
    code, out, _ = run_command("train", "--optimizer.lr", "1e-4", "--print_config")
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(out, encoding="utf-8")
    assert code == 0
    assert run_command("train", recipe, "--print_config")[1] == out


def test_a_setting_may_stand_before_the_recipe(run_command, tmp_path):
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text("training:\n  max_steps: 7\n", encoding="utf-8")
    code, out, _ = run_command("train", "--optimizer.lr", "1e-4", "--init_from", "x", recipe, "--print_config")
    assert code == 0 and "max_steps: 7" in out and "init_from: x" in out


def test_train_goes_on_with_resume(run_command, finished_run, tmp_path):
    options = ["train", "--data.path", finished_run.parent / "data", "--out", tmp_path / "run", *SMALL]
    code, out, _ = run_command(*options, "--json")
    assert code == 0 and json.loads(out)["steps"] == 6, "stdout holds the JSON and nothing else"
    code, _, err = run_command(*options)
    assert code == 2
    assert_one_sentence(err, "already holds a run", "--resume auto")
    assert run_command(*options, "--resume", "auto", "--training.max_steps=8")[0] == 0


# Bad input, command by command


# (command line, exit code, what the sentence must name); {bad} is a folder with one of every bad thing
BAD_LINES = [
    ("trian", 2, ["'trian'", "did you mean train"]),
    ("tokenizer train {bad}/no.txt --vocab_size 300 --out {bad}/t.json", 1, ["no.txt"]),
    ("tokenizer train {bad}/latin1.txt --vocab_size 300 --out {bad}/t.json", 1, ["latin1.txt", "byte offset 3"]),
    ("tokenizer train {text} --vocab_size 100 --out {bad}/t.json", 1, ["100", "257"]),
    ("tokenizer train {text} --vocab_size 300 --out {bad}/t.json --min_frequency 0", 1, ["min_frequency is 0"]),
    ("tokenizer train {text} --vocab_size 300 --out {bad}/t.json --max_token_length 0", 1, ["max_token_length is 0"]),
    ("tokenizer train {text} --vocab_size 299 --out {bad}/t.json --continue_from {run}", 2, ["299", "300 entries"]),
    ("tokenizer train {text} --vocab_size 400 --out {bad}/t.json --continue_from {run} --special x", 2, ["--special"]),
    ("tokenizer train {text} --vocab_size 400 --out {bad}/t.json --continue_from {bad}/no.json", 1, ["no.json"]),
    ("tokenizer train {text} --vocab_sise 300 --out {bad}/t.json", 2, ["vocab_si"]),
    ("tokenizer encode {bad}/no.json x", 1, ["no.json"]),
    ("tokenizer encode {bad}/broken.json x", 1, ["broken.json"]),
    ("tokenizer decode {run} 999999", 1, ["999999"]),
    ("tokenizer decode {run} seven", 1, ["seven"]),
    ("tokenizer encode {run} --file {bad}/latin1.txt", 1, ["byte offset 3"]),
    ("tokenizer encode {run} 'a<|endoftext|>' --special error", 1, ["<|endoftext|>"]),
    ("data prepare {bad}/no.txt --tokenizer {run} --out {bad}/d", 1, ["no.txt"]),
    ("data prepare {bad}/empty.txt --tokenizer {run} --out {bad}/d", 1, ["no text"]),
    ("data prepare {bad}/latin1.txt --tokenizer {run} --out {bad}/d", 1, ["latin1.txt", "3"]),
    ("data prepare {text} --tokenizer {bad}/no.json --out {bad}/d", 1, ["no.json"]),
    ("data prepare {text} --tokenizer {run} --out {bad}/d --valid_fraction 2", 1, ["2"]),
    ("data prepare {text} --tokenizer {run} --out {bad}/d --weights 1,2", 1, ["2 weights for 1 corpora"]),
    ("data prepare {text} --tokenizer {run} --out {bad}/d --weights 0", 1, ["a weight is 0"]),
    ("data prepare {text} --tokenizer {run} --out {bad}/d --weights some", 2, ["--weights", "'some'", "3,1"]),
    ("data download pile --out {bad}/d", 2, ["'pile'", "tinystories"]),
    ("data inspect {bad}", 1, ["manifest.json"]),
    ("train {bad}/no.yaml", 2, ["no.yaml"]),
    ("train --data.path {bad}/no --out {bad}/r", 1, ["no"]),
    ("train --optimiser.lr 1", 2, ["--optimizer.lr"]),
    ("train --training.seed 99999999999999999999", 2, ["training.seed is 99999999999999999999"]),
    ("train --optimizer.lr fast", 2, ["optimizer.lr", "'fast'", "number"]),
    ("train --data.path {data} --out {bad}/r --model.context_length 1000000", 1, ["1000001"]),
    ("train --data.path {bad}/changed --out {bad}/r", 1, ["tokenizer"]),
    ("eval {bad}/no", 1, ["no run or checkpoint"]),
    ("eval {bad}", 1, ["holds no checkpoint"]),
    ("eval {bad}/corrupted", 1, ["damaged"]),
    ("eval {run} --data {bad}/foreign", 1, ["tokenizer"]),
    ("eval {run} --text {bad}/no.txt", 1, ["no.txt"]),
    ("eval {run} --text {bad}/empty.txt", 1, ["empty.txt"]),
    ("eval {run} --batch_size 0", 2, ["--batch_size is 0"]),
    ("eval {run} --by document --show 0", 2, ["--show is 0"]),
    ("eval {run} {run} --by document", 2, ["--by takes one run", "2 are named"]),
    ("eval {run} --tasks arc_easy --text {text}", 2, ["--tasks brings its own text"]),
    ("generate {bad}/no --prompt x", 1, ["no run or checkpoint"]),
    ("generate {run} --prompt x --temperature -1", 2, ["temperature", "-1"]),
    ("generate {run} --prompt x --max_tokens -1", 2, ["max_tokens", "-1"]),
    ("generate {run} --prompt x --top_k many", 2, ["--top_k", "many"]),
    ("generate {run} --promt x", 2, ["--promt", "--prompt"]),
    ("generate {run} --prompt x --weights int4", 2, ["--weights", "int4", "int8"]),
    ("generate {run} --prompt x --weights int8 --kernels reference", 2, ["weights is int8", "kernels is reference"]),
    ("account --preset gpt7", 2, ["gpt7"]),
    ("doctor --jsn", 2, ["--json"]),
    ("demo --out {bad}", 2, ["not empty"]),
    ("demo --out {bad}/demo --minutes 0", 2, ["--minutes"]),
    ("demo --out {bad}/demo --steps -5", 2, ["--steps is -5"]),
]


@pytest.fixture(scope="session")
def bad_folder(finished_run, corpus, tmp_path_factory):
    """A folder with one of every bad thing the lines above name."""
    from groundup.data.shards import prepare
    from groundup.tokenizer.bpe import Tokenizer

    folder = tmp_path_factory.mktemp("bad")
    (folder / "empty.txt").write_bytes(b"")
    (folder / "latin1.txt").write_bytes(b"caf\xe9 au lait, and more text behind it.")
    (folder / "broken.json").write_text("{")
    shutil.copytree(finished_run.parent / "data", folder / "changed")
    foreign = Tokenizer({i: bytes([i]) for i in range(256)}, [], ["<|endoftext|>"])
    foreign.save(folder / "changed" / "tokenizer.json")
    prepare(corpus, foreign, folder / "foreign")
    shutil.copytree(finished_run, folder / "corrupted")
    for weights in (folder / "corrupted" / "checkpoints").glob("*/model.safetensors"):
        weights.write_bytes(weights.read_bytes()[:-50])
    return folder


@pytest.mark.parametrize(("line", "expected", "parts"), BAD_LINES, ids=[line for line, *_ in BAD_LINES])
def test_bad_input_gets_one_sentence(run_command, finished_run, corpus, bad_folder, line, expected, parts):
    places = {"bad": bad_folder, "text": corpus, "run": finished_run, "data": finished_run.parent / "data"}
    before = sorted(bad_folder.rglob("*"))
    code, out, err = run_command(*(word.format(**places) for word in shlex.split(line)))
    assert_one_sentence(err, *parts)
    assert (code, out) == (expected, "")
    assert sorted(bad_folder.rglob("*")) == before, "bad input must not leave anything behind"


def test_debug_shows_the_traceback(tmp_path):
    from groundup.errors import CheckpointError

    with pytest.raises(CheckpointError):
        main(["eval", str(tmp_path), "--debug"])


# D14: places and languages


@pytest.mark.parametrize("locale", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252"}])
def test_other_locales_and_names_with_spaces(corpus, tmp_path, locale):
    program = "import sys; from groundup.cli.main import main; sys.exit(main())"
    folder = tmp_path / "ein Ördner"
    environment = {key: value for key, value in os.environ.items() if key not in ("LANG", "LC_ALL")} | locale
    lines = [
        ["tokenizer", "train", corpus, "--vocab_size", "280", "--out", folder / "tök.json"],
        ["data", "prepare", corpus, "--tokenizer", folder / "tök.json", "--out", folder / "dätä"],
        ["data", "inspect", folder / "dätä"],
        ["train", "--data.path", folder / "dätä", "--out", folder / "Läufe 1", *SMALL],
        ["generate", folder / "Läufe 1", "--prompt", "“Où est", "--max_tokens", "8", "--seed", "1"],
    ]
    for line in lines:
        command = [sys.executable, "-c", program, *map(str, line)]
        done = subprocess.run(command, env=environment, capture_output=True)
        assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    from groundup.data.shards import read_manifest

    assert read_manifest(folder / "dätä").vocab_size == 280
    assert read_config(folder / "Läufe 1" / "config.yaml").out == str(folder / "Läufe 1")


def test_a_closed_pipe_is_no_traceback(finished_run):
    program = "import sys; from groundup.cli.main import main; sys.exit(main())"
    line = [sys.executable, "-c", program, "tokenizer", "inspect", str(finished_run), "--json"]
    child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    error = child.stderr.read().decode()
    child.stderr.close()
    child.wait()
    assert "Traceback" not in error


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="mounting a small file system needs root")
def test_no_space_left_is_one_sentence(run_command, finished_run, corpus, tmp_path):
    mount = tmp_path / "small"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)], capture_output=True).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        (mount / "filler").write_bytes(bytes(60_000))
        tokenizer, data = finished_run / "tokenizer.json", finished_run.parent / "data"
        for line in (
            ["tokenizer", "train", corpus, "--vocab_size", "300", "--out", mount / "t.json"],
            ["data", "prepare", corpus, "--tokenizer", tokenizer, "--out", mount / "data"],
            ["train", "--data.path", data, "--out", mount / "run", *SMALL],
        ):
            code, _, err = run_command(*line)
            assert code == 1
            assert_one_sentence(err, "space")
            assert "filler" in os.listdir(mount)
        assert not (mount / "t.json").exists() and not (mount / "data").exists()
    finally:
        subprocess.run(["umount", str(mount)], check=True)


def test_the_summary_of_a_run_that_diverged(finished_run, monkeypatch, capsys):
    from groundup.checkpoint import load_run
    from groundup.cli import results

    figures = {"tokens": 1, "seconds": 1.0, "valid_loss": "nan", "perplexity": "inf", "bits_per_byte": "nan"}
    figures |= {"peak_memory_bytes": 1_234_000_000}
    monkeypatch.setattr(results, "write_samples", lambda run, prompts, max_tokens: [])
    monkeypatch.setattr(results, "run_figures", lambda run: figures)
    results.finish_run(load_run(finished_run), prompts=[""])
    out = capsys.readouterr().out
    assert "validation: nan nats per token, perplexity inf" in out and "peak memory: 1.23 GB" in out


def test_a_terminal_that_went_away_does_not_end_a_run(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    progress = TrainingProgress(every_s=0.0)
    progress.write({"kind": "train", "step": 1, "max_steps": 2, "seconds": 1.0, "loss": 2.0, "tokens_per_s": 3.0})
    progress.write({"kind": "eval", "step": 1, "loss": 2.0, "perplexity": 7.4})
    progress.close()


def test_recipe_text_is_the_default_configuration():
    assert "max_steps: 1000" in write_config(RunConfig())


def test_an_option_that_only_another_command_has_is_not_its_own_correction(run_command):
    code, _, err = run_command("tokenizer", "encode", "t.json", "--vocab_size", "300")
    assert code == 2
    assert "unknown option --vocab_size" in err
    assert "did you mean --vocab_size" not in err
