"""Stop strings in text that arrives in pieces: found wherever the pieces are cut, never shown.

Text that could be the beginning of a stop string is held back until it is clear that it is not.
"""

from collections.abc import Sequence


class StopScanner:
    """Passes text on up to the first stop string; `found` says that one is complete.

    The one that is complete first counts, as if the text came character by character, so the result
    does not depend on the cuts; of several that end together, the longest.

    >>> scanner = StopScanner(["END", "\\n\\n"])
    >>> [scanner.push(piece) for piece in ("one E", "ach\\n", "two E", "N", "D three")]
    ['one ', 'Each', '\\ntwo ', '', '']
    >>> scanner.found
    True
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self.found = False
        self._stops = tuple(stops)
        self._held = ""

    def push(self, text: str) -> str:
        """The text that is now certain to stand before any stop string. Nothing more once one is found."""
        if self.found:
            return ""
        text = self._held + text
        begins = [(start + len(stop), start) for stop in self._stops if (start := text.find(stop)) >= 0]
        if begins:
            self.found = True
            _, cut = min(begins)
        else:
            cut = len(text) - max((_overlap(text, stop) for stop in self._stops), default=0)
        self._held = "" if self.found else text[cut:]
        return text[:cut]

    def finish(self) -> str:
        """What is held back, when no more text comes."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of `text` that is a proper beginning of `stop`."""
    lengths = range(min(len(text), len(stop) - 1), 0, -1)
    return next((length for length in lengths if text.endswith(stop[:length])), 0)
