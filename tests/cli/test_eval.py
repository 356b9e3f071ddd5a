"""`groundup eval` by parts and for several runs, as a user types it."""

import json
import math

import pytest
from interop.models import make_run

from groundup.interop.runs import Imported, write_run
from groundup.tokenizer.bpe import Tokenizer

BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], ["<|endoftext|>"])


@pytest.fixture(scope="module")
def runs(tokenizer, tmp_path_factory):
    """Two runs whose tokenizers differ."""
    folder = tmp_path_factory.mktemp("two runs")
    for name, words in (("words", tokenizer), ("bytes", BYTES)):
        run = make_run(words, num_layers=1)
        write_run(Imported(run.model.config, dict(run.model.state_dict()), words), folder / name)
    return folder / "words", folder / "bytes"


@pytest.fixture
def story(text, tmp_path):
    path = tmp_path / "some stories.txt"
    path.write_text(text[:2000], encoding="utf-8")
    return path


@pytest.mark.parametrize("by", ["document", "position"])
def test_parts_add_up_to_the_whole(run_command, runs, story, by):
    whole = json.loads(run_command("eval", runs[0], "--text", story, "--json")[1])
    code, out, _ = run_command("eval", runs[0], "--text", story, "--by", by, "--json")
    found = json.loads(out)
    assert code == 0
    parts = found[f"{by}s"]
    assert sum(part["num_targets"] for part in parts) == found["num_targets"] == whole["num_targets"]
    assert sum(part["num_bytes"] for part in parts) == whole["num_bytes"]
    assert math.fsum(part["nats"] for part in parts) == pytest.approx(found["nats"])
    assert found["nats_per_token"] == pytest.approx(whole["nats_per_token"])
    assert found["bits_per_byte"] == pytest.approx(whole["bits_per_byte"])


def test_documents_at_both_ends_are_shown(run_command, runs, story):
    code, out, _ = run_command("eval", runs[0], "--text", story, "--by", "document", "--show", "2")
    assert code == 0
    assert "hardest" in out and "easiest" in out and "bits per byte" in out
    assert "The cat sat on the mat" in out
    code, out, _ = run_command("eval", runs[0], "--text", story, "--by", "document", "--min_tokens", "100000")
    assert code == 0 and "0 of them of at least 100000 tokens" in out


def test_the_curve_over_the_context_is_shown(run_command, runs, story):
    code, out, _ = run_command("eval", runs[0], "--text", story, "--by", "position")
    lines = out.splitlines()
    assert code == 0
    assert lines[-1].split()[1] == "to" and "tokens before" in out


def test_runs_side_by_side_are_compared_by_bytes(run_command, runs, story):
    code, out, _ = run_command("eval", *runs, "--text", story)
    assert code == 0
    assert "bits/byte" in out and "vocabulary" in out and "bits per byte can be compared" in out
    code, out, _ = run_command("eval", *runs, "--text", story, "--json")
    one, other = json.loads(out)
    assert one["num_targets"] < other["num_targets"]
    assert abs(one["num_bytes"] - other["num_bytes"]) < 20, "but for the first token"
    same = run_command("eval", runs[0], runs[0], "--text", story)[1]
    assert "can be compared" not in same


def test_compare_says_which_number_can_be_compared(run_command, runs):
    code, out, _ = run_command("compare", *runs)
    assert code == 0
    assert "bits/byte" in out and "the vocabularies differ" in out
    assert "vocabularies" not in run_command("compare", runs[0], runs[0])[1]
