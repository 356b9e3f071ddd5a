"""Text in, text out: streams equal wholes, stop strings are cut exactly, characters stay whole."""

import dataclasses
from types import SimpleNamespace

import pytest
import torch
from generation.fake_model import FakeModel, chaotic, says, scripted
from hypothesis import given, settings
from hypothesis import strategies as st

from groundup.config import ModelConfig
from groundup.errors import ConfigError, TokenizerError
from groundup.generation.sampling import SamplingConfig
from groundup.generation.text import generate, stream_text
from groundup.model.transformer import TransformerLM
from groundup.tokenizer.bpe import Tokenizer

# One token for each byte, id = byte, and the end token.
BYTES = Tokenizer({byte: bytes([byte]) for byte in range(256)}, [], special_tokens=["<|endoftext|>"])
END = 256
GREEDY = SamplingConfig(max_tokens=100, temperature=0.0)


def writer(text: str, *, prompt: str = "x") -> SimpleNamespace:
    """A run that writes `text`, byte by byte, and ends."""
    ids = [*text.encode(), END]
    model = scripted(ids, vocab_size=257, prompt=len(prompt.encode()))
    return SimpleNamespace(model=model, tokenizer=BYTES)


def chaos(context_length: int = 16) -> SimpleNamespace:
    """A run whose bytes are as good as random: mostly not UTF-8."""
    return SimpleNamespace(model=chaotic(vocab_size=257, context_length=context_length), tokenizer=BYTES)


def test_a_completion_says_what_happened():
    (done,) = generate(writer("time 🐢."), "x", config=GREEDY)
    assert (done.prompt, done.text, done.stop_reason) == ("x", "time 🐢.", "end_of_text")
    assert done.ids == list("time 🐢.".encode())
    assert len(done.logprobs) == len(done.ids) and all(logprob <= 0 for logprob in done.logprobs)


def test_a_stop_string_over_several_tokens_is_cut_exactly():
    (done,) = generate(writer("one END two"), "x", config=GREEDY, stop="END")
    assert (done.text, done.stop_reason) == ("one ", "stop")
    assert bytes(done.ids).decode() == "one END"  # the ids are those drawn; nothing was written after them


@settings(max_examples=30, deadline=None)
@given(
    st.text("aé🐢b\n", max_size=12),
    st.lists(st.text("aé🐢b\n", min_size=1, max_size=3), max_size=3),
    st.integers(0, 30),
)
def test_stops_and_streams_agree_with_the_whole_text(text, stops, max_tokens):
    run = writer(text)
    config = dataclasses.replace(GREEDY, stop=tuple(stops), max_tokens=max_tokens)
    pieces = list(stream_text(run, "x", config=config))
    (done,) = generate(run, "x", config=config)
    assert "".join(pieces) == done.text
    assert all(pieces)
    shown = text.encode()[:max_tokens].decode(errors="replace")
    ends = {stop: shown.find(stop) + len(stop) for stop in stops if stop in shown}
    if ends:
        first = min(ends.values())
        longest = max(len(stop) for stop, end in ends.items() if end == first)
        assert (done.text, done.stop_reason) == (shown[: first - longest], "stop")
    else:
        assert done.text == shown
        assert done.stop_reason == ("length" if max_tokens <= len(text.encode()) else "end_of_text")


def test_no_piece_of_a_stream_ends_within_a_character():
    assert list(stream_text(writer("a🐢é"), "x", config=GREEDY)) == ["a", "🐢", "é"]
    cut = dataclasses.replace(GREEDY, max_tokens=3)
    assert list(stream_text(writer("a🐢é"), "x", config=cut)) == ["a", "\ufffd"]


def test_a_stop_string_may_be_complete_only_at_the_end():
    cut = dataclasses.replace(GREEDY, max_tokens=2, stop=("\ufffd",))  # half a character, cut by max_tokens
    (done,) = generate(writer("aé"), "x", config=cut)
    assert (done.text, done.stop_reason) == ("a", "stop")
    assert list(stream_text(writer("aé"), "x", config=cut)) == ["a"]


def test_a_stream_of_nonsense_equals_the_whole():
    for sample in range(2):
        options = {"max_tokens": 40, "temperature": 2.0, "seed": 4, "stop": ["a", "\ufffd\ufffd\ufffd\ufffd"]}
        whole = generate(chaos(), "Once", num_samples=2, **options)[sample]
        assert "".join(stream_text(chaos(), "Once", sample=sample, **options)) == whole.text


def test_what_waits_for_a_stop_string_is_shown_when_none_comes():
    assert list(stream_text(writer("a EN"), "x", config=GREEDY, stop=["END"])) == ["a", " ", "EN"]


def test_prompts_and_samples_come_in_order_whatever_the_batch():
    prompts = ["Once", "", "Once upon a time there was", "Once"]
    options = {"num_samples": 2, "max_tokens": 8, "temperature": 1.5, "seed": 9}
    whole = generate(chaos(), prompts, **options)
    assert [one.prompt for one in whole] == [prompt for prompt in prompts for _ in range(2)]
    assert whole[0].ids != whole[1].ids
    assert whole[6:] == whole[:2]  # the same prompt, seed and number of the sample
    for batch_size in (1, 3):
        assert generate(chaos(), prompts, batch_size=batch_size, **options) == whole
    assert generate(chaos(), prompts, use_cache=False, **options) == whole
    alone = [generate(chaos(), prompt, **options) for prompt in prompts]
    assert [one for group in alone for one in group] == whole


@pytest.mark.parametrize("use_cache", [True, False])
def test_rows_that_stop_at_different_strings_equal_their_single_runs(use_cache):
    prompts = ["Once", "", "Once upon a time there was a", "x"]
    options = {"max_tokens": 16, "temperature": 2.0, "seed": 0, "stop": ["e", "\ufffd\ufffd\ufffd"]}
    together = generate(chaos(), prompts, use_cache=use_cache, **options)
    assert together == [generate(chaos(), prompt, **options)[0] for prompt in prompts]
    assert len({len(one.ids) for one in together}) > 2, "the rows leave at different times"
    assert "stop" in {one.stop_reason for one in together}


def test_seeds_are_reproducible_and_none_is_fresh():
    def ids(seed):
        return generate(chaos(), "a", max_tokens=10, temperature=2.0, seed=seed)[0].ids

    assert ids(1) == ids(1) != ids(2)
    assert ids(None) != ids(None)


def test_fields_replace_those_of_the_config():
    (done,) = generate(writer("abcdef"), "x", config=GREEDY, max_tokens=2)
    assert (done.text, done.stop_reason) == ("ab", "length")
    with pytest.raises(ConfigError, match="temperature is -1"):
        generate(writer("a"), "x", temperature=-1.0)
    with pytest.raises(ConfigError, match="stop is"):
        generate(writer("a"), "x", stop=["a", ""])
    with pytest.raises(TypeError, match="temprature"):
        generate(writer("a"), "x", temprature=1.0)
    with pytest.raises(ConfigError, match="num_samples is 0"):
        generate(writer("a"), "x", num_samples=0)


def test_errors_of_a_stream_come_before_its_first_piece():
    with pytest.raises(ConfigError, match="top_p is -1"):
        stream_text(writer("a"), "x", top_p=-1.0)


def test_an_empty_prompt_starts_from_the_end_token():
    seen = []

    def script(visible: list[int]) -> list[float]:
        seen.append(visible)
        return says(257, END)

    run = SimpleNamespace(model=FakeModel(script, vocab_size=257, context_length=8), tokenizer=BYTES)
    (done,) = generate(run, "", config=GREEDY)
    assert (done.text, done.ids, done.stop_reason) == ("", [], "end_of_text")
    assert seen == [[END]]


@pytest.mark.parametrize(("special", "ids"), [("text", [*b"<|endoftext|>"]), ("token", [END])])
def test_special_tokens_in_a_prompt_are_text_unless_asked(special, ids):
    seen = []

    def script(visible: list[int]) -> list[float]:
        seen.append(visible)
        return says(257, END)

    run = SimpleNamespace(model=FakeModel(script, vocab_size=257, context_length=64), tokenizer=BYTES)
    options = {} if special == "text" else {"special": special}
    generate(run, "<|endoftext|>", config=GREEDY, **options)
    list(stream_text(run, "<|endoftext|>", config=GREEDY, **options))
    assert seen == [ids, ids]
    with pytest.raises(TokenizerError, match="endoftext"):
        generate(run, "<|endoftext|>", special="error")


def test_ids_that_the_tokenizer_cannot_spell_are_never_drawn():
    sparse = Tokenizer({3: b"a", 5: b"b"}, [], special_tokens=["<|endoftext|>"])  # ids 3, 5 and 6
    model = FakeModel(lambda visible: [float(9 - id) for id in range(9)], vocab_size=9, context_length=8)
    run = SimpleNamespace(model=model, tokenizer=sparse)
    done = generate(run, "ab", num_samples=30, max_tokens=3, temperature=1e4)
    assert {id for one in done for id in one.ids} == {3, 5}


@pytest.mark.parametrize(("temperature", "num_kv_heads"), [(0.0, 1), (1e-8, None), (5.0, 1), (1e4, None)])
def test_an_untrained_model_writes_text(temperature, num_kv_heads):
    torch.manual_seed(0)
    shape = ModelConfig(
        vocab_size=257, context_length=8, d_model=16, num_layers=1, num_heads=2, num_kv_heads=num_kv_heads
    )
    run = SimpleNamespace(model=TransformerLM(shape), tokenizer=BYTES)
    options = {"max_tokens": 8, "temperature": temperature, "top_p": 0.95, "repetition_penalty": 1.2}
    prompts = ["", "Es war einmal ein Bär"]
    together = generate(run, prompts, **options)
    for prompt, one in zip(prompts, together, strict=True):
        assert one.text == BYTES.decode(one.ids)
        assert "".join(stream_text(run, prompt, **options)) == one.text
        (alone,) = generate(run, prompt, use_cache=False, **options)
        assert (alone.ids, alone.text) == (one.ids, one.text)
