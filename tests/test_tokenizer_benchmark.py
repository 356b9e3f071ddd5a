"""What decides in benchmarks/tokenizer.py: ids that are compared, sessions, ratios, refusals, the table.

Merges: test_merges_benchmark.py. No peer is installed: ours plays against itself and against workers of a few lines.
"""

import doctest
import importlib
import json
import sys
from array import array
from dataclasses import replace
from pathlib import Path

import pytest

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks" / "workers"))

from bench import commands, tokenizer_groups, tokenizer_inputs, tokenizer_peers
from bench.peers import Peer
from bench.plot import plot_measures
from bench.sessions import Entrant, Measure, Reading, Session, Step, conclude, play, play_rounds, rate, read
from bench.table import measures_table, significant
from bench.tokenizer_groups import Contest
from bench.tokenizer_inputs import QUICK, prepare_inputs
from bench.tokenizer_peers import TOKENIZERS, make_entrants
from bench.worker import WorkerError
from process_memory import peak_memory_bytes
from tokenizer_work import Encoder, EncoderWork, difference, printable_bytes

from groundup.corpus import iter_documents
from groundup.tokenizer.bpe import Tokenizer

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"
SPEED = Measure("speed", "MB/s", "higher")
TIME = Measure("time", "s", "lower")
GROWTH = Measure("growth", "x", None)
TINY = replace(QUICK, text_bytes=3_000, adversarial_bytes=(40, 160), vocab_sizes=(300,), num_small=3, toy_bytes=9_000)


@pytest.mark.parametrize("name", ["merges", "rounds", "table", "results", "tokenizer_groups", "ladder_training"])
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(f"bench.{name}"))[0] == 0


# Ids


@pytest.mark.parametrize(
    ("ids", "told"),
    [
        ([1, 2, 3], None),
        ([1, 7, 3], "wrong ids: 7, not 2, at 1"),
        ([1, 2], "wrong ids: 2, not 3"),
        ([], "wrong ids: 0, not 3"),
        ([1, 2, 3, 4], "wrong ids: 4, not 3"),
    ],
)
def test_the_first_difference_is_told(tmp_path, ids, told):
    (tmp_path / "ids").write_bytes(array("I", [1, 2, 3]).tobytes())
    assert difference(array("I", ids).tobytes(), str(tmp_path / "ids")) == told


class Letters(Encoder):
    """The code points of a text."""

    calls = {"encode": "ord"}  # noqa: RUF012, as in the workers

    def encode(self, text):
        return [ord(letter) for letter in text]

    def encode_list(self, text):
        return self.encode(text)

    def encode_batch(self, texts):
        return [self.encode(text) for text in texts]

    def decode(self, ids):
        return "".join(map(chr, ids))


@pytest.fixture
def letters(tmp_path):
    """The operations on Letters, and files with texts and right ids."""
    made = []

    def make(folder, threads):
        made.append(threads)
        return Letters()

    operations = EncoderWork(make, lambda: {"letters": "1"}).operations()
    (tmp_path / "text").write_text("hé\r\n", encoding="utf-8", newline="")
    (tmp_path / "texts").write_text(json.dumps(["hé", "", "llo"]), encoding="utf-8")
    assert operations["set_up"](str(tmp_path), 1) == {"versions": {"letters": "1"}, "calls": {"encode": "ord"}}
    operations["write_ids"](str(tmp_path / "ids"), text=str(tmp_path / "text"))
    operations["write_ids"](str(tmp_path / "all ids"), texts=str(tmp_path / "texts"))
    return operations, tmp_path, made


def test_calls_are_timed_and_their_ids_compared(letters):
    operations, folder, made = letters
    text, ids = {"text": str(folder / "text")}, {"reference": str(folder / "ids")}
    texts, all_ids = {"texts": str(folder / "texts")}, {"reference": str(folder / "all ids")}
    assert array("I", (folder / "ids").read_bytes()).tolist() == [ord(letter) for letter in "hé\r\n"]
    answers = [
        operations["encode"](**text, **ids, form="fastest"),
        operations["encode"](**text, **ids, form="list", fresh=True),
        operations["encode_batch"](**texts, **all_ids),
        operations["encode_each"](**texts, **all_ids),
        operations["decode"](**text),
    ]
    assert [answer["problem"] for answer in answers] == [None] * 5
    assert all(answer["seconds"] >= 0 for answer in answers)
    assert made == [1, 1]  # at the start and where a fresh one was asked for
    wrong = operations["encode"](**text, **all_ids, form="fastest")
    assert wrong["problem"] == "wrong ids: 13, not 108, at 2"


def test_a_decoder_must_return_the_text(letters, monkeypatch):
    operations, folder, _ = letters
    monkeypatch.setattr(Letters, "decode", lambda self, ids: "other")
    assert operations["decode"](text=str(folder / "text"))["problem"] == "decodes to another text"


def test_two_processors_for_one_thread_do_not_count(letters, monkeypatch):
    operations, folder, _ = letters
    fields = {"text": str(folder / "text"), "reference": str(folder / "ids"), "form": "fastest"}
    monkeypatch.setattr("tokenizer_work.timed", lambda call: (call(), 1.0, 1.9))
    assert operations["encode"](**fields)["problem"] == "took 1.9 processors where one was allowed"
    operations["set_up"](str(folder), 2)
    assert operations["encode"](**fields)["problem"] is None


def test_bytes_have_their_characters():
    byte_of = printable_bytes()
    assert sorted(byte_of.values()) == list(range(256))
    assert (byte_of["a"], byte_of["Ġ"], byte_of["Ċ"]) == (ord("a"), ord(" "), ord("\n"))


def test_peak_memory_is_in_bytes():
    peak = peak_memory_bytes()
    assert peak is None or 1 << 20 < peak < 1 << 40


# Sessions


@pytest.fixture
def entrants(tmp_path) -> list[Entrant]:
    """Workers that answer with a time: one is right, one has wrong ids, one dies, one cannot be installed."""
    scripts = {
        "groundup": "{'seconds': 2.0, 'problem': None}",
        "rival": "{'seconds': 4.0, 'problem': None}",
        "sloppy": "{'seconds': 1.0, 'problem': 'wrong ids: 1, not 2, at 0'}",
        "fragile": "os._exit(1)",
    }
    made = []
    for name, answer in scripts.items():
        path = tmp_path / f"{name}.py"
        path.write_text(
            f"import os, sys\nsys.path.insert(0, {str(BENCHMARKS / 'workers')!r})\nfrom protocol import serve\n"
            f"open({str(tmp_path / 'starts')!r}, 'a').write({name + ' '!r})\n"
            f"serve({{'set_up': lambda who: {{'who': who}}, 'encode': lambda: {answer}}})\n",
            encoding="utf-8",
        )
        made.append(Entrant(Peer(name, str(path)), Path(sys.executable)))
    return [*made, Entrant(Peer("absent", "none.py"), None, "there is no wheel")]


@pytest.fixture
def session() -> Session:
    steps = (Step("set_up", "set_up", {"who": "{peer}"}), Step("first", "encode", {}), Step("again", "encode", {}))
    readings = (
        Reading(SPEED, ("first",), rate(8_000_000)),
        Reading(TIME, ("again",), lambda answer: answer["seconds"]),
        Reading(GROWTH, ("first", "again"), lambda first, again: again["seconds"] / first["seconds"]),
    )
    return Session("session", steps, readings)


def test_a_session_is_a_process_and_its_name_reaches_it(entrants, session):
    assert play(session, entrants[1])["set_up"] == {"who": "rival"}


def test_who_fails_is_named_with_the_reason_and_not_measured(entrants, session, tmp_path):
    played = play_rounds(session, entrants, 3)
    outcomes = read(session, played)
    speed = outcomes["speed"]
    assert speed["contestants"]["groundup"] == {"median": 4.0, "low": 4.0, "high": 4.0, "rounds": [4.0] * 3}
    assert speed["contestants"].keys() == {"groundup", "rival"}
    assert speed["refused"]["sloppy"] == "wrong ids: 1, not 2, at 0"
    assert "the process ended" in speed["refused"]["fragile"]
    assert speed["refused"]["absent"] == "there is no wheel"
    assert outcomes["growth"]["ratios"] == {} and outcomes["growth"]["best_peer"] is None
    starts = (tmp_path / "starts").read_text(encoding="utf-8").split()
    assert {name: starts.count(name) for name in starts} == {"groundup": 3, "rival": 3, "sloppy": 3, "fragile": 1}


def test_a_ratio_above_one_says_that_ours_is_better():
    rounds = {"groundup": [4.0, 2.0], "a": [2.0, 1.0], "b": [1.0, 1.0]}
    speed, time = conclude(SPEED, rounds), conclude(TIME, rounds)
    assert speed["best_peer"] == "a" and speed["ratios"]["a"] == {"median": 2.0, "low": 2.0, "high": 2.0}
    assert time["best_peer"] == "b" and time["ratios"]["b"] == {"median": 0.375, "low": 0.25, "high": 0.5}
    assert conclude(SPEED, {"a": [1.0]})["ratios"] == {}


@pytest.fixture
def outcomes(entrants, session) -> dict:
    return read(session, play_rounds(session, entrants[:3], 1))


def test_the_table_has_a_row_for_each_measure(outcomes):
    header, speed, time, growth, *notes = measures_table("encode", outcomes).splitlines()
    assert header.split() == ["encode", "groundup", "rival", "sloppy", "ours", "/", "best"]
    assert speed.split() == ["speed", "MB/s", "4", "±0%", "2", "±0%", "wrong", "ids", "2.00", "(2.00-2.00)", "rival"]
    assert time.split() == ["time", "s", "2", "±0%", "4", "±0%", "wrong", "ids", "2.00", "(2.00-2.00)", "rival"]
    assert growth.split() == ["growth", "x", "1", "±0%", "1", "±0%", "wrong", "ids"]
    assert notes == ["  sloppy: wrong ids: 1, not 2, at 0 (speed, time, growth)"]


def test_numbers_have_three_digits_that_matter():
    assert [significant(value) for value in (0.01234, 1.239, 99.96, 123.4, 12_345.6)] == [
        *("0.0123", "1.24", "100", "123", "12,346")
    ]


def test_the_plot_shows_what_is_compared(outcomes, tmp_path):
    record = {"machine": {"processor": "Some CPU"}, "threads": 2, "date": "2025-03-01"}
    plot_measures(record | {"groups": {"encode": {"measures": outcomes}}}, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    alone = {"shards": {"measures": {"growth": outcomes["growth"]}}}
    plot_measures(record | {"groups": alone}, tmp_path / "b.png")
    assert not (tmp_path / "b.png").exists()


# Inputs, and our own worker from end to end


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    monkeypatch.setattr(tokenizer_inputs, "SHARED", tmp_path / "nothing")
    (tmp_path / "inputs").mkdir()
    return prepare_inputs(tmp_path / "inputs", [], TINY)


def test_without_a_corpus_there_are_toy_stories(inputs):
    assert [path.name for path in inputs.corpus] == ["toy-stories.txt"] and inputs.corpus_bytes >= 9_000
    english, unseen = (inputs.texts[name].read_text(encoding="utf-8") for name in ("English", "unseen"))
    assert inputs.sizes["English"] == len(english.encode()) == 3_000 == len(unseen.encode())
    assert "<|endoftext|>" not in english + unseen and english[:200] != unseen[:200]
    assert "".join(json.loads(inputs.documents["English"].read_text(encoding="utf-8"))) == english
    assert "multilingual" not in inputs.texts
    assert len(inputs.texts["spaces 160"].read_text(encoding="utf-8")) == 160
    assert inputs.vocabulary == "300 entries learned from the corpus"
    tokenizer = Tokenizer.load(inputs.folder / "tokenizer.json")
    assert tokenizer.special_tokens == {"<|endoftext|>": inputs.vocab_size - 1}
    assert (inputs.folder / "ranks.tiktoken").read_text(encoding="ascii").splitlines()[97] == "YQ== 97"


def test_packed_corpora_are_unpacked(tmp_path, monkeypatch):
    import gzip

    monkeypatch.setattr(tokenizer_inputs, "SHARED", tmp_path / "nothing")
    stories = ["One story.\n", "Another.\r\n", "And a third one."]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in stories), encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress("<|endoftext|>".join(stories).encode()))
    inputs = prepare_inputs(tmp_path, [tmp_path / "a.jsonl", tmp_path / "b.txt.gz"], TINY)
    for path in inputs.corpus:
        assert list(iter_documents(str(path))) == list(iter_documents(str(tmp_path / "b.txt.gz")))
    assert inputs.alphabet == len(set("".join(stories).encode() + b"<|endoftext|>"))


def test_our_side_plays_every_part(inputs, monkeypatch):
    """The reference, tiktoken, is ours here; it is checked elsewhere."""
    ours = tuple(one for one in TOKENIZERS if one.peer.name == "groundup")
    monkeypatch.setattr(tokenizer_groups, "TOKENIZERS", ours)
    monkeypatch.setattr("bench.tokenizer_sessions.REFERENCES", ("groundup",))
    contest = Contest(inputs, TINY, make_entrants(ours), threads=2, rounds=1)
    for name, run in tokenizer_groups.GROUPS.items():
        if name == "adversarial":
            kept = {kind: tokenizer_inputs.ADVERSARIAL[kind] for kind in ("spaces", "random code points")}
            monkeypatch.setattr(tokenizer_groups, "ADVERSARIAL", kept)
            monkeypatch.setattr("bench.tokenizer_sessions.ADVERSARIAL", kept)
        measures = run(contest)["measures"]
        assert measures, name
        for measure, outcome in measures.items():
            assert not outcome["refused"], (measure, outcome["refused"])
            assert outcome["contestants"].keys() == {"groundup"}


# Who takes part


def test_everyone_has_a_worker_and_pinned_requirements():
    assert [one.peer.name for one in TOKENIZERS] == [
        *("groundup", "gigatoken", "gigabpe", "fastokens", "tiktoken", "tokenizers", "rustbpe")
    ]
    for one in TOKENIZERS:
        assert one.peer.script.is_file()
        assert one.load or one.trains
        if one.peer.requirements:
            lines = (BENCHMARKS / "requirements" / one.peer.requirements).read_text(encoding="utf-8").splitlines()
            packages = [line.split("==")[0] for line in lines if not line.startswith("#")]
            assert one.peer.name in packages and all("==" in line for line in lines if not line.startswith("#"))


def test_who_cannot_be_installed_stays_in_the_list(monkeypatch):
    def fail(peer):
        raise WorkerError(f"no {peer.name}")

    monkeypatch.setattr(tokenizer_peers, "interpreter", fail)
    entrants = make_entrants(TOKENIZERS)
    assert len(entrants) == 7 and entrants["rustbpe"] == Entrant(TOKENIZERS[-1].peer, None, "no rustbpe")


def test_wrong_ids_after_loading_are_told(inputs, monkeypatch):
    here = Path(sys.executable)
    peers = [
        tokenizer_peers.TokenizerPeer(Peer("groundup", ""), load="t = [1, 2]", ids="t"),
        tokenizer_peers.TokenizerPeer(Peer("other", ""), load="t = [1, 3]", ids="t"),
        tokenizer_peers.TokenizerPeer(Peer("broken", ""), load="import nonsense_", ids="t"),
        tokenizer_peers.TokenizerPeer(Peer("absent", ""), load="t = [1, 2]", ids="t"),
    ]
    entrants = {one.peer.name: Entrant(one.peer, here) for one in peers[:3]}
    entrants["absent"] = Entrant(peers[3].peer, None, "no wheel")
    outcomes = commands.measure_loading(peers, entrants, inputs, rounds=1, loads=1)
    assert list(outcomes) == ["import + first load of a file", "import + load"]
    for outcome in outcomes.values():
        assert outcome["contestants"].keys() == {"groundup"}
        assert outcome["refused"] == {
            "other": "wrong ids: [1, 3], not [1, 2]",
            "broken": "ModuleNotFoundError: No module named 'nonsense_'",
            "absent": "no wheel",
        }
