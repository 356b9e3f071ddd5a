"""The answers of docs/answers: pages say what the figures say, and the figures are what the commands compute."""

import doctest
import json
import re
from pathlib import Path
from typing import Any

import pytest

from groundup.errors import ConfigError, DataError
from groundup.experiments import accounting_answers, bpe_answers, compression_answer, measured_accounting
from groundup.experiments.answers import ANSWERS, LANGUAGES, Answer, AnswerOptions, find_answer, page, write_answer
from groundup.model import accounting

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMPUTED = ["unicode-1", "unicode-2", "accounting", "adamw-accounting"]  # from nothing but the code
CLAIMS = {
    "accounting": accounting_answers.forward_claims,
    "accounting-measured": measured_accounting.measured_claims,
    "bpe-tinystories": bpe_answers.stories_claims,
    "bpe-web": bpe_answers.web_claims,
    "tokenizer": compression_answer.compression_claims,
}


def recorded(name: str) -> Answer:
    figures = json.loads((DOCS / "answers" / "figures" / f"{name}.json").read_text(encoding="utf-8"))
    return Answer(name, figures, CLAIMS[name](figures) if name in CLAIMS else {})


def without_measured(figures: Any) -> Any:
    """The figures that depend on the texts alone, without those of the machine and the day."""
    if isinstance(figures, list):
        return [without_measured(figure) for figure in figures]
    if not isinstance(figures, dict):
        return figures
    if "median" in figures:
        return "measured"
    besides = {"machine", "rounds", "text", "texts", "stories_text"}
    return {name: without_measured(figure) for name, figure in figures.items() if name not in besides}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ANSWERS)
def test_a_page_says_what_its_figures_say(name, language, request):
    path = DOCS / LANGUAGES[language] / f"{name}.md"
    if request.config.getoption("--update-golden"):
        write_answer(recorded(name), DOCS)
    assert path.read_text(encoding="utf-8") == page(recorded(name), language)


@pytest.mark.parametrize("name", CLAIMS)
def test_the_figures_carry_what_the_page_says(name):
    assert recorded(name).claims
    assert all(recorded(name).claims.values())


@pytest.mark.parametrize("name", COMPUTED)
def test_figures_are_what_the_command_computes(name, monkeypatch, request):
    # PyTorch counts for minutes on a busy machine: the slow test below asks it, and tests/model/test_accounting.py.
    monkeypatch.setattr(accounting_answers, "flops_by_torch", lambda model: accounting.flops(model).total)
    answer = find_answer(name, AnswerOptions())
    if request.config.getoption("--update-golden"):
        write_answer(answer, DOCS)
    assert json.loads(json.dumps(answer.figures)) == recorded(name).figures


@pytest.mark.slow
def test_pytorch_counts_the_recorded_operations():
    found = {name: accounting_answers.flops_by_torch(model) for name, model in accounting_answers.four_sizes().items()}
    assert found == recorded("accounting").figures["counted_by_torch"]


@pytest.mark.parametrize("name", measured_accounting.SHAPES)
def test_what_was_predicted_is_what_the_formulas_say(name):
    figures = recorded("accounting-measured").figures[name]
    predicted = measured_accounting.predicted(*measured_accounting.SHAPES[name])
    assert {key: figures[key] for key in predicted} == predicted


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_steps_take_what_was_predicted():
    answer = find_answer("accounting-measured", AnswerOptions(rounds=1))
    assert answer.claims
    assert all(answer.claims.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bpe-tinystories", "bpe-web", "tokenizer"])
def test_figures_of_texts_are_what_the_command_finds(name, shared):
    texts = (str(shared / "data/tinystories/train.txt"), str(shared / "data/books/books.txt.zst"))
    answer = find_answer(name, AnswerOptions(texts, rounds=1))
    assert without_measured(json.loads(json.dumps(answer.figures))) == without_measured(recorded(name).figures)


def test_the_pages_have_the_numbers_of_the_specification():
    forward = page(recorded("accounting"))
    wanted = ["2,127,057,600", "8.51 GB", "4.5133e+12", "16.7 %", "7.1 %", "5.6 %", "66.9 %", "3.6 %"]
    wanted += ["1.4952e+14", "33.1", "55.2 %", "190,460,160", "3.4963e+11", "505,629,696", "1.0331e+12"]
    wanted += ["1,072,469,760", "2.2578e+12", "1,640,452,800", "3.5168e+12"]
    assert [number for number in wanted if number not in forward] == []
    training = page(recorded("adamw-accounting"))
    wanted = ["15.31 GB", "34.03 GB", "B = 3", "6,584 days", "14 operations per parameter"]
    assert [number for number in wanted if number not in training] == []


@pytest.mark.parametrize("preset", accounting_answers.SIZES.values())
def test_the_terms_of_the_memory_add_up_to_the_formula(preset):
    model = accounting_answers.preset_model(preset)
    layer, end = accounting_answers.activations_per_sequence(model)
    total = model.num_layers * sum(layer.values()) + sum(end.values())
    assert 4 * total == accounting.adamw_memory(model).bytes_per_sequence


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["unicode-1", "unicode-2"])
def test_the_sessions_of_a_page_are_true(name, language):
    blocks = re.findall(r"```python\n(.*?)```", page(recorded(name), language), flags=re.DOTALL)
    assert blocks
    runner = doctest.DocTestRunner()
    for block in blocks:
        runner.run(doctest.DocTestParser().get_doctest(block, {}, name, None, 0))
    assert runner.summarize().failed == 0


@pytest.fixture
def texts(tmp_path, text) -> tuple[str, str]:
    """Two small corpora that differ: too small for the vocabularies asked for, which end early."""
    for name, content in (("stories.txt", text), ("web.txt", text[::-1].replace(text[::-1][:15], "<|endoftext|>"))):
        (tmp_path / name).write_text(content, encoding="utf-8")
    return str(tmp_path / "stories.txt"), str(tmp_path / "web.txt")


@pytest.mark.parametrize("name", ["bpe-tinystories", "bpe-web", "tokenizer"])
def test_other_texts_give_other_figures_and_a_page_with_them(name, texts, monkeypatch):
    monkeypatch.setattr(bpe_answers, "READABLE_MERGES", 3)
    answer = find_answer(name, AnswerOptions(texts, rounds=1))
    figures, golden = json.loads(json.dumps(answer.figures)), recorded(name).figures
    assert figures.keys() == golden.keys()
    assert without_measured(figures) != without_measured(golden)
    if "peak_memory_bytes" in figures:
        assert figures["peak_memory_bytes"]["low"] >= figures["memory_before_bytes"]["high"] > 1e6
    for language in LANGUAGES:
        written = page(answer, language)
        assert "{" not in written
        uncarried = [claim for claim, holds in answer.claims.items() if not holds]
        assert bool(uncarried) == ("> " in written.split("\n")[2])
        assert all(claim in written for claim in uncarried)


def test_a_page_says_what_its_figures_do_not_carry():
    answer = recorded("unicode-1")
    doubtful = Answer(answer.name, answer.figures, {"zero is the first": True, "zero is a letter": False})
    assert page(doubtful).split("\n")[2] == (
        "> These figures do not carry everything that is said below: zero is a letter."
    )
    assert "zero is a letter" in page(doubtful, "zh").split("\n")[2]


def test_figures_and_pages_are_written_where_the_docs_have_them(tmp_path):
    assert write_answer(recorded("unicode-1"), tmp_path) == tmp_path / "answers" / "unicode-1.md"
    for path in ("answers/unicode-1.md", "zh/answers/unicode-1.md", "answers/figures/unicode-1.json"):
        assert (tmp_path / path).read_bytes() == (DOCS / path).read_bytes()


def test_what_cannot_be_answered_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match="no question is named 'unicode-3'"):
        find_answer("unicode-3", AnswerOptions())
    with pytest.raises(ConfigError, match="0 texts are given and 1 needed"):
        find_answer("bpe-tinystories", AnswerOptions())
    with pytest.raises(ConfigError, match="1 texts are given and 2 needed"):
        find_answer("tokenizer", AnswerOptions(("stories.txt",)))
    with pytest.raises(ConfigError, match="rounds is 0"):
        AnswerOptions(rounds=0)
    (tmp_path / "one.txt").write_text("a", encoding="utf-8")
    with pytest.raises(DataError, match="no pair"):
        find_answer("bpe-tinystories", AnswerOptions((str(tmp_path / "one.txt"),), rounds=1))
