"""Two questions on learning a vocabulary: what it costs and what is in it, for stories and for text as of the web.

The cost is measured by `learning_cost.py`; what is in a vocabulary depends on the text alone.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundup.corpus import END_OF_TEXT
from groundup.environment import memory_bytes, processor_name, usable_cores
from groundup.errors import DataError
from groundup.experiments.answers import Answer, AnswerOptions, spread
from groundup.experiments.learning_cost import FIRST_MERGES, LearningCost, learning_cost, readable_cost

STORIES_ENTRIES = 10_000
WEB_ENTRIES = 32_000
READABLE_BYTES = 100_000
READABLE_MERGES = 200
NUM_SHOWN = 10
_MEASURED_STAGES = ("read_s", "count_s", "first_merges_s", "merge_s", "total_s")


def stories_vocabulary(options: AnswerOptions) -> Answer:
    """bpe-tinystories: time, memory, stages, longest tokens; and the stages of the readable trainer."""
    (text,) = options.require_texts(1)
    runs = [learning_cost(text, STORIES_ENTRIES) for _ in range(options.rounds)]
    readable = [
        readable_cost(text, num_bytes=READABLE_BYTES, num_merges=READABLE_MERGES) for _ in range(min(options.rounds, 3))
    ]
    shares = [100 * merging / (counting + merging) for counting, merging in readable]
    figures = {
        "text": Path(text).name,
        "machine": machine(),
        **_cost_figures(runs),
        **vocabulary_figures(runs[0]),
        "readable": {
            "bytes": READABLE_BYTES,
            "merges": READABLE_MERGES,
            "count_s": spread([counting for counting, _ in readable]),
            "merge_s": spread([merging for _, merging in readable]),
            "merge_percent": spread(shares),
        },
    }
    return Answer("bpe-tinystories", figures, stories_claims(figures))


def web_vocabulary(options: AnswerOptions) -> Answer:
    """bpe-web: the same for a larger vocabulary of other text, and the two vocabularies compared."""
    stories_text, web_text = options.require_texts(2)
    runs = [learning_cost(web_text, WEB_ENTRIES) for _ in range(options.rounds)]
    web, stories = runs[0], learning_cost(stories_text, STORIES_ENTRIES)
    figures = {
        "text": Path(web_text).name,
        "stories_text": Path(stories_text).name,
        "machine": machine(),
        **_cost_figures(runs),
        **vocabulary_figures(web),
        "stories": kinds(stories.tokens),
        "compared": compare(stories, web),
    }
    return Answer("bpe-web", figures, web_claims(figures))


def stories_claims(figures: Mapping[str, Any]) -> dict[str, bool]:
    """What the page on stories says that must show in the figures."""
    return {
        "counting takes longer than merging": figures["count_s"]["low"] > figures["merge_s"]["high"],
        "in the readable trainer merging takes most of the time": figures["readable"]["merge_percent"]["low"] > 80,
        "the longest entries are words of the text": all(times > 0 for _, times in figures["longest"]),
    }


def web_claims(figures: Mapping[str, Any]) -> dict[str, bool]:
    """What the page on web text says that must show in the figures."""
    return {
        "most entries of the small vocabulary are in the large one": figures["compared"]["shared_percent"] > 50,
        "the longest entries are words of the text": all(times > 0 for _, times in figures["longest"]),
        "at equal size the two share less": figures["compared"]["shared_first_percent"]
        < figures["compared"]["shared_percent"],
        "the entries of the large vocabulary are longer": figures["mean_bytes"] > figures["stories"]["mean_bytes"],
    }


def machine() -> dict[str, Any]:
    """Where times were taken."""
    return {"processor": processor_name(), "cores": usable_cores(), "memory_bytes": memory_bytes()}


def vocabulary_figures(run: LearningCost) -> dict[str, Any]:
    """What is in a vocabulary: kinds of entries, the first, and the longest with the times that each is a word."""
    longest = sorted(learned(run.tokens), key=lambda token: -len(token))[:NUM_SHOWN]
    return {
        "first_merges": [as_text(token) for token in learned(run.tokens)[:NUM_SHOWN]],
        "longest": [[as_text(token), run.times[token]] for token in longest],
        "distinct_whole": sum(times > 0 for times in run.times.values()),
        "whole_percent": 100 * sum(run.times.values()) / run.num_words,
        **kinds(run.tokens),
    }


def kinds(tokens: Sequence[bytes]) -> dict[str, Any]:
    """How many entries there are, of which kinds, and how long they are."""
    from_merges = learned(tokens)
    words = [token for token in from_merges if token[:1] == b" " and token[1:].isalpha()]
    return {
        "entries": len(tokens),
        "merges": len(from_merges),
        "words": len(words),
        "words_percent": 100 * len(words) / len(from_merges),
        "capitalized": sum(token[1:2].isupper() for token in words),
        "mean_bytes": sum(map(len, from_merges)) / len(from_merges),
        "longest_bytes": max(map(len, from_merges)),
    }


def compare(small: LearningCost, large: LearningCost) -> dict[str, Any]:
    """What two vocabularies share, all of both and as many of the larger as the smaller has; what only one has.

    Of the entries that only one has, those that are words, the most frequent in its text first.
    """
    small_set, large_set = set(small.tokens), set(large.tokens)
    first_set = set(large.tokens[: len(small.tokens)])
    return {
        "shared": len(small_set & large_set),
        "shared_percent": 100 * len(small_set & large_set) / len(small_set),
        "shared_first": len(small_set & first_set),
        "shared_first_percent": 100 * len(small_set & first_set) / len(small_set),
        "only_small": _frequent_words(small, besides=large_set),
        "only_large": _frequent_words(large, besides=small_set),
    }


def learned(tokens: Sequence[bytes]) -> list[bytes]:
    """The entries that merges made: all behind the special token and the 256 bytes."""
    return [token for token in tokens if len(token) > 1 and token != END_OF_TEXT.encode()]


def as_text(token: bytes) -> str:
    r"""A token as text, with what is no UTF-8 spelled out: b"\xc3" is "\\xc3"."""
    return token.decode(errors="backslashreplace")


def _frequent_words(run: LearningCost, besides: set[bytes]) -> list[str]:
    words = [token for token in run.tokens if token[:1] == b" " and token[1:].isalpha() and token not in besides]
    return [as_text(token) for token in sorted(words, key=lambda token: -run.times[token])[:NUM_SHOWN]]


def _cost_figures(runs: Sequence[LearningCost]) -> dict[str, Any]:
    first = runs[0]
    if not learned(first.tokens):
        raise DataError(f"the text has {first.text_bytes} bytes and no pair of them to merge; give a longer one")
    assert all(run.tokens == first.tokens for run in runs), "the same text gave two vocabularies"
    figures: dict[str, Any] = {stage: spread([getattr(run, stage) for run in runs]) for stage in _MEASURED_STAGES}
    return figures | {
        "rounds": len(runs),
        "text_bytes": first.text_bytes,
        "distinct_words": first.distinct_words,
        "num_words": first.num_words,
        "first_merges_counted": FIRST_MERGES,
        "first_merges_percent": spread([100 * run.first_merges_s / run.merge_s for run in runs]),
        "count_percent": spread([100 * run.count_s / run.total_s for run in runs]),
        "peak_memory_bytes": spread([run.peak_memory_bytes for run in runs]),
        "memory_before_bytes": spread([run.memory_before_bytes for run in runs]),
        "memory_for_learning_bytes": spread([run.peak_memory_bytes - run.memory_before_bytes for run in runs]),
    }
