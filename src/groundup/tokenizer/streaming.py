"""Text and ids that arrive bit by bit: nothing is given out that the next bit could still change.

StreamingDecoder turns ids into text. PatternStream turns text into ids under a pattern of your own; for
those that the native core has it has such a stream (`_native.Stream`), which holds back one pre-token.
"""

import codecs
from collections.abc import Callable

from groundup.tokenizer.special import SegmentStream, SpecialSplitter


class StreamingDecoder:
    """Turns ids, one at a time, into text that never ends within a character.

    A token is any run of bytes, so that one emoji may be spread over three of them. Bytes that can still
    become a character wait; bytes that no longer can become U+FFFD. All that is given out, joined, is what
    `Tokenizer.decode` makes of all the ids.

    >>> tokens = [b"caf", b"\\xc3", b"\\xa9!"]
    >>> decoder = StreamingDecoder(tokens.__getitem__)
    >>> [decoder.push(0), decoder.push(1), decoder.push(2), decoder.finish()]
    ['caf', '', 'é!', '']
    """

    def __init__(self, token_bytes: Callable[[int], bytes]) -> None:
        self._token_bytes = token_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, id: int) -> str:
        """The text that is certain now; it may be empty. Raises TokenizerError for an unknown id."""
        return self._decoder.decode(self._token_bytes(id))

    def finish(self) -> str:
        """What was held back: U+FFFD if the ids end within a character. The decoder can then start anew."""
        return self._decoder.decode(b"", final=True)


class PatternStream:
    """Encodes text that arrives in pieces: the ids are those of the whole text, wherever it was cut.

    Memory holds the text since the last special token, because a pattern may look ahead without limit.
    """

    def __init__(self, splitter: SpecialSplitter, encode_segment: Callable[[str, bool], list[int]]) -> None:
        self._segments = SegmentStream(splitter)
        self._encode_segment = encode_segment

    def push(self, text: str) -> list[int]:
        """The ids that are certain now."""
        return [id for segment in self._segments.push(text) for id in self._encode_segment(*segment)]

    def finish(self) -> list[int]:
        """The ids that were held back."""
        return [id for segment in self._segments.finish() for id in self._encode_segment(*segment)]


class SpecialGuard:
    """Refuses special tokens in text that arrives in pieces, those across a cut too."""

    def __init__(self, refuse: Callable[[str, int], None], longest: int) -> None:
        """`refuse(text, offset)` raises for a special token in `text`; `longest` characters is the longest one."""
        self._refuse = refuse
        self._num_kept = max(0, longest - 1)
        self._tail = ""
        self._offset = 0  # of the tail, in the whole text

    def check(self, text: str) -> None:
        """Raises what `refuse` raises, as soon as a special token is complete."""
        text = self._tail + text
        self._refuse(text, self._offset)
        cut = max(0, len(text) - self._num_kept)
        self._tail = text[cut:]
        self._offset += cut
