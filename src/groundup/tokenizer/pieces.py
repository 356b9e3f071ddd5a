"""A long text in pieces that can be counted apart, as it is read: the pre-tokens are those of the whole.

For text that the native core does not read itself. `special.py` has the cut at special tokens only, for
patterns that may look ahead without limit.
"""

from collections.abc import Iterable, Iterator, Sequence

from groundup import _native


def iter_separable(
    texts: Iterable[str], special_tokens: Sequence[str], piece_chars: int = 1 << 20, *, scanner: str = "gpt2"
) -> Iterator[str]:
    """The joined `texts` in pieces of about `piece_chars` characters, at each end of which a pre-token ends.

    A cut falls where two neighbours are in different pre-tokens whatever else is in the text. Where there is no
    such place the piece grows until there is one. `scanner` names the pattern, as `patterns.scanner_name` does.

    >>> list(iter_separable(["one tw", "o thr", "ee"], [], piece_chars=5))
    ['one', ' two', ' three']
    """
    longest = max(map(len, special_tokens), default=1)
    parts: list[str] = []
    size, wanted = 0, piece_chars
    for text in texts:
        parts.append(text)
        size += len(text)
        if size < wanted:
            continue
        whole = "".join(parts)
        # After the cut, as much text is needed as shows whether a special token lies across it.
        cut = next(
            (i for i in range(len(whole) - longest, 0, -1) if _parts_words(whole, i, special_tokens, scanner)), 0
        )
        if cut:
            yield whole[:cut]
        parts, size = [whole[cut:]], len(whole) - cut
        # Twice as much before the next search: a word of any length costs linear time.
        wanted = max(piece_chars, 2 * size if not cut else size + 1)
    rest = "".join(parts)
    if rest:
        yield rest


def _parts_words(text: str, cut: int, special_tokens: Sequence[str], scanner: str) -> bool:
    if not _native.is_boundary(ord(text[cut - 1]), ord(text[cut]), scanner):
        return False
    return not any(token in text[max(0, cut - len(token) + 1) : cut + len(token) - 1] for token in special_tokens)
