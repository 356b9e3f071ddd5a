"""The examples run alone, anywhere, without a warning, and show what they promise."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples"
EXAMPLES = sorted(FOLDER.glob("0*.py"))
MAX_LINES = 79


def output_of(number: str, folder: Path) -> str:
    """What the example prints, run in an empty folder, which it must leave empty."""
    (script,) = FOLDER.glob(f"{number}_*.py")
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        # Models this small are faster on one thread, whatever else the machine does.
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    return done.stdout


def test_there_are_six_short_ones():
    assert [path.name[:2] for path in EXAMPLES] == ["01", "02", "03", "04", "05", "06"]
    for path in EXAMPLES:
        lines = path.read_text(encoding="utf-8").splitlines()
        assert len(lines) <= MAX_LINES and lines[0].startswith('"""')
        assert any(f"python examples/{path.name}" in line for line in lines[:6])


def test_01_bytes_to_tokens(tmp_path):
    text = output_of("01", tmp_path)
    assert "c3 a9" in text and "f0 9f 99 83" in text
    # The merges of the sentence, counted by hand: "at" in cat, sat, mat, rat, sat, cat.
    assert re.findall(r"merge \d: '(.+?)' +seen (\d)", text)[:3] == [("at", "6"), ("th", "5"), ("the", "5")]
    assert "gives the text back: True" in text


def test_02_train_a_tokenizer(tmp_path):
    text = output_of("02", tmp_path)
    assert "+ 256 bytes + 1,743 merges" in text
    assert "Once| upon|" in text
    assert "same ids: True, same fingerprint: True" in text


def test_03_the_model(tmp_path):
    text = output_of("03", tmp_path)
    loss, chance = re.search(r"([\d.]+) nats, and ln\(10,000\) = ([\d.]+)", text).groups()
    assert float(loss) == pytest.approx(float(chance), abs=0.05)
    assert "logits     (8, 64, 10000)" in text
    assert "changes the logits at places 40 to 63" in text


def test_04_training_by_hand(tmp_path):
    text = output_of("04", tmp_path)
    losses = [float(loss) for loss in re.findall(r"^ *\d+ +([\d.]+) +[\d.]+ +[\d.]+$", text, re.MULTILINE)]
    assert len(losses) == 6 and losses[0] == pytest.approx(6.24, abs=0.4) and losses[-1] < losses[0] - 2
    assert re.search(r"after training: ' the'", text)


def test_05_training_by_library(tmp_path):
    text = output_of("05", tmp_path)
    (at_40, best_40), (at_80, best_80) = re.findall(r"at step \d+, ([\d,]+) tokens seen, .*? ([\d.]+)$", text, re.M)
    assert (at_40, at_80) == ("20,480", "40,960") and float(best_80) < float(best_40)
    assert "run/checkpoints/step-00000080/model.safetensors" in text
    nats, perplexity = re.search(r"held-out stories: ([\d.]+) nats per token, perplexity ([\d.]+)", text).groups()
    assert float(nats) == pytest.approx(float(best_80)) and float(perplexity) > 1


def test_06_generate(tmp_path):
    text = output_of("06", tmp_path)
    temperatures = re.findall(r"^ +(0|0\.7|1\.5): Once upon a time(.+)$", text, re.MULTILINE)
    assert len({story for _, story in temperatures}) == 3
    assert len(re.findall(r"\d+ tokens, [\d.]+ nats each, ", text)) == 2
    assert text.rstrip().splitlines()[-1].count(" | ") >= 5
