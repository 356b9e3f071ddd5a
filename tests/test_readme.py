"""What the README tells people to type works, at a smaller size."""

import re
import shlex
from pathlib import Path

import pytest

from groundup.cli.main import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALLER = [
    "--model.d_model=16", "--model.num_heads=2", "--model.num_layers=1", "--model.context_length=16",
    "--training.max_steps=2", "--training.batch_size=2", "--training.device=cpu",
]  # fmt: skip


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


@pytest.fixture
def place(tmp_path, monkeypatch, text):
    """An empty folder with mine.txt and the project's recipes, as the working folder."""
    (tmp_path / "mine.txt").write_text(text * 5, encoding="utf-8")
    (tmp_path / "recipes").symlink_to(ROOT / "recipes")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_ten_lines_of_python(place, capsys):
    (code,) = blocks("python")
    assert len([line for line in code.splitlines() if line.strip()]) <= 11
    assert "max_steps=500" in code
    exec(compile(code.replace("max_steps=500", "max_steps=2, batch_size=2"), "README.md", "exec"), {})
    assert float(capsys.readouterr().out.split()[0]) > 1  # the perplexity


def test_the_commands_for_a_text_of_ones_own(place, capsys):
    (block,) = [block for block in blocks("") if "mine.txt" in block]
    for line in block.strip().splitlines():
        program, *arguments = shlex.split(line)
        assert program == "groundup"
        assert main(arguments + (SMALLER if arguments[0] == "train" else [])) == 0, line
    assert "nats per token" in capsys.readouterr().out
    assert (place / "runs/mine/report.html").exists()


def test_every_file_the_readme_links_to_exists():
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_every_command_of_the_table_exists():
    from groundup.cli.main import COMMANDS

    for name in COMMANDS:
        assert f"`groundup {name}" in README
