"""The classes of both tokenizers are those of tiktoken, for every code point."""

import importlib.util
import re
from pathlib import Path

import pytest

from groundup import _native
from groundup.tokenizer import unicode_classes

ROOT = Path(__file__).resolve().parent.parent.parent
ALL_CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CLASSES = {"letter": unicode_classes.LETTERS, "number": unicode_classes.NUMBERS, "space": unicode_classes.SPACES}


@pytest.fixture(scope="module")
def maker():
    spec = importlib.util.spec_from_file_location("make_unicode_tables", ROOT / "tools/make_unicode_tables.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def members(maker):
    """The characters of each class, asked of tiktoken."""
    return {name: {chr(c) for c in maker.members(pattern)} for name, pattern in maker.PATTERNS.items()}


@pytest.fixture(scope="module")
def kinds(maker):
    """The same for the finer classes of the native core."""
    return {name: {chr(c) for c in maker.members(pattern)} for name, pattern in maker.KINDS.items()}


def test_reference_classes_are_those_of_tiktoken(members):
    text = "".join(ALL_CHARACTERS)
    for name, ranges in CLASSES.items():
        assert set(re.findall(f"[{ranges}]", text)) == members[name]


def test_native_classes_are_those_of_tiktoken(members):
    for name, expected in members.items():
        assert {c for c in ALL_CHARACTERS if _native.unicode_class(ord(c)) == name} == expected


def test_native_kinds_are_those_of_tiktoken(kinds):
    found = {name: set() for name in [*kinds, "other"]}
    for character in ALL_CHARACTERS:
        found[_native.unicode_kind(ord(character))].add(character)
    assert found.pop("other").isdisjoint(set().union(*kinds.values()))
    assert found == kinds


def test_kinds_are_the_classes_made_finer(members, kinds):
    assert members["letter"] == kinds["upper"] | kinds["lower"] | kinds["uncased"]
    assert sum(map(len, kinds.values())) == len(set().union(*kinds.values()))


def test_classes_are_disjoint_and_plausible(members):
    assert not members["letter"] & members["number"] and not members["letter"] & members["space"]
    assert {"a", "é", "你", "ª"} <= members["letter"] and {"0", "²", "Ⅷ", "३"} <= members["number"]
    assert {" ", "\n", "\x85", "\xa0", "\u3000"} <= members["space"] and not {"\x1c", "\u200b"} & members["space"]


def test_code_points_beyond_unicode_belong_to_no_class():
    assert _native.unicode_class(0x110000) == _native.unicode_class(0xFFFFFFFF) == "other"


def test_both_tables_name_the_version_they_were_made_from():
    assert _native.UNICODE_TABLES_VERSION == unicode_classes.VERSION == "tiktoken 0.14.0"


def test_generated_files_are_what_the_tool_writes(maker, members, kinds):
    def ranges(classes):
        return {name: maker.to_ranges({ord(c) for c in found}) for name, found in classes.items()}

    python = maker.python_module(unicode_classes.VERSION, ranges(members))
    assert (ROOT / "src/groundup/tokenizer/unicode_classes.py").read_text() == python
    assert (ROOT / "native/unicode.cpp").read_text() == maker.cpp_source(unicode_classes.VERSION, ranges(kinds))
