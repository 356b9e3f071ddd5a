"""The order of the rooms: imports point down only, at the top of a file and inside functions alike."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import groundup

SOURCE = Path(groundup.__file__).parent

# Lowest first; rooms on one line do not know each other.
LEVELS = [
    {"errors", "annotations"},
    {"files"},
    {"environment", "config"},
    {"recipe", "device"},
    {"corpus"},
    {"tokenizer", "model"},
    {"kernels"},
    {"data"},
    {"optim", "evaluation", "generation", "checkpoint"},
    {"training"},
    {"experiments", "interop"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(LEVELS) for room in rooms}
WITHOUT_TORCH = {"errors", "files", "environment", "config", "recipe", "corpus", "tokenizer"}


def modules() -> list[Path]:
    return sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Every module a file imports, wherever in it, with the line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            yield node.module or "", node.lineno
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node.lineno


def offences(path: Path, source: str) -> list[str]:
    """Imports of a file that point up or sideways, or bring torch where it must not be."""
    room, found = room_of(path), []
    for name, line in imports_of(ast.parse(source)):
        parts = name.split(".")
        if parts[0] == "torch" and room in WITHOUT_TORCH - {"environment"}:
            found.append(f"{path.name}:{line} imports torch")
        if parts[0] != "groundup" or len(parts) < 2 or parts[1] in (room, "_native", "__version__"):
            continue
        if parts[1] not in LEVEL:
            found.append(f"{path.name}:{line} imports {name}, a room without a place")
        elif LEVEL[parts[1]] >= LEVEL[room]:
            found.append(f"{path.name}:{line} ({room}) imports {name}")
    return found


def test_every_module_is_in_a_room_with_a_place():
    assert {room_of(path) for path in modules()} - {"_native"} <= set(LEVEL)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path):
    assert offences(path, path.read_text(encoding="utf-8")) == []


def test_only_the_rooms_of_text_and_kernels_know_the_native_core():
    users = {
        room_of(path)
        for path in modules()
        for name, _ in imports_of(ast.parse(path.read_text(encoding="utf-8")))
        if name.startswith("groundup._native")
    }
    assert users <= {"corpus", "tokenizer", "kernels", "environment", "cli"}


@pytest.mark.parametrize(
    "bad",
    [
        "import groundup.training.loop",
        "from groundup.training import loop",
        "def f():\n    from groundup.cli.main import main\n",
        "from groundup import training",
        "from groundup.generation.text import generate",
    ],
)
def test_the_check_sees_an_import_that_points_up_or_sideways(bad):
    assert offences(SOURCE / "evaluation" / "example.py", bad)


def test_the_check_sees_torch_in_the_tokenizer():
    assert offences(SOURCE / "tokenizer" / "example.py", "def f():\n    import torch\n")


def loaded_after(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after running `code`."""
    program = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


HEAVY = {"torch", "numpy", "regex", "jsonargparse", "rich", "yaml", "matplotlib", "pyarrow"}


@pytest.mark.parametrize(
    "code",
    [
        "import groundup",
        "from groundup import Tokenizer, train_bpe, ModelConfig",
        "import groundup.cli.main",
        "import groundup.cli.tokenizer",
    ],
)
def test_light_imports_load_nothing_heavy(code):
    assert loaded_after(code) & HEAVY == set()


def test_encoding_at_the_command_line_loads_no_torch(tmp_path):
    code = f"""
from groundup import Tokenizer
from groundup.cli.main import main
path = {str(tmp_path / "tokenizer.json")!r}
Tokenizer({{i: bytes([i]) for i in range(256)}}, []).save(path)
assert main(["tokenizer", "encode", path, "hello"]) == 0
"""
    program = code + "import sys; sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "104 101 108 108 111")


def test_every_public_name_of_the_package_exists():
    for name in groundup.__all__:
        assert getattr(groundup, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        groundup.nonsense  # noqa: B018
