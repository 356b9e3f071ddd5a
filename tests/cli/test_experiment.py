"""`groundup experiment`: a question named, its figures and pages written."""

import json

from groundup.cli.main import main


def test_an_answer_is_written_and_named(tmp_path, capsys):
    assert main(["experiment", "unicode-1", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"page: {tmp_path / 'answers' / 'unicode-1.md'}",
        f"Chinese: {tmp_path / 'zh' / 'answers' / 'unicode-1.md'}",
    ]
    assert main(["experiment", "unicode-1", "--out", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["figures"]["category"] == "Cc"


def test_a_name_that_is_none_and_a_text_that_is_missing(capsys):
    assert main(["experiment", "unicode-3"]) == 2
    assert "there is no experiment 'unicode-3'; did you mean unicode-" in capsys.readouterr().err
    assert main(["experiment", "bpe-web", "--data", "stories.txt"]) == 2
    assert "1 texts are given and 2 needed" in capsys.readouterr().err
