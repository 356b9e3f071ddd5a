"""The card says what the run recorded, and nothing that it did not."""

import dataclasses
import json
import re

import pytest
import yaml
from interop.models import make_run

from groundup.checkpoint import load_run
from groundup.files import write_json
from groundup.interop.model_card import write_card
from groundup.training.loop import train
from groundup.training.metrics import read_metrics


@pytest.fixture
def trained(tiny_config):
    run = train(dataclasses.replace(tiny_config, training=dataclasses.replace(tiny_config.training, max_steps=4)))
    sample = {"prompt": "The", "text": " cat\n```\n# sat", "temperature": 0.8, "top_p": 0.95}
    write_json(run.folder / "samples/step-00000004.json", [sample])
    return load_run(run.folder)


def test_the_card_of_a_run(trained, prepared):
    card = write_card(trained, name="little", license="mit")
    _, head, body = card.split("---\n", 2)
    assert yaml.safe_load(head)["license"] == "mit" and yaml.safe_load(head)["pipeline_tag"] == "text-generation"
    assert body.startswith("\n# little\n")
    assert re.findall(r"^## (.*)", body, re.M) == ["Data", "Training", "Sample", "Configuration", "Use", "Limits"]
    splits = json.loads((prepared / "manifest.json").read_text())["splits"]
    assert f"| train | {splits['train']['documents']:,} | {splits['train']['bytes']:,} |" in body
    assert f"{trained.model.num_parameters():,} parameters" in body and "`text.txt`" in body
    assert f"4 updates of 4 sequences, {trained.state.tokens:,} tokens in all" in body
    (measured,) = (record for record in read_metrics(f"{trained.config.out}/metrics.jsonl") if record["kind"] == "eval")
    assert f"{measured['loss']:.4f} nats per token" in body and f"{measured['bits_per_byte']:.4f} bits per byte" in body
    assert "    The cat\n    ```\n    # sat\n" in body  # as text, not as markup
    assert "| num_kv_heads | 2 |" in body


def test_what_a_run_did_not_record_is_left_out(tokenizer, tmp_path):
    card = write_card(make_run(tokenizer, tmp_path), name="bare")
    assert re.findall(r"^## (.*)", card, re.M) == ["Configuration", "Use", "Limits"]
    assert 'license: "unknown"' in card


def test_data_that_moved_are_named_only(trained):
    gone = dataclasses.replace(trained.config, data=dataclasses.replace(trained.config.data, path="elsewhere/stories"))
    card = write_card(dataclasses.replace(trained, config=gone), name="little")
    assert "`stories`, not at hand any more" in card and "documents" not in card


def test_a_card_of_ones_own_is_handed_on(tokenizer, tmp_path):
    (tmp_path / "README.md").write_text("Mine: é\n", encoding="utf-8")
    assert write_card(make_run(tokenizer, tmp_path), name="bare", license="mit") == "Mine: é\n"
