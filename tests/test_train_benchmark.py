"""What decides in benchmarks/train.py: who takes part and is measured in turns, the check against the judge, what is
said of the numbers, pictures.

No peer is installed: ours and torch's own model play on a toy, the rest is told with numbers made up here.
"""

import contextlib
import copy
import doctest
import functools
import importlib
import math
import sys
from pathlib import Path

import pytest
import torch

# Last on the path: see test_benchmarks.py.
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks" / "workers"))

import train as train_benchmark
import train_groundup
import train_products
import train_torch
import training_parts
from bench.contest import JUDGE, OTHERS, OUR_WAYS, OURS, SIDES, THEIR_WAYS, TORCH, contestants, finalists
from bench.training_check import TOLERANCES, Tolerance, find_problem
from bench.training_plot import plot_sweep, plot_training
from bench.training_result import conclude, flops_per_token
from bench.training_sizes import BASE, QUICK, SWEEPS, sized
from bench.training_table import sweep_table, training_table
from model_shape import Shape
from process_memory import peak_memory_bytes, reset_peak_memory
from training_step import Built, TrainingStep

TOY = Shape(vocab_size=50, context_length=8, d_model=16, d_ff=24, num_layers=2, num_heads=2)
TOLERANCE = Tolerance(1e-3, 1e-3)


@pytest.mark.parametrize("name", ["bench.training_check", "bench.race_course", "training_parts"])
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name), extraglobs={"torch": torch}).failed == 0


# Who takes part


@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_all_sides_take_part_in_every_way_eager_and_compiled(precision):
    everyone = contestants(precision)
    assert len({one.name for one in everyone}) == len(everyone)
    for peer in (OURS, *OTHERS):
        ways = OUR_WAYS[precision] if peer == OURS else THEIR_WAYS[precision]
        found = {(one.precision, one.compiled) for one in everyone if one.peer == peer}
        assert found == {(way, compiled) for way in ways for compiled in (True, False)}


def test_only_those_who_are_named_take_part():
    names = ["torch float32 compiled", "groundup float32 eager"]
    assert sorted(one.name for one in contestants("float32", names)) == sorted(names)


def test_our_reference_is_a_side_of_its_own():
    assert {one.side for one in contestants("float32")} == set(SIDES)
    alone = contestants("bf16", sides=["groundup reference"])
    assert [one.name for one in alone] == ["groundup bf16 reference eager", "groundup bf16 reference compiled"]


def test_everyone_gets_the_same_batch():
    ids = train_benchmark.make_ids(50, 3, 16)
    assert ids == train_benchmark.make_ids(50, 3, 16)
    assert [len(row) for row in ids] == [17, 17, 17]
    assert set(range(50)) >= {id for row in ids for id in row} and len({id for row in ids for id in row}) > 25


def qualified(**entries: tuple[str, float, int]) -> dict:
    return {
        name: {"side": side, "qualifying": rate, "peak_bytes": peak} for name, (side, rate, peak) in entries.items()
    }


def test_the_fastest_ways_of_each_side_are_measured_in_turns():
    entries = qualified(
        a1=("a", 5.0, 1), a2=("a", 7.0, 1), a3=("a", 6.0, 1), ours=("groundup", 1.0, 1), b1=("b", 9.0, 1)
    )
    assert finalists(entries, 2, 100) == (["ours", "a2", "b1", "a3"], {})
    assert finalists(entries, 1, 100) == (["ours", "a2", "b1"], {})


def test_who_does_not_fit_into_memory_beside_the_others_is_named():
    entries = qualified(a=("a", 5.0, 4 * 10**9), ours=("groundup", 1.0, 10**9), b=("b", 9.0, 8 * 10**9))
    chosen, left_out = finalists(entries, 2, 10 * 10**9)
    assert chosen == ["ours", "a"]
    assert left_out == {"b": "not in the rounds: it needs 8.0 GB, and 5.0 GB are left"}
    second = entries | qualified(a2=("a", 4.0, 9 * 10**9))
    assert finalists(second, 2, 20 * 10**9) == (["ours", "a", "b"], {})


# The check


JUDGED = {
    "losses": [math.log(1000) + 0.1, 6.5, 6.0],
    "gradients_finite": True,
    "num_parameters": 7,
    "gradient_error": 0.0,
    "gradient_part": "",
}


def test_who_does_as_the_judge_is_measured():
    assert find_problem(JUDGED, JUDGED, 1000, TOLERANCE) is None
    assert find_problem(JUDGED | {"losses": JUDGED["losses"][:2]}, JUDGED, 1000, TOLERANCE) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"num_parameters": 1234}, "the model has 1,234 parameters, not 7"),
        ({"losses": [6.9, math.nan]}, "a loss is not finite"),
        ({"losses": [math.inf, 6.9]}, "a loss is not finite"),
        ({"gradients_finite": False}, "a gradient is not finite"),
        ({"losses": [9.2, 6.0]}, "the first loss is 9.200, and an untrained model has about 6.908"),
        ({"losses": [6.9, 6.9]}, "does not fall"),
        ({"losses": [math.log(1000) + 0.1, 6.502, 6.0]}, "the loss of update 2 is 6.5020, and the judge's is 6.5000"),
        ({"gradient_error": 0.02, "gradient_part": "0.q"}, "the gradient of 0.q is off by 2.0e-02 of its size"),
        ({"gradient_error": math.nan, "gradient_part": "head"}, "the gradient of head is off by nan"),
    ],
)
def test_who_does_something_else_is_not(change, reason):
    assert reason in find_problem(JUDGED | change, JUDGED, 1000, TOLERANCE)


def test_bf16_may_be_further_from_the_judge():
    rounded = JUDGED | {"losses": [7.0, 6.45, 6.05], "gradient_error": 0.02}
    assert find_problem(rounded, JUDGED, 1000, TOLERANCES["bf16"]) is None
    assert find_problem(rounded, JUDGED, 1000, TOLERANCES["float32"])


# The training step that workers run


def step_of(build, precision: str) -> TrainingStep:
    built = build(TOY, precision)
    training_parts.fill(built.parts)
    ids = torch.tensor(train_benchmark.make_ids(TOY.vocab_size, 2, TOY.context_length))
    return TrainingStep(built, ids[:, :-1], ids[:, 1:], compiled=False)


@pytest.fixture
def our_build():
    with contextlib.ExitStack() as settings:
        yield functools.partial(train_groundup.build, settings)


@pytest.fixture
def checked(tmp_path):
    """The judge's answer on the toy, and how to ask others."""
    asked = {"max_steps": 4, "seconds": 60, "gradients_file": str(tmp_path / "gradients.pt")}
    judge = step_of(train_torch.build, "float32").check(**asked, judge=True) | {"num_parameters": 0}

    def problem(step: TrainingStep, tolerance: Tolerance = TOLERANCE) -> str | None:
        entry = step.check(**asked, judge=False) | {"num_parameters": 0}
        return find_problem(entry, judge, TOY.vocab_size, tolerance)

    return problem


@pytest.mark.parametrize("precision", OUR_WAYS["float32"])
def test_ours_takes_the_same_step_as_the_judge(our_build, checked, precision):
    assert checked(step_of(our_build, precision)) is None


def test_a_gradient_that_lacks_a_factor_is_found(our_build, checked):
    step = step_of(our_build, "float32")
    step._built.model.ln_final.weight.register_hook(lambda gradient: gradient * 1.01)
    assert "the gradient of norm is off by 1.0e-02" in checked(step)


def test_queries_paired_the_other_way_are_found(our_build, checked):
    built = our_build(TOY, "float32")
    training_parts.fill(built.parts)
    weight = built.model.layers[0].attn.qkv_weight.data
    rows = weight[: TOY.d_model]  # of the queries: from neighbours to halves, as if the sides had not agreed
    rows.copy_(training_parts.paired_by_neighbours(rows.clone(), TOY.num_heads).reshape_as(rows))
    ids = torch.tensor(train_benchmark.make_ids(TOY.vocab_size, 2, TOY.context_length))
    assert checked(TrainingStep(built, ids[:, :-1], ids[:, 1:], compiled=False)) is not None


def test_common_weights_are_the_same_however_a_side_keeps_them(our_build):
    ours, theirs = our_build(TOY, "float32"), train_torch.build(TOY, "float32")
    found = []
    for built in (ours, theirs):
        training_parts.fill(built.parts)
        found.append(built.parts(lambda parameter: parameter.data))
    assert found[0].keys() == found[1].keys()
    assert all(torch.equal(part, found[1][name]) for name, part in found[0].items())
    assert sum(part.numel() for part in found[0].values()) == sum(p.numel() for p in ours.model.parameters())


def test_a_step_is_timed():
    step = step_of(train_torch.build, "float32")
    assert len(step.measure(max_steps=3, seconds=60)["step_s"]) == 3
    (seconds,) = step.measure(max_steps=3, seconds=0)["step_s"]
    assert seconds > 0


def test_gradients_are_checked_beside_losses(tmp_path):
    model = torch.nn.Linear(1, 1, bias=False)

    def loss_of(inputs, targets):
        weight = model.weight.sum()
        return torch.where(weight == weight, torch.ones(()), torch.sqrt(weight * 0 - 1))  # NaN flows backward

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))])  # of something else: the weight stays finite
    built = Built(model, loss_of, optimizer, "SGD", lambda of: {"a": of(model.weight)})
    step = TrainingStep(built, torch.ones(1), torch.ones(1), compiled=False)
    answer = step.check(max_steps=2, seconds=9, gradients_file=str(tmp_path / "g"), judge=True)
    assert answer["losses"] == [1.0, 1.0] and not answer["gradients_finite"]


def test_a_part_without_a_gradient_is_told():
    model = torch.nn.Linear(1, 2)
    with pytest.raises(ValueError, match=r"shape \(2, 1\) has no gradient"):
        training_parts.gradients(lambda of: {"a": of(model.weight)})


@pytest.mark.skipif(peak_memory_bytes() is None, reason="this system does not tell the peak")
def test_the_peak_of_memory_can_begin_anew():
    if not reset_peak_memory():
        pytest.skip("this system does not forget the peak")
    before = peak_memory_bytes()
    block = bytearray(b"x" * (64 << 20))
    assert before is not None and peak_memory_bytes() >= before + 48 * (1 << 20)
    del block


def test_products_are_those_of_the_model():
    products = train_products.Products()
    asked = {"shape": dict(QUICK.shape), "num_tokens": 64, "threads": torch.get_num_threads()}
    kinds = products.set_up(**asked, precision="bf16")["kinds"]
    found = products.measure()["flops_per_s"]
    assert len(kinds) == 5 and set(found) == {f"bf16: {kind}" for kind in kinds}
    assert all(rate > 0 for rate in found.values())


# Sizes


def test_the_feed_forward_part_and_the_heads_follow_the_width():
    assert sized(BASE, d_model=512) == BASE
    assert (
        sized(BASE, d_model=256).shape | {"d_model": 256, "d_ff": 704, "num_heads": 8} == sized(BASE, d_model=256).shape
    )


def test_every_context_has_the_same_number_of_tokens():
    for sizes in (SWEEPS["context"].sizes, SWEEPS["context"].quick):
        assert len({size.batch_size * size.shape["context_length"] for size in sizes.values()}) == 1
        assert [size.shape["context_length"] for size in sizes.values()] == list(sizes)


def test_a_step_of_the_base_needs_as_many_operations_as_the_specification_says():
    # 6 for each weight of a matrix, and 6 x layers x context x width for attention below the diagonal.
    d_model, d_ff = 512, 1344
    weights = 4 * (4 * d_model**2 + 3 * d_model * d_ff) + d_model * 10_000
    assert flops_per_token(BASE.shape) == 6 * weights + 6 * 4 * 256 * d_model


# The record, the table, pictures


def entry_of(side: str, qualifying: float = 1.0) -> dict:
    return JUDGED | {"side": side, "qualifying": qualifying, "peak_bytes": 2 * 10**9, "losses": [9.25, 8.5]}


@pytest.fixture
def group() -> dict:
    entries = {
        "ours eager": entry_of(OURS.name),
        "ours compiled": entry_of(OURS.name),
        "theirs": entry_of("huggingface"),
        "theirs slow": entry_of("huggingface", 55.0),
        "torch": entry_of(TORCH.name),
        "readable": entry_of("groundup reference"),
    }
    rates = {
        "ours eager": [900.0, 1000.0, 1100.0],
        "ours compiled": [1500.0, 3000.0, 1600.0],
        "theirs": [750.0, 1000.0, 800.0],
        "torch": [1000.0, 2000.0, 1000.0],
        "readable": [5000.0, 5000.0, 5000.0],
    }
    products = [
        {"default: head": 2e11, "oneDNN: head": 4e11},
        {"default: head": 8e11, "oneDNN: head": 1e11},
        {"x": 2e11},
    ]
    refused = {"theirs compiled": "a gradient is not finite"}
    return conclude(entries, refused, rates, products, BASE.shape, OURS.name)


def test_the_best_of_each_side_are_compared(group):
    assert group["best"] == {
        "groundup": "ours compiled",
        "huggingface": "theirs",
        "torch": "torch",
        "groundup reference": "readable",
    }
    assert group["ratios"]["huggingface"] == {"median": 2.0, "low": 2.0, "high": 3.0}
    assert group["ratios"].keys() == {"huggingface", "torch", "groundup reference"}
    # The strongest is a stranger, however fast our own reference is.
    assert group["strongest"] == "torch" and group["ratio"] == {"median": 1.5, "low": 1.5, "high": 1.6}
    assert group["contestants"]["theirs"]["tokens_per_s"] == {"median": 800.0, "low": 750.0, "high": 1000.0}
    assert "tokens_per_s" not in group["contestants"]["theirs slow"]


def test_utilisation_is_taken_within_each_round_of_the_fastest_product(group):
    per_token = group["flops_per_token"]
    parts = sorted(rate * per_token / limit for rate, limit in zip([1500, 3000, 1600], [4e11, 8e11, 2e11], strict=True))
    found = group["contestants"]["ours compiled"]["utilisation"]
    assert [found["low"], found["median"], found["high"]] == pytest.approx(parts)
    assert group["products"]["flops_per_s"] == {"median": 4e11, "low": 2e11, "high": 8e11}


def test_a_side_alone_has_no_ratio():
    alone = conclude(
        {"ours": entry_of(OURS.name)},
        {"theirs": "it did not start"},
        {"ours": [1.0]},
        [{"x": 1e9}],
        BASE.shape,
        OURS.name,
    )
    assert alone["ratio"] is None and alone["ratios"] == {} and alone["best"] == {OURS.name: "ours"}
    assert "theirs: it did not start" in training_table("float32", alone)
    assert "no ratio" in training_table("float32", alone)


def test_the_table_ranks_marks_and_concludes(group):
    header, *lines = training_table("bf16", group).splitlines()
    assert header.split()[:6] == ["bf16", "tokens/s", "low", "high", "of", "limit"]
    assert [line.split()[0] for line in lines[:5]] == ["*", "*", "ours", "*", "*"]
    assert lines[1].split()[1:6] == ["ours", "compiled", "1,600", "1,500", "3,000"]
    assert lines[1].split()[7:] == ["2.00", "9.250", "8.500", "0e+00"]
    assert lines[5].split()[:3] == ["theirs", "slow", "(55)"]
    assert lines[6].startswith("In brackets")
    assert lines[7] == "  theirs compiled: a gradient is not finite"
    assert "ours / torch: 1.50 (1.50 to 1.60)   <- the strongest" in lines
    assert "ours / huggingface: 2.00 (2.00 to 3.00)" in lines
    assert lines[-1].startswith("limit: 400 GFLOP/s") and "oneDNN: head" in lines[-1]


def test_results_are_drawn(group, tmp_path):
    record = {"date": "2025-03-01", "machine": {"processor": "Some CPU", "torch": "2.0"}, "threads": 2}
    plot_training(record | {"precisions": {"float32": group, "bf16": group | {"ratio": None}}}, tmp_path / "train.png")
    assert (tmp_path / "train.png").read_bytes().startswith(b"\x89PNG")
    other = copy.deepcopy(group)
    del other["best"]["huggingface"]
    other["contestants"]["torch"]["peak_bytes"] = None
    points = [
        {"value": 256, "batch_size": 16, "group": group},
        {"value": 1024, "batch_size": 4, "group": other | {"refused": {"theirs": "no memory"}}},
    ]
    sweep = record | {"sweep": "context", "meaning": "tokens", "points": points}
    plot_sweep(sweep, tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")
    header, first, second, *notes = sweep_table(sweep).splitlines()
    assert header.split()[:4] == ["context", "batch", "groundup", "huggingface"]
    assert first.split()[:4] == ["256", "16", "1,600,", "2.00"]
    assert second.split()[:6] == ["1,024", "4", "1,600,", "2.00", "-", "1,000,"]
    assert notes[-1] == "  1,024: theirs: no memory"


def test_the_judge_is_no_side_of_ours():
    assert JUDGE.peer == TORCH and not JUDGE.compiled
