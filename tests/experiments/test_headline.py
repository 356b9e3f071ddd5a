"""Tests of groundup.experiments.headline: the sentences say what the records say."""

from pathlib import Path

from experiments.runs import complete, eval_record, record, train_record, write_run

from groundup.experiments.headline import headline, key_figures, notices
from groundup.experiments.records import read_run


def figures_of(folder: Path) -> dict[str, tuple[str, str]]:
    return {figure.name: (figure.value, figure.about) for figure in key_figures(read_run(folder))}


def test_a_whole_run_in_two_sentences(tmp_path: Path) -> None:
    text = headline(read_run(write_run(tmp_path / "fables")))
    assert text == (
        "A Transformer language model with 39,840 parameters trained on 6,400 tokens of fables for 50 s on "
        "2 processor cores. On held-out text it reaches 2.00 nats per token: at each step it is as unsure as if "
        "it chose among 7.4 equally likely tokens of 300."
    )
    assert notices(read_run(tmp_path / "fables")) == []


def test_key_figures_take_the_best_validation_pass(tmp_path: Path) -> None:
    figures = figures_of(write_run(tmp_path))
    assert figures["Validation loss"] == ("2.000", "best, at update 50, on 5,000 held-out tokens")
    assert figures["Perplexity"][0] == "7.39"
    assert figures["Bits per byte"][0] == "0.721"
    assert figures["Training loss"] == ("2.500", "held-out text is 0.00 higher")
    assert figures["Parameters"] == ("39.8 k", "2 layers, width 32")
    assert figures["Tokens seen"] == ("6,400", "about 25.6 kB of text")  # four bytes a token
    assert figures["Speed"][0] == "128"
    assert figures["Time"] == ("50 s", "100 updates of 64 tokens")


def test_without_validation_the_training_loss_speaks(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, [train_record(10, 3.25)], config=False, environment=False))
    expected = (
        "A Transformer language model trained on 640 tokens for 5 s. Its training loss ended at 3.25 nats per token."
    )
    assert headline(run) == expected
    assert notices(run) == ["The run stands at update 10 of 100.", "No loss on held-out text was measured."]
    assert "Validation loss" not in {figure.name for figure in key_figures(run)}


def test_divergence_and_skipped_updates_are_said(tmp_path: Path) -> None:
    records = [train_record(90, 2.0), *(record("skipped", step, reason="nan") for step in range(91, 98))]
    run = read_run(write_run(tmp_path, [*records, train_record(100, "nan")]))
    assert notices(run) == [
        "7 updates had a loss or a gradient that was not finite and left the weights as they were "
        "(at 91, 92, 93, 94, 95, …).",
        "The loss was not finite at the end: the run diverged.",
        "No loss on held-out text was measured.",
    ]
    assert figures_of(tmp_path)["Training loss"][0] == "not finite"
    never = read_run(write_run(tmp_path / "never", [train_record(1, "nan")]))
    assert headline(never).endswith("Its loss was never finite.")


def test_no_record_at_all(tmp_path: Path) -> None:
    run = read_run(write_run(tmp_path, []))
    assert headline(run) == "This run has not written any measurements yet."
    assert [figure.name for figure in key_figures(run)] == ["Parameters"]


def test_validation_at_the_end_and_no_bytes(tmp_path: Path) -> None:
    last = {key: value for key, value in eval_record(100, 2.5).items() if key not in ("bits_per_byte", "num_targets")}
    figures = figures_of(write_run(tmp_path, [*complete()[:5], last]))
    assert figures["Validation loss"] == ("2.500", "at the end")
    assert "Bits per byte" not in figures
    assert figures["Tokens seen"][1] == ""


def test_peak_memory_is_that_of_the_largest_sitting(tmp_path: Path) -> None:
    sittings = [
        train_record(10, 3.0) | {"peak_memory_bytes": 900_000_000, "peak_device_memory_bytes": 20_000_000},
        eval_record(10, 3.0) | {"peak_memory_bytes": 1_234_000_000},
        train_record(20, 2.0) | {"peak_memory_bytes": 800_000_000},
    ]
    figures = figures_of(write_run(tmp_path, sittings))
    assert figures["Peak memory"] == ("1.23 GB", "of the process")
    assert figures["Peak GPU memory"] == ("20.0 MB", "as torch holds it")
    assert not any("memory" in name for name in figures_of(write_run(tmp_path / "without")))
