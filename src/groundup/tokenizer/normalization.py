"""Unicode's normal form C (NFC), which Qwen and GPT-NeoX give a text before it is cut: "e" + U+0301 becomes "é".

Special tokens are found in the text as it came; each part between two is normalized on its own. Most text is
in normal form already, and then nothing is to be done. The tables are Python's, `unicodedata`; newer versions
of Unicode add characters and change no older ones. Source: Unicode Standard Annex 15.
"""

import re
import unicodedata
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from groundup.tokenizer.special import SpecialSplitter

# Characters that join nothing before them, so that a text can be cut there: Latin, kana, ideographs, Hangul
# syllables. Not all that there are, but in any text the next one (a space, a line break) is near.
_APART = re.compile("[\0-\u02ff\u3001-\u3029\u3041-\u3096\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]")
# ASCII that another character becomes (the Kelvin sign is a K), and what a mark after it changes.
_MADE_BY_NFC = frozenset("K;`")
_CHANGED_BY_MARKS = frozenset("<=>")


def is_nfc(text: str) -> bool:
    """Whether normalizing leaves the text as it is, and any part of it. Nearly free for ASCII."""
    return text.isascii() or unicodedata.is_normalized("NFC", text)


def to_nfc(text: str) -> str:
    r"""The text in normal form C.

    >>> to_nfc("e\u0301") == "\xe9"
    True
    """
    return unicodedata.normalize("NFC", text)


def is_untouched_by_nfc(token: str) -> bool:
    """Whether a normalized text holds the token just where the text before did."""
    last = token[-1:]
    return token.isascii() and not (_MADE_BY_NFC & set(token) or last.isalpha() or last in _CHANGED_BY_MARKS)


@runtime_checkable
class IdStream(Protocol):
    """What encodes a text in pieces: `_native.Stream`, PatternStream."""

    def push(self, text: str, /) -> list[int]: ...
    def finish(self) -> list[int]: ...


class NormalizingStream:
    """Encodes text that arrives in pieces, normalizing it: the ids are those of the whole text.

    Memory holds the text since the last character that joins nothing before it, besides what `open_stream` holds.
    """

    def __init__(
        self, splitter: SpecialSplitter, special_ids: dict[str, int], open_stream: Callable[[], IdStream]
    ) -> None:
        """`open_stream()` encodes a part between two special tokens, normalized, in which it finds none."""
        self._splitter = splitter
        self._special_ids = special_ids
        self._open_stream = open_stream
        self._stream = open_stream()
        self._unsettled = ""  # may be the beginning of a special token
        self._parts: list[str] = []  # may join what follows

    def push(self, text: str) -> list[int]:
        """The ids that are certain now."""
        text = self._unsettled + text
        end = self._splitter.settled_end(text)
        self._unsettled = text[end:]
        return self._take(text[:end])

    def finish(self) -> list[int]:
        """The ids that were held back."""
        ids = self._take(self._unsettled)
        self._unsettled = ""
        return ids + self._close()

    def _take(self, text: str) -> list[int]:
        ids: list[int] = []
        for part, is_special in self._splitter.split(text):
            if is_special:
                ids += [*self._close(), self._special_ids[part]]
                continue
            cut = last_joint(part)
            if cut is None:
                self._parts.append(part)
            else:
                ids += self._stream.push(to_nfc("".join([*self._parts, part[:cut]])))
                self._parts = [part[cut:]]
        return ids

    def _close(self) -> list[int]:
        ids = self._stream.push(to_nfc("".join(self._parts))) + self._stream.finish()
        self._parts = []
        self._stream = self._open_stream()
        return ids


def last_joint(text: str) -> int | None:
    r"""The last place where what stands before normalizes apart from what follows; None if none is known.

    >>> last_joint("ab\u0301"), last_joint("\u0301")
    (1, None)
    """
    for place in range(len(text) - 1, -1, -1):
        if _APART.match(text, place):
            return place
    return None
