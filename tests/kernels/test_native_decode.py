"""The native decoder without torch, against a model of a few lines in float64."""

import os
import signal

import numpy as np
import pytest
from kernels.arrays import Array, address, as_values

from groundup import _native

PANEL = 32
CONTEXT = 24
THETA = 100.0
# (d_model, heads, kv_heads, d_ff, vocab_size): groups of heads, odd widths, sizes around panels and blocks of inputs.
SHAPES = [
    (32, 4, 4, 32, 64),
    (48, 6, 2, 45, 33),
    (40, 2, 1, 7, 129),
    (64, 1, 1, 65, 31),
    (12, 2, 2, 3, 5),
    (24, 6, 2, 530, 70),
]


class Model:
    """Random weights; norms away from 1. `placed` keeps what the native decoder reads."""

    def __init__(self, shape, weights="float32", num_layers=2, seed=0):
        self.d_model, self.heads, self.kv_heads, self.d_ff, self.vocab_size = shape
        self.d_head = self.d_model // self.heads
        self.weights, self.placed = weights, []
        generator = np.random.default_rng(seed)
        uniform = lambda *shape: generator.standard_normal(shape).astype(np.float32)  # noqa: E731
        matrix = lambda outputs, inputs: uniform(outputs, inputs) * np.float32(1.5 * inputs**-0.5)  # noqa: E731
        width = (self.heads + 2 * self.kv_heads) * self.d_head
        self.embedding, self.head = uniform(self.vocab_size, self.d_model), matrix(self.vocab_size, self.d_model)
        self.final_norm = 1 + uniform(self.d_model) / 3
        self.layers = [
            {
                "norm1": 1 + uniform(self.d_model) / 3,
                "qkv": matrix(width, self.d_model),
                "output": matrix(self.d_model, self.d_model),
                "norm2": 1 + uniform(self.d_model) / 3,
                "w1": matrix(self.d_ff, self.d_model),
                "w3": matrix(self.d_ff, self.d_model),
                "w2": matrix(self.d_model, self.d_ff),
            }
            for _ in range(num_layers)
        ]
        angles = np.arange(CONTEXT)[:, None] * THETA ** (-np.arange(0, self.d_head, 2) / self.d_head)
        self.cos, self.sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def place(self, array: Array) -> int:
        self.placed.append(np.ascontiguousarray(array))
        return address(self.placed[-1])

    def pack(self, *matrices: Array) -> tuple[int, int]:
        """By the definition: value (input, output) of each panel; of several matrices panels in turn."""
        panels, scales = [], []
        for matrix in matrices:
            outputs, inputs = matrix.shape
            padded = np.zeros((-(-outputs // PANEL) * PANEL, inputs), dtype=np.float32)
            padded[:outputs] = matrix
            scale = np.maximum(np.abs(padded).max(axis=1), 1e-9) / 127
            if self.weights == "int8":
                padded = np.rint(padded / scale[:, None])
            if self.weights == "int8":  # pairs of inputs together
                padded = np.pad(padded, ((0, 0), (0, inputs % 2))).reshape(len(padded), -1, 2)
            panels.append([padded[first : first + PANEL].swapaxes(0, 1) for first in range(0, len(padded), PANEL)])
            scales.append(scale.reshape(-1, PANEL))
        values = np.array([panel for group in zip(*panels, strict=True) for panel in group])
        if self.weights == "int8":
            return self.place(values.astype(np.int8)), self.place(np.stack(scales, axis=1).astype(np.float32))
        return self.place(as_values(values, self.weights == "bf16")), 0

    def as_int8(self):
        """The model that int8 weights stand for."""
        other = Model((self.d_model, self.heads, self.kv_heads, self.d_ff, self.vocab_size))
        rounded = lambda m: np.rint(m / (s := np.abs(m).max(axis=1, keepdims=True) / 127)) * s  # noqa: E731
        other.head = rounded(other.head)
        other.layers = [
            {name: rounded(value) if value.ndim == 2 else value for name, value in layer.items()}
            for layer in other.layers
        ]
        return other

    def native(self):
        layers = [
            (
                self.place(layer["norm1"]),
                self.pack(layer["qkv"]),
                self.pack(layer["output"]),
                self.place(layer["norm2"]),
                self.pack(layer["w1"], layer["w3"]),
                self.pack(layer["w2"]),
            )
            for layer in self.layers
        ]
        return _native.Decoder(
            layers,
            self.place(self.embedding),
            self.place(self.final_norm),
            self.pack(self.head),
            self.place(self.cos),
            self.place(self.sin),
            weights=self.weights,
            d_model=self.d_model,
            heads=self.heads,
            kv_heads=self.kv_heads,
            d_ff=self.d_ff,
            vocab_size=self.vocab_size,
            context_length=CONTEXT,
            norm_eps=1e-5,
        )

    def cache(self, num_rows: int) -> Array:
        size = {"num_layers": len(self.layers), "kv_heads": self.kv_heads, "d_head": self.d_head}
        return np.zeros(num_rows * _native.decoder_cache_size(**size, max_length=CONTEXT), dtype=np.float32)

    def logits(self, window):
        """Of the id after `window`, in float64."""
        norm = lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w  # noqa: E731
        x = self.embedding[window].astype(np.float64)
        seq = len(window)
        hidden = np.triu(np.full((seq, seq), -np.inf), 1)
        for layer in self.layers:
            qkv = (norm(x, layer["norm1"]) @ layer["qkv"].T).reshape(seq, -1, self.d_head).transpose(1, 0, 2)
            q, k, v = np.split(qkv, [self.heads, self.heads + self.kv_heads])
            q, k = self.turned(q), self.turned(k)
            k, v = (np.repeat(one, self.heads // self.kv_heads, axis=0) for one in (k, v))
            scores = q @ k.transpose(0, 2, 1) / np.sqrt(self.d_head) + hidden
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            gathered = (scores / scores.sum(-1, keepdims=True)) @ v
            x = x + gathered.transpose(1, 0, 2).reshape(seq, -1) @ layer["output"].T
            normed = norm(x, layer["norm2"])
            gate = normed @ layer["w1"].T
            x = x + (gate / (1 + np.exp(-gate)) * (normed @ layer["w3"].T)) @ layer["w2"].T
        return norm(x[-1], self.final_norm) @ self.head.T

    def turned(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        cos, sin = self.cos[: x.shape[1]], self.sin[: x.shape[1]]
        return np.stack([even * cos - odd * sin, even * sin + odd * cos], axis=-1).reshape(x.shape)


def write(model, prompts, steps, *, num_threads=2, max_passes=10_000, uniform=None, **options):
    """[(ids, logprobs)] that are written after each prompt in up to `steps` steps, and whether all was finite.

    Calls until nothing is left, which of few passes needs many calls.
    """
    options = {
        "end_id": -1,
        "forbidden": 0,
        "num_forbidden": 0,
        "greedy": uniform is None,
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
        "top_p_tolerance": 1e-6,
        "repetition_penalty": 1.0,
    } | options
    native = model.native()
    cache = model.cache(len(prompts))
    ids = [np.array([*prompt, *[0] * steps], dtype=np.int64) for prompt in prompts]
    logprobs = [np.zeros(steps) for _ in prompts]
    states, finite = [(len(prompt), 0, 0, steps) for prompt in prompts], True
    while finite and any(left for *_, left in states):
        rows = [
            (
                address(ids[row]),
                0 if uniform is None else address(uniform[row]) + 8 * (num_ids - len(prompts[row])),
                address(logprobs[row]) + 8 * (num_ids - len(prompts[row])),
                num_ids,
                start,
                cached,
                left,
            )
            for row, (num_ids, start, cached, left) in enumerate(states)
        ]
        states, finite = native.decode(
            rows, address(cache), max_length=CONTEXT, max_passes=max_passes, num_threads=num_threads, **options
        )
    ends = [state[0] for state in states]
    texts = [
        (one[len(prompt) : end].tolist(), log[: end - len(prompt)].tolist())
        for one, prompt, end, log in zip(ids, prompts, ends, logprobs, strict=True)
    ]
    return texts, finite


def prompts_of(model, lengths, seed=1):
    generator = np.random.default_rng(seed)
    return [generator.integers(0, model.vocab_size, length).tolist() for length in lengths]


def check_against(model, prompt, ids, logprobs, tolerance):
    """Each id is the most likely one after the window of SPEC's half-window rule, or within `tolerance` of it."""
    start, known = 0, list(prompt)
    for id, logprob in zip(ids, logprobs, strict=True):
        if len(known) - start > CONTEXT:
            start += CONTEXT - CONTEXT // 2
        logits = model.logits(known[start:])
        assert logits[id] >= logits.max() - tolerance
        exact = logits[id] - logits.max() - np.log(np.exp(logits - logits.max()).sum())
        assert abs(logprob - exact) < tolerance
        known.append(id)


@pytest.mark.parametrize("shape", SHAPES)
def test_float32_is_the_model_to_rounding(variant, shape):
    model = Model(shape)
    prompts = prompts_of(model, [1, 5, CONTEXT])
    texts, finite = write(model, prompts, steps=40)  # beyond the context
    assert finite
    for prompt, (ids, logprobs) in zip(prompts, texts, strict=True):
        assert len(ids) == 40
        check_against(model, prompt, ids, logprobs, tolerance=1e-4)


# Errors of the weights, at random over a row, reach a logit of size 1.5 through two layers: bf16 rounds by 2^-9 at
# most, int8 by 1/254 of the largest of a row.
@pytest.mark.parametrize(("weights", "tolerance"), [("bf16", 0.1), ("int8", 0.2)])
@pytest.mark.parametrize("shape", SHAPES)
def test_narrow_weights_stay_near(variant, shape, weights, tolerance):
    model = Model(shape, weights)
    (prompt,) = prompts_of(model, [3])
    (((ids, logprobs),), _) = write(model, [prompt], steps=12)
    check_against(model, prompt, ids, logprobs, tolerance)


# The values that int8 weights are multiplied with are rounded too, to 2^-15 of the largest of a row.
@pytest.mark.parametrize("shape", SHAPES)
def test_products_with_int8_are_those_of_what_it_stands_for(variant, shape):
    model = Model(shape, "int8")
    (prompt,) = prompts_of(model, [3])
    (((ids, logprobs),), _) = write(model, [prompt], steps=12)
    check_against(model.as_int8(), prompt, ids, logprobs, tolerance=1e-3)


@pytest.mark.parametrize("weights", ["float32", "bf16", "int8"])
def test_rows_threads_and_calls_change_no_bit(variant, weights):
    model = Model(SHAPES[5], weights)
    prompts = prompts_of(model, [1, 2, CONTEXT, 7, 5, 4, 9])
    together, _ = write(model, prompts, steps=20)
    assert together == [write(model, [prompt], steps=20)[0][0] for prompt in prompts]
    assert together == write(model, prompts, steps=20, num_threads=1)[0]
    assert together == write(model, prompts, steps=20, num_threads=7)[0]
    for max_passes in (1, 3):
        assert together == write(model, prompts, steps=20, max_passes=max_passes)[0]


def test_more_rows_than_a_pass_reads_positions(variant):
    model = Model(SHAPES[4])
    prompts = prompts_of(model, [1 + row % CONTEXT for row in range(70)])
    together, _ = write(model, prompts, steps=3)
    for row in (0, 23, 40, 69):
        assert together[row] == write(model, [prompts[row]], steps=3)[0][0]


# More positions than a pass takes, in windows that end in the middle of a panel of keys.
@pytest.mark.parametrize("weights", ["float32", "bf16", "int8"])
def test_logits_are_those_that_ids_are_chosen_from(variant, weights):
    model = Model(SHAPES[1], weights)
    native, cache, (ids,) = model.native(), model.cache(1), prompts_of(model, [CONTEXT])
    array, logits = np.array(ids, dtype=np.int64), np.full((CONTEXT, model.vocab_size), np.nan, dtype=np.float32)
    native.logits(address(array), address(cache), address(logits), length=CONTEXT, num_threads=2)
    for position in (0, 5, CONTEXT - 1):
        prompt = ids[: position + 1]
        tolerance = {"float32": 1e-4, "bf16": 0.2, "int8": 0.4}[weights]
        np.testing.assert_allclose(logits[position], model.logits(prompt), atol=tolerance, rtol=0)
        ((written, logprobs),) = write(model, [prompt], steps=1)[0]
        exact = logits[position].astype(np.float64)
        assert written == [int(exact.argmax())]
        assert logprobs[0] == pytest.approx(-np.log(np.exp(exact - exact.max()).sum()), abs=1e-5)


def test_the_end_token_ends_its_row_alone(variant):
    model = Model(SHAPES[0])
    prompts = prompts_of(model, [2, 4])
    free, _ = write(model, prompts, steps=12)
    end_id = free[0][0][5]
    texts, _ = write(model, prompts, steps=12, end_id=end_id)
    first = free[0][0].index(end_id) + 1
    assert texts[0] == (free[0][0][:first], free[0][1][:first])
    cut = free[1][0].index(end_id) + 1 if end_id in free[1][0] else 12
    assert texts[1][0] == free[1][0][:cut]


def test_forbidden_ids_are_not_written_and_a_penalty_ends_repetition(variant):
    model = Model(SHAPES[0])
    (prompt,) = prompts_of(model, [2])
    free = write(model, [prompt], steps=10)[0][0][0]
    forbidden = np.array(sorted(set(free)), dtype=np.int64)
    ids = write(model, [prompt], steps=10, forbidden=address(forbidden), num_forbidden=len(forbidden))[0][0][0]
    assert not set(ids) & set(free)
    varied = write(model, [prompt], steps=20, repetition_penalty=1e6)[0][0][0]
    assert len({*prompt, *varied}) == 22  # no id twice


def test_top_k_of_one_is_greedy_and_numbers_choose_by_cumulative_weight(variant):
    model = Model(SHAPES[0])
    (prompt,) = prompts_of(model, [2])
    greedy = write(model, [prompt], steps=10)[0]
    numbers = [np.random.default_rng(0).random(10)]
    assert write(model, [prompt], steps=10, uniform=numbers, top_k=1)[0] == greedy
    assert write(model, [prompt], steps=10, uniform=numbers, top_p=0.0)[0] == greedy
    logits = model.logits(prompt) / 0.7
    cumulative = np.exp(logits - logits.max()).cumsum()
    for number in (0.0, 0.2, 0.5, 0.9, 0.999):
        ((ids, _),) = write(model, [prompt], steps=1, uniform=[np.array([number])], temperature=0.7)[0]
        assert ids == [int(np.searchsorted(cumulative, number * cumulative[-1], side="right"))]


@pytest.mark.parametrize("weights", ["float32", "int8"])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_logits_that_are_not_finite_are_told(variant, odd, weights):
    model = Model(SHAPES[0], weights)
    model.final_norm[3] = odd
    texts, finite = write(model, [[1], [2, 3]], steps=4)
    assert not finite and texts == [([], []), ([], [])]


def test_ids_beyond_the_vocabulary_are_refused():
    model = Model(SHAPES[0])
    with pytest.raises(IndexError, match="id 64 "):
        write(model, [[64]], steps=1)
    with pytest.raises(IndexError, match="id -1 "):
        forbidden = np.array([3, -1])
        write(model, [[1]], steps=1, forbidden=address(forbidden), num_forbidden=2)


def one_call(model, num_ids, start, cached, steps, max_passes=99):
    """The counts of a row of zeros after one call."""
    ids, logprobs = np.zeros(num_ids + steps, dtype=np.int64), np.zeros(steps)
    row = (address(ids), 0, address(logprobs), num_ids, start, cached, steps)
    options = {"greedy": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "top_p_tolerance": 0.0, "end_id": -1}
    options |= {"repetition_penalty": 1.0, "forbidden": 0, "num_forbidden": 0, "num_threads": 2}
    cache = model.cache(1)
    options |= {"max_length": CONTEXT, "max_passes": max_passes}
    (after,), _ = model.native().decode([row], address(cache), **options)
    return after


@pytest.mark.parametrize(("num_ids", "start", "cached"), [(3, 3, 0), (3, 0, 3), (3, 1, 2), (CONTEXT + 1, 0, 0)])
def test_counts_that_lead_out_of_the_arrays_are_refused(num_ids, start, cached):
    with pytest.raises(ValueError, match=f"a row of {num_ids} ids begins at {start} with {cached} kept"):
        one_call(Model(SHAPES[0]), num_ids, start, cached, steps=1)


def test_a_call_ends_when_its_passes_are_used_up(variant):
    model = Model(SHAPES[0])
    assert one_call(model, 5, 0, 0, steps=9, max_passes=2) == (7, 0, 6, 7)
    assert one_call(model, CONTEXT, 0, 0, steps=9, max_passes=1) == (CONTEXT + 1, CONTEXT // 2, 0, 8)
    assert one_call(model, 5, 0, 0, steps=9) == (14, 0, 13, 0)


# Numbers that float32 does not hold, or that make NaN of a forbidden id's -infinity.
@pytest.mark.parametrize(
    "options", [{"temperature": 1e30}, {"repetition_penalty": 1e300}, {"repetition_penalty": 1e-300}]
)
def test_extreme_options_choose_an_id_that_is_allowed(variant, options):
    model = Model(SHAPES[0])
    forbidden = np.arange(1, 64)
    options |= {"forbidden": address(forbidden), "num_forbidden": 63, "uniform": [np.linspace(0, 0.999, 8)]}
    assert write(model, [[1, 2]], steps=8, top_k=5, top_p=0.9, **options)[0][0][0] == [0] * 8


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_child_writes_too():
    model = Model(SHAPES[0])
    expected = write(model, [[1, 2]], steps=5)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if write(model, [[1, 2]], steps=5) == expected else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_unknown_weights_are_refused():
    with pytest.raises(ValueError, match="int4"):
        Model(SHAPES[0], "int4").native()
