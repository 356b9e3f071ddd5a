"""Shares are as asked for, at any point and to within a document; nothing is split, and the end is as asked for."""

import functools
import random
from collections.abc import Sequence

import pytest

from groundup.data.held_out import Part
from groundup.data.mixing import MixedCorpus, Mixer, Reader
from groundup.errors import DataError


def reader(parts: Sequence[Part]) -> Reader:
    return functools.partial(iter, parts)


def documents(name: str, sizes: Sequence[int]) -> list[Part]:
    return [Part((f"{name}{number}," + "." * size).encode(), True, "token") for number, size in enumerate(sizes)]


def mixed(mixer: Mixer, *corpora: Sequence[Part]) -> list[Part]:
    return list(mixer.mix([reader(parts) for parts in corpora]))


def names(parts: Sequence[Part]) -> list[str]:
    return [part.text.decode().partition(",")[0] for part in parts]


A, B = documents("a", [9] * 6), documents("b", [9] * 3)  # of 12 bytes each


@pytest.mark.parametrize("weights", [(1, 1, 1), (3, 1, 0.5), (0.01, 100, 7)])
def test_shares_are_right_at_any_point(weights: tuple[float, ...]) -> None:
    draw = random.Random(0)
    corpora = [documents(name, [draw.randrange(200) for _ in range(300)]) for name in "abc"]
    largest = max(len(part.text) / weight for parts, weight in zip(corpora, weights, strict=True) for part in parts)
    taken = dict.fromkeys("abc", 0)
    for part in Mixer("abc", weights, "first").mix([reader(parts) for parts in corpora]):
        taken[part.text[:1].decode()] += len(part.text)
        shares = [size / weight for size, weight in zip(taken.values(), weights, strict=True)]
        assert max(shares) - min(shares) <= largest


def test_three_to_one() -> None:
    assert names(mixed(Mixer(["A", "B"], (3, 1), "first"), A, B)) == ["a0", "b0", "a1", "a2", "a3", "b1", "a4", "a5"]
    scaled = Mixer(["A", "B"], (0.75, 0.25), "first")
    assert names(mixed(scaled, A, B)) == ["a0", "b0", "a1", "a2", "a3", "b1", "a4", "a5"]


def test_until_the_first_is_used_up_nothing_is_repeated() -> None:
    mixer = Mixer(["A", "B"], (1, 1), "first")
    assert names(mixed(mixer, A, B)) == ["a0", "b0", "a1", "b1", "a2", "b2", "a3"]
    assert mixer.result() == (MixedCorpus("A", 1.0, 1, 4, 48), MixedCorpus("B", 1.0, 1, 3, 36))


def test_until_all_are_used_up_the_others_start_again() -> None:
    mixer = Mixer(["A", "B"], (1, 1))
    found = names(mixed(mixer, A, B))
    assert found == ["a0", "b0", "a1", "b1", "a2", "b2", "a3", "b0", "a4", "b1", "a5", "b2"]
    assert mixer.result() == (MixedCorpus("A", 1.0, 1, 6, 72), MixedCorpus("B", 1.0, 2, 6, 72))
    assert names(mixed(mixer, A, B)) == found, "a second go is as the first"
    assert mixer.result()[1].passes == 2


def test_one_corpus_is_itself() -> None:
    for until in ("all", "first"):
        assert mixed(Mixer(["A"], (5,), until), A) == A


def test_the_parts_of_a_document_stay_together() -> None:
    long = [Part(b"piece " + bytes([65 + i]), i % 4 == 3, "token") for i in range(12)]
    found = mixed(Mixer(["A", "L"], (1, 1)), A, long)
    for start, part in enumerate(found):
        if part.text == b"piece A":
            assert found[start : start + 4] == long[:4]
    assert [part for part in found if part.text.startswith(b"piece")][:12] == long


def test_what_is_held_out_comes_once_and_counts_for_nothing() -> None:
    some = [part._replace(split="valid") if number == 1 else part for number, part in enumerate(B)]
    mixer = Mixer(["A", "B"], (1, 1))
    found = mixed(mixer, A, some)
    assert [part.text for part in found if part.split == "valid"] == [B[1].text]
    assert names([part for part in found if part.split == "train"]).count("b0") == 3
    assert mixer.result()[1] == MixedCorpus("B", 1.0, 3, 6, 72)


@pytest.mark.parametrize("until", ["all", "first"])
@pytest.mark.parametrize("empty", [[], [B[0]._replace(split="valid")]])
def test_a_corpus_without_training_text_can_have_no_share(until: str, empty: list[Part]) -> None:
    with pytest.raises(DataError, match="E has no text to train on, so that it can have no share"):
        mixed(Mixer(["A", "E"], (1, 1), until), A, empty)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((1,), r"there are 1 weights for 2 corpora \(A, B\); give one for each path"),
        ((1, 0), r"a weight is 0; it must be a positive number"),
        ((1, -2.5), r"a weight is -2\.5"),
        ((float("nan"), 1), r"a weight is nan"),
        ((float("inf"), 1), r"a weight is inf"),
    ],
)
def test_weights_that_cannot_be(weights: tuple[float, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Mixer(["A", "B"], weights)
