"""Tests of `groundup doctor` on this machine and on made-up ones."""

import json
import sys
from types import SimpleNamespace

import pytest

from groundup import device, environment
from groundup.cli import doctor
from groundup.cli.main import main


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The speed of small products."""
    monkeypatch.setattr(doctor, "PRODUCT_SIZE", 16)


def by_name(findings) -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in findings}


def test_this_machine_is_ready(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    for heading in ("This machine:", "Software:", "What will be used:", "Ready."):
        assert heading in text
    assert text.isascii()


def test_json_holds_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ok"] is True
    assert found["environment"]["cores"] == environment.usable_cores()
    names = [finding["name"] for finding in found["findings"]]
    for name in ("processor", "memory", "disk", "torch", "native core", "encoding", "wandb", "device", "bf16"):
        assert name in names
    assert {finding["state"] for finding in found["findings"]} <= {"ok", "note"}


@pytest.mark.parametrize("module", ["torch", "groundup._native"])
def test_what_groundup_cannot_do_without_is_a_problem(capsys, monkeypatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    problems = [finding for finding in found["findings"] if finding["state"] == "problem"]
    assert len(problems) == 1
    assert "pip install" in problems[0]["advice"]
    assert main(["doctor"]) == 1
    assert "1 problem(s) found." in capsys.readouterr().out


@pytest.mark.parametrize(("flags", "state"), [({"avx2"}, "note"), ({"avx512_bf16"}, "ok"), ({"bf16"}, "ok")])
def test_precision_advice_follows_the_processor(monkeypatch, flags: set[str], state: str) -> None:
    monkeypatch.setattr(environment, "cpu_flags", lambda: frozenset(flags))
    finding = by_name(doctor.choices())["bf16"]
    assert finding.state == state
    assert ("falls back to float32" in finding.found) is (state == "note")


def test_compiling_needs_a_compiler_and_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "cpp_compiler", lambda: "/usr/bin/g++")
    monkeypatch.setattr(environment, "has_python_headers", lambda: True)
    assert "usable with /usr/bin/g++" in by_name(doctor.choices())["torch.compile"].found
    monkeypatch.setattr(environment, "has_python_headers", lambda: False)
    assert "Python.h is missing" in by_name(doctor.choices())["torch.compile"].found
    monkeypatch.setattr(environment, "cpp_compiler", lambda: None)
    finding = by_name(doctor.choices())["torch.compile"]
    assert (finding.state, finding.found) == ("note", "falls back to eager: no C++ compiler")


@pytest.mark.parametrize(
    ("name", "capability", "precision"), [("cuda", (9, 0), "ok"), ("cuda", (7, 5), "note"), ("mps", None, "note")]
)
def test_graphics_processors(monkeypatch, name: str, capability, precision: str) -> None:
    import torch

    monkeypatch.setattr(device, "choose_device", lambda asked: name)
    monkeypatch.setattr(doctor, "product_rate", lambda *arguments: 1e12)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    properties = SimpleNamespace(name="Big GPU", total_memory=80_000_000_000)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: properties)
    monkeypatch.setattr(environment.platform, "mac_ver", lambda: ("13.0", ("", "", ""), ""))
    found = by_name(doctor.choices())
    expected = "Big GPU, 80.0 GB, the first of 2" if name == "cuda" else "Apple's graphics processor"
    assert expected in found["device"].found
    assert found["bf16"].state == precision


def test_optional_packages_say_what_they_are_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "installed_version", lambda package: None)
    finding = by_name(doctor.software())["matplotlib"]
    assert (finding.state, finding.advice) == ("note", "for pictures of learning curves: pip install 'groundup[plots]'")


@pytest.mark.parametrize(("encoding", "state"), [("utf-8", "ok"), ("UTF8", "ok"), ("cp1252", "note"), (None, "note")])
def test_terminals_without_utf8_are_told(monkeypatch, encoding: str | None, state: str) -> None:
    monkeypatch.setattr(doctor.sys, "stdout", SimpleNamespace(encoding=encoding))
    assert doctor._encoding().state == state


def test_little_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=1_000_000))
    finding = by_name(doctor.machine())["disk"]
    assert (finding.state, finding.found) == ("note", "1.00 MB free in the current folder")


def test_the_speed_of_products_is_measured() -> None:
    import torch

    assert doctor.product_rate(torch, "cpu", torch.float32) > 0


def test_wrong_options_are_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--jsn"]) == 2
    assert "unknown option --jsn; did you mean --json?" in capsys.readouterr().err
