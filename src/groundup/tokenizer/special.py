"""Special tokens: literal strings such as <|endoftext|> that stand outside the text around them.

Here they are checked, and a text is split at them in Python, whole or as it arrives in pieces. For the
GPT-2 pattern the native core does this itself; custom patterns need it here.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from groundup.errors import TokenizerError

Segment = tuple[str, bool]  # text, and whether it is a special token


class SpecialSplitter:
    """Splits text at special tokens: the leftmost first, and of several at one place the longest.

    >>> list(SpecialSplitter(["<a>", "<a><a>"]).split("x<a><a>y<a>"))
    [('x', False), ('<a><a>', True), ('y', False), ('<a>', True)]
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = frozenset(tokens)
        self._sorted = sorted(tokens)
        self._lengths = sorted({len(token) for token in tokens}, reverse=True)
        # Where a token may begin: two characters decide nearly all, and stay few for a great many tokens.
        beginnings = sorted({token[:2] for token in tokens}, key=len)
        self._beginning = re.compile("|".join(map(re.escape, beginnings)) or r"(?!)")

    def split(self, text: str) -> Iterator[Segment]:
        """The segments of `text` in order, none of them empty."""
        end = 0
        for start, stop in self._find_all(text):
            if start > end:
                yield text[end:start], False
            yield text[start:stop], True
            end = stop
        if end < len(text):
            yield text[end:], False

    def settled_end(self, text: str) -> int:
        """Up to where the split of `text` stays the same whatever text follows.

        What stands after that may turn out to be a special token, or a longer one than it is now: with
        more text, the end of "x<a>" may become "<a><a>".
        """
        longest = self._lengths[0] if self._lengths else 1
        place = max(0, len(text) - longest + 1)
        for start, stop in self._find_all(text):
            unfinished = self._first_unfinished(text, place, start + 1)
            if unfinished is not None:
                return unfinished
            place = max(place, stop)
        unfinished = self._first_unfinished(text, place, len(text))
        return len(text) if unfinished is None else unfinished

    def _find_all(self, text: str) -> Iterator[tuple[int, int]]:
        """Start and end of each special token."""
        match = self._beginning.search(text)
        while match:
            start = match.start()
            longest_first = (text[start : start + length] for length in self._lengths)
            token = next((token for token in longest_first if token in self._tokens), "")
            if token:
                yield start, start + len(token)
            match = self._beginning.search(text, start + max(1, len(token)))

    def _first_unfinished(self, text: str, start: int, stop: int) -> int | None:
        """The first place in start .. stop-1 where the rest of `text` is the beginning of a longer token."""
        for place in range(start, stop):
            rest = text[place:]
            # In sorted order the longer tokens that begin with `rest` come right after it.
            after = bisect_right(self._sorted, rest)
            if after < len(self._sorted) and self._sorted[after].startswith(rest):
                return place
        return None


class SegmentStream:
    """Splits text that arrives in pieces, cut anywhere, into the segments of the whole text.

    Memory holds the text since the last special token: a custom pattern may look ahead as far as it likes,
    so no shorter part of it is sure to keep its pre-tokens.
    """

    def __init__(self, splitter: SpecialSplitter) -> None:
        self._splitter = splitter
        self._parts: list[str] = []  # of a segment of text that goes on
        self._unsettled = ""

    def push(self, text: str) -> list[Segment]:
        """The segments that end within `text`."""
        text = self._unsettled + text
        end = self._splitter.settled_end(text)
        self._unsettled = text[end:]
        return self._take(text[:end])

    def finish(self) -> list[Segment]:
        """The segments that end with the text."""
        segments = self._take(self._unsettled)
        self._unsettled = ""
        return segments + self._close_text()

    def _take(self, text: str) -> list[Segment]:
        segments: list[Segment] = []
        for part, is_special in self._splitter.split(text):
            if is_special:
                segments += [*self._close_text(), (part, True)]
            else:
                self._parts.append(part)
        return segments

    def _close_text(self) -> list[Segment]:
        text = "".join(self._parts)
        self._parts.clear()
        return [(text, False)] if text else []


def check_special_tokens(tokens: Sequence[str]) -> list[str]:
    """`tokens` as a list. Raises TokenizerError for one that is empty, given twice, or not valid text."""
    if isinstance(tokens, str):
        raise TokenizerError(f"special_tokens is the text {tokens!r}; give a list: [{tokens!r}]")
    seen: set[str] = set()
    for token in tokens:
        if not isinstance(token, str):
            raise TokenizerError(f"the special token {token!r} is {type(token).__name__}; it must be str")
        if not token:
            raise TokenizerError("a special token is the empty text; give it at least one character")
        if token in seen:
            raise TokenizerError(f"the special token {token!r} is given twice; give it once")
        try:
            token.encode()
        except UnicodeEncodeError as error:
            raise TokenizerError(f"the special token {token!r} cannot be UTF-8: {error.reason}") from error
        seen.add(token)
    return list(tokens)
