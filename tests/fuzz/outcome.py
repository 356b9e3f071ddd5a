"""What a target is, and what may come of a call: a result, or an error that a user can read."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from groundup.errors import GroundupError

_LONGEST_MESSAGE = 20_000  # no input of ours is longer


@dataclass(frozen=True)
class Target:
    """One thing to fuzz. `make` needs no native code, so that the input of a crash can be shown."""

    name: str
    make: Callable[[random.Random], Any]
    check: Callable[[Any], None]  # raises whatever is a finding


def outcome(call: Callable[[], Any], refusal: type[Exception] = GroundupError) -> tuple[str, Any]:
    """("result", what `call` returns) or ("error", the message). Any error but `refusal` goes through: a finding.

    The core itself refuses with ValueError: not with one of its kinds, such as UnicodeError.
    """
    try:
        return "result", call()
    except refusal as error:
        assert refusal is not ValueError or type(error) is ValueError, f"another kind of error: {error!r}"
        message = str(error)
        assert message.strip() and "\n" not in message, f"an error is one sentence: {message!r}"
        assert len(message) <= _LONGEST_MESSAGE, f"an error of {len(message)} characters: {message[:200]}"
        return "error", message


def expect_equal(ours: Any, expected: Any, what: str) -> None:
    """A finding if they differ, with the first place where they do."""
    if ours == expected:
        return
    place = ""
    if isinstance(ours, list) and isinstance(expected, list):
        first = next((i for i, (a, b) in enumerate(zip(ours, expected, strict=False)) if a != b), None)
        place = f" (first at {min(len(ours), len(expected)) if first is None else first})"
    raise AssertionError(f"{what}{place}: {ours!r:.500} is not {expected!r:.500}")
