"""What the harness asks of a model, answered as our own evaluation and generation do; with the harness, a tiny task."""

import itertools
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from groundup.config import ModelConfig
from groundup.errors import ConfigError, DataError
from groundup.evaluation.likelihood import evaluate_tokens
from groundup.generation.text import generate
from groundup.interop.harness import RunRequests, _Text, evaluate_tasks, register
from groundup.model.transformer import TransformerLM
from groundup.tokenizer.bpe import Tokenizer

CONTEXT = 16
MERGES = [(b"t", b"h"), (b"th", b"e"), (b" ", b"c"), (b" c", b"a"), (b" ca", b"t"), (b" ", b"a")]
TOKENS = dict(enumerate([*(bytes([byte]) for byte in range(256)), *(first + second for first, second in MERGES)]))
TOKENIZER = Tokenizer(TOKENS, MERGES, ["<|endoftext|>"])
END = TOKENIZER.end_of_text_id
TEXTS = ["the cat ate", "t", "the" * CONTEXT, "a cat, the cat, that cat, the other cat and the hat" * 2]


@pytest.fixture
def run() -> SimpleNamespace:
    torch.manual_seed(0)
    shape = {"vocab_size": TOKENIZER.vocab_size, "context_length": CONTEXT, "d_model": 16, "num_layers": 1}
    model = TransformerLM(ModelConfig(num_heads=2, **shape))
    with torch.no_grad():
        model.lm_head.weight.mul_(20)  # so that one id is clearly the most likely
    return SimpleNamespace(model=model, tokenizer=TOKENIZER)


def logprobs(run, ids):
    """ln p of each id but the first, alone, in float64."""
    model = run.model.double().eval()
    with torch.no_grad():
        found = model(torch.tensor([ids[:-1]]))[0].log_softmax(-1)
    run.model.float()
    return found.gather(-1, torch.tensor(ids[1:])[:, None])[:, 0].tolist()


@pytest.mark.parametrize("batch_size", [1, 2, 32])
def test_a_text_that_fits_is_scored_as_evaluation_does(run, batch_size):
    requests = RunRequests(run, batch_size=batch_size)
    for text, found in zip(TEXTS[:3], requests.loglikelihood_rolling(TEXTS[:3]), strict=True):
        ids = np.array([END, *TOKENIZER.encode(text)], dtype=np.uint16)
        assert len(ids) <= CONTEXT + 1
        score = evaluate_tokens(run.model, ids)
        assert found == pytest.approx(-score.nats_per_token * score.num_targets, abs=1e-4)


def test_whole_windows_are_those_of_evaluation(run):
    text = "the" * 3 * CONTEXT
    ids = np.array([END, *TOKENIZER.encode(text)], dtype=np.uint16)
    assert len(ids) == 3 * CONTEXT + 1
    score = evaluate_tokens(run.model, ids)
    (found,) = RunRequests(run).loglikelihood_rolling([text])
    assert found == pytest.approx(-score.nats_per_token * score.num_targets, abs=1e-3)


def test_the_last_window_sees_as_much_as_it_can(run):
    ids = [END, *TOKENIZER.encode(TEXTS[3])]
    whole, rest = divmod(len(ids) - 1, CONTEXT)
    assert whole > 2 and rest
    expected = sum(sum(logprobs(run, ids[start : start + CONTEXT + 1])) for start in range(0, whole * CONTEXT, CONTEXT))
    expected += sum(logprobs(run, ids[-CONTEXT - 1 :])[-rest:])
    (found,) = RunRequests(run).loglikelihood_rolling([TEXTS[3]])
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("batch_size", [1, 3])
def test_an_answer_is_scored_behind_its_question(run, batch_size):
    pairs = [("the cat", " ate"), ("", "the cat"), ("a", " cat"), ("the ", "cat"), (" \n", "the cat")]
    cuts = [("the cat", " ate"), ("", "the cat"), ("a", " cat"), ("the", " cat"), ("", " \nthe cat")]
    for (context, answer), (found, _) in zip(
        cuts, RunRequests(run, batch_size=batch_size).loglikelihood(pairs), strict=True
    ):
        before = TOKENIZER.encode(context) if context else [END]
        ids = [*before, *TOKENIZER.encode(answer)]
        assert found == pytest.approx(sum(logprobs(run, ids)[len(before) - 1 :]), abs=1e-4)


def test_a_long_question_loses_its_beginning_and_a_long_answer_nothing(run):
    question, answer = "a cat " * 20, " the cat"
    ids = TOKENIZER.encode(question.rstrip() + answer.replace(" the", "  the"))
    long = [*TOKENIZER.encode("a"), *TOKENIZER.encode("the" * 40)]
    (short, _), (all_of_it, _) = RunRequests(run).loglikelihood([(question, answer), ("a", "the" * 40)])
    scored = len(ids) - len(TOKENIZER.encode(question.rstrip()))
    assert short == pytest.approx(sum(logprobs(run, ids[-CONTEXT - 1 :])[-scored:]), abs=1e-4)
    expected = sum(logprobs(run, long[:17])) + sum(logprobs(run, long[16:33])) + sum(logprobs(run, long[-17:])[-8:])
    assert all_of_it == pytest.approx(expected, abs=1e-3)


def test_the_most_likely_answer_is_greedy(run):
    with torch.no_grad():
        run.model.lm_head.weight.zero_()  # all logits 0: the first id is the most likely one
    requests = RunRequests(run)
    (zero, is_zero), (other, is_other) = requests.loglikelihood([("the cat", "\0\0"), ("the cat", "\0b")])
    assert (is_zero, is_other) == (True, False)
    assert zero == other == pytest.approx(-2 * np.log(TOKENIZER.vocab_size))


def test_a_special_token_in_a_question_is_text(run):
    ids = [END, *TOKENIZER.encode("<|endoftext|>", special="text")]
    (found,) = RunRequests(run).loglikelihood_rolling(["<|endoftext|>"])
    assert found == pytest.approx(sum(logprobs(run, ids)), abs=1e-4)


def test_texts_are_written_as_generation_does(run):
    prompts = ["the cat", "a", "the cat ate"]
    plain = RunRequests(run).generate_until([(prompt, {"max_gen_toks": 8}) for prompt in prompts])
    assert plain == [one.text for one in generate(run, prompts, max_tokens=8, temperature=0)]
    stop = plain[0][3:5]
    stopped = RunRequests(run).generate_until([("the cat", {"until": [stop, ""], "max_new_tokens": 8})])
    assert stopped == [plain[0][: plain[0].index(stop)]]
    drawn = {"do_sample": True, "temperature": 0.7, "top_p": 0.9, "top_k": 5, "max_gen_toks": 8}
    mixed = RunRequests(run).generate_until([("a", drawn), ("the cat", {"max_gen_toks": 8}), ("the cat", drawn)])
    assert mixed[1] == plain[0], "in the order of the requests"
    fields = {"max_tokens": 8, "temperature": 0.7, "top_p": 0.9, "top_k": 5}
    assert [mixed[0], mixed[2]] == [one.text for one in generate(run, ["a", "the cat"], **fields)]


@pytest.mark.parametrize(
    ("options", "temperature"),
    [
        ({}, 0.0),
        ({"temperature": 0.0}, 0.0),
        ({"temperature": 0.5}, 0.5),
        ({"do_sample": False, "temperature": 0.5}, 0.0),
        ({"do_sample": True}, 1.0),
    ],
)
def test_greedy_unless_asked_otherwise(run, options, temperature):
    assert RunRequests(run)._sampling(options).temperature == temperature


def test_a_model_in_training_mode_is_scored_without_dropout(run):
    model = TransformerLM(ModelConfig(vocab_size=263, context_length=CONTEXT, d_model=16, num_heads=2, dropout=0.5))
    run = SimpleNamespace(model=model.train(), tokenizer=TOKENIZER)
    first, second = (RunRequests(run).loglikelihood_rolling([TEXTS[0]]) for _ in range(2))
    assert first == second and model.training


def test_a_tokenizer_without_an_end(run):
    run.tokenizer = Tokenizer(TOKENS, MERGES)
    with pytest.raises(DataError, match=r"no <\|endoftext\|>"):
        RunRequests(run)


def test_the_extra_is_named_where_it_is_missing(run, monkeypatch):
    register.cache_clear()
    for name in ("lm_eval", "lm_eval.models", "lm_eval.api.model"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigError, match=r"lm-evaluation-harness; .*pip install 'groundup\[eval\]'"):
        evaluate_tasks(run, ["arc_easy"])


# With the harness itself, and tasks of ours, offline.

CHOICE = """
task: cats
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
metric_list: [{metric: acc}]
"""
ROLLING = """
task: tales
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{question}}"
metric_list: [{metric: bits_per_byte}]
"""
WRITING = """
task: letters
dataset_path: json
dataset_kwargs: {data_files: {test: DATA}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{written}}"
generation_kwargs: {until: ["\\n"], max_gen_toks: 4, do_sample: false}
metric_list: [{metric: exact_match}]
"""


@pytest.fixture
def tasks(run, tmp_path, monkeypatch):
    """A folder with three tasks over one file of questions, and what is right to answer."""
    pytest.importorskip("lm_eval", reason="needs lm-evaluation-harness: pip install 'groundup[eval]'")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    requests = RunRequests(run)
    rows = []
    for number, question in enumerate(["the cat", "a", "the hat", "that"]):
        choices = [" ate", " cat", " the"]
        scores = [score for score, _ in requests.loglikelihood([(question, f" {choice}") for choice in choices])]
        best = int(np.argmax(scores))
        (written,) = requests.generate_until([(question, {"max_gen_toks": 4, "until": ["\n"]})])
        answer = best if number else (best + 1) % 3  # one of four is wrong
        rows.append({"question": question, "choices": choices, "answer": answer, "written": written})
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "tasks").mkdir()
    for name, task in {"cats": CHOICE, "tales": ROLLING, "letters": WRITING}.items():
        text = task.replace("DATA", json.dumps(str(tmp_path / "rows.jsonl")))
        (tmp_path / "tasks" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return tmp_path / "tasks", rows


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the harness and what it imports
def test_the_harness_itself(run, tasks):
    folder, rows = tasks
    results = evaluate_tasks(run, ["cats", "tales", "letters"], include_path=folder)
    assert results["cats"]["acc"] == 0.75
    scores = RunRequests(run).loglikelihood_rolling([row["question"] for row in rows])
    num_bytes = sum(len(row["question"].encode()) for row in rows)
    assert results["tales"]["bits_per_byte"] == pytest.approx(-sum(scores) / np.log(2) / num_bytes, abs=1e-6)
    assert results["letters"]["exact_match"] == 1.0


def test_windows_score_each_id_once(run):
    requests = RunRequests(run)
    for length, num_scored in itertools.product(range(2, 60), (1, 5, 15, 16, 17, 40)):
        if num_scored < length:
            ids = list(range(length))
            windows = list(requests._windows(_Text(ids, num_scored)))
            assert [id for window in windows for id in window.ids[-window.num_scored :]] == ids[-num_scored:]
            assert all(window.num_scored < len(window.ids) <= CONTEXT + 1 for window in windows)
            if len(windows) > 1:
                assert len(windows[-1].ids) == CONTEXT + 1
