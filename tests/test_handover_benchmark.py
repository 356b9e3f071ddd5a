"""`make interop` sees where llama.cpp differs. llama.cpp is played by our own model here."""

import sys
from pathlib import Path

import pytest

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))

import handover

from groundup.checkpoint import load_run
from groundup.generation.engine import complete_ids
from groundup.generation.sampling import SamplingConfig
from groundup.interop.gguf import read_gguf_model
from groundup.interop.runs import write_run


class Player:
    """Answers as the worker of llama.cpp does, from the file it is given, without the last `missing` ids."""

    missing = 0

    def __init__(self, command, name):
        assert name == "llama_cpp"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def request(self, operation, **fields):
        if operation == "open":
            path = Path(fields["path"])
            self.run = load_run(write_run(read_gguf_model(path), path.parent / "run"))
            return {"version": "0", "vocab_size": self.run.model.config.vocab_size}
        if operation == "encode":
            return {"ids": [self.run.tokenizer.encode(text) for text in fields["texts"]]}
        greedy = SamplingConfig(max_tokens=fields["num_tokens"], temperature=0.0)
        (written,) = complete_ids(self.run.model, [fields["ids"]], greedy)
        return {"ids": written.ids[: len(written.ids) - self.missing]}


@pytest.mark.parametrize(("missing", "last"), [(0, "llama.cpp writes what we write"), (1, "llama.cpp differs")])
def test_both_sides_are_compared(missing, last, monkeypatch, capsys):
    monkeypatch.setattr(handover, "Worker", Player)
    monkeypatch.setattr(handover, "interpreter", lambda peer: sys.executable)
    monkeypatch.setattr(handover, "NUM_TOKENS", 6)
    monkeypatch.setattr(Player, "missing", missing)
    monkeypatch.setattr(sys, "argv", ["handover.py"])
    assert handover.main() == missing
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == last
    assert [line.split()[0] for line in lines[1:-1]] == ["same"] * 4 + (["different"] if missing else ["same"]) * 4
