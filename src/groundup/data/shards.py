"""From documents to a dataset folder: encoded in parallel, written as shards, described by a manifest.

    data/stories/  manifest.json  tokenizer.json  train-00000.bin  train-00001.bin  valid-00000.bin

Memory stays bounded whatever the size of the corpus. Everything is written aside and takes its name last, so
that a crash, a full disk, Ctrl-C or a bad document leaves an older dataset of that name as it was, and
nothing half-written. Before: `groundup.corpus` reads. On the way: `deduplicate.py` leaves out, `held_out.py`
chooses, `mixing.py` mixes, `shard_writer.py` encodes and writes. After: `tokens.py` opens, `batches.py` draws.
"""

import contextlib
import functools
import itertools
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from groundup.corpus import END_OF_TEXT, Source, expand_paths, has_fields, iter_pieces
from groundup.data.deduplicate import Copies
from groundup.data.held_out import HashChooser, Part, hold_out_tail, read_heads
from groundup.data.manifest import (
    MANIFEST,
    VERSION,
    LeftOut,
    Manifest,
    Split,
    check_tokenizer,
    read_manifest,
    write_manifest,
)
from groundup.data.mixing import Mixer, MixUntil, Reader
from groundup.data.shard_writer import Progress, write_splits
from groundup.data.tokens import Tokens, open_tokens
from groundup.errors import DataError
from groundup.files import StrPath, folder_aside, spelled
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.formats import TOKENIZER_FILE
from groundup.tokenizer.patterns import scanner_name

__all__ = ["Manifest", "Tokens", "check_tokenizer", "open_tokens", "prepare", "read_manifest"]

_PIECE_CHARS = 1 << 16  # long documents are encoded, and held out, in pieces of about this size

logger = logging.getLogger(__name__)


def prepare(
    paths: StrPath | Sequence[StrPath],
    tokenizer: Tokenizer,
    out: StrPath,
    *,
    valid_paths: StrPath | Sequence[StrPath] | None = None,
    valid_fraction: float = 0.05,
    weights: Sequence[float | int] | None = None,
    mix_until: MixUntil = "all",
    dedup: bool = False,
    num_workers: int | None = None,
    separator: str | None = END_OF_TEXT,
    text_field: str = "text",
    progress: Progress | None = None,
    shard_tokens: int = 1 << 27,
) -> Manifest:
    """Encode a corpus into the folder `out` and return its manifest; a dataset that is there is replaced.

    Each document is followed by `<|endoftext|>`. In text files the spelling of a special token means the token;
    in JSON lines and Parquet it is text like any other.

    Args:
        paths, separator, text_field: The corpus, as `groundup.corpus.iter_documents` reads it.
        tokenizer: Must know `<|endoftext|>`. A copy is put into the folder.
        valid_paths: Files to validate on. If there are none, a part of the corpus is held out (`held_out.py`).
        valid_fraction: About how much is held out: at least one document, or one character of a single short
            one; 0 for nothing.
        weights: The share of each path in the training text, in any unit (`mixing.py`); None for all paths one
            after the other, each once. What is held out is chosen before, and never repeated.
        mix_until: "all": until each path was read to its end, those that end earlier starting again; "first":
            until the first one ends.
        dedup: Leave out documents that are copies of an earlier one, byte for byte (`deduplicate.py`), and from the
            training text those of `valid_paths`.
        num_workers: Threads that encode; None for all that this process may use. The result is the same.
        progress: Called with the bytes of text encoded so far; they start again at 0 if a second pass is needed,
            because the first left one split empty.
        shard_tokens: Largest number of ids in a file.

    Raises:
        DataError: Text that cannot be read, a corpus without text, a tokenizer without `<|endoftext|>`, an `out`
            that is something else than a dataset, a disk that is full, weights that do not fit.
        TokenizerError: Text that the tokenizer cannot encode.
    """
    _require_end_of_text(tokenizer)
    if not 0 <= valid_fraction < 1:
        raise DataError(f"valid_fraction is {valid_fraction}; it must be at least 0 and below 1")
    corpora = [(spelled(path), expand_paths(path)) for path in _listed(paths)]
    sources = [source for _, files in corpora for source in files] or expand_paths([])
    valid_sources = expand_paths(valid_paths) if valid_paths is not None else []
    mixer = None if weights is None else Mixer([name for name, _ in corpora], weights, mix_until)
    parts_of = functools.partial(_iter_parts, tokenizer=tokenizer, separator=separator, text_field=text_field)
    groups = [sources] if mixer is None else [files for _, files in corpora]
    text = _Text([functools.partial(parts_of, group) for group in groups], mixer, dedup)
    with _writing(Path(out)) as folder:
        write = functools.partial(
            write_splits,
            tokenizer=tokenizer,
            folder=folder,
            num_threads=num_workers,
            progress=progress,
            shard_tokens=shard_tokens,
        )
        if valid_sources:
            held_out, splits = "file", write(text.with_valid(functools.partial(parts_of, valid_sources)))
        else:
            held_out, splits = _hold_out(text, write, valid_fraction)
        _require_text(splits["train"], sources)
        _require_text(splits["valid"], valid_sources)
        manifest = Manifest(
            version=VERSION,
            dtype=np.dtype(tokenizer.dtype).name,
            vocab_size=tokenizer.vocab_size,
            tokenizer=tokenizer.fingerprint,
            held_out=held_out,
            sources=tuple(map(spelled, sources)),
            valid_sources=tuple(map(spelled, valid_sources)),
            splits=splits,
            mixture=() if mixer is None else mixer.result(),
            mixed_until=None if mixer is None else mix_until,
            left_out=text.left_out,
        )
        tokenizer.save(folder / TOKENIZER_FILE)
        write_manifest(manifest, folder)
    return manifest


def _listed(paths: StrPath | Sequence[StrPath]) -> list[StrPath]:
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths)


class _Text:
    """The training text, from the start as often as it is asked for: corpora without copies, mixed."""

    def __init__(self, readers: Sequence[Reader], mixer: Mixer | None, dedup: bool) -> None:
        self._readers = readers
        self._mixer = mixer
        self._dedup = dedup
        self._copies: Copies | None = None

    def readers(self) -> list[Reader]:
        """The corpora, none of whose documents was seen yet."""
        self._copies = Copies() if self._dedup else None
        return [self._without_copies(reader) for reader in self._readers]

    def _without_copies(self, reader: Reader) -> Reader:
        return reader if self._copies is None else self._copies.without(reader)

    def mix(self, readers: Sequence[Reader]) -> Iterator[Part]:
        """What is written, of corpora whose documents have their splits."""
        if self._mixer is None:
            return itertools.chain.from_iterable(reader() for reader in readers)
        return self._mixer.mix(readers)

    def with_valid(self, valid: Reader) -> Iterator[Part]:
        """A text to validate on, and then all the others: what is in it is not to be trained on."""
        readers = self.readers()
        for part in self._without_copies(valid)():
            yield part._replace(split="valid")
        yield from self.mix(readers)

    @property
    def left_out(self) -> LeftOut | None:
        """The copies, in the last reading; None if they were not looked for."""
        return None if self._copies is None else LeftOut(self._copies.documents, self._copies.bytes)


def _require_text(split: Split, sources: Sequence[Source]) -> None:
    if sources and not split.tokens:
        raise DataError(f"there is no text in {', '.join(map(str, sources))}; nothing was written")


def _require_end_of_text(tokenizer: Tokenizer) -> None:
    if tokenizer.end_of_text_id is None:
        raise DataError(
            f"the tokenizer has no {END_OF_TEXT}, which must follow each document; train it with that special "
            f"token, or add it: Tokenizer(vocab, merges, special_tokens=['{END_OF_TEXT}'])"
        )


@contextlib.contextmanager
def _writing(out: Path) -> Iterator[Path]:
    """The folder to fill in place of `out`, which must not hold anything but a dataset: it goes away."""
    if out.exists() and not out.is_dir():
        raise DataError(f"{out} is a file; name a folder for the dataset")
    names = {path.name for path in out.iterdir()} if out.exists() else set()
    others = sorted(name for name in names - {MANIFEST, TOKENIZER_FILE} if not name.endswith(".bin"))
    if others or (names and MANIFEST not in names):
        raise DataError(
            f"{out} holds {others or sorted(names)}, so it is no dataset to be replaced; name another folder"
        )
    try:
        with folder_aside(out) as folder:
            yield folder
    except OSError as error:
        raise DataError(f"{out} cannot be written: {error.strerror or error}; nothing was changed there") from error


def _iter_parts(
    sources: Sequence[Source], tokenizer: Tokenizer, separator: str | None, text_field: str
) -> Iterator[Part]:
    """The corpus in parts that can be encoded one by one, all in the training split."""
    # A pattern of someone's own, or a special token with a space in it, might span a cut.
    scanner = scanner_name(tokenizer.pattern)
    can_cut = scanner is not None and not any(map(_has_space, tokenizer.special_tokens))
    for source in sources:
        special = "text" if has_fields(source) else "token"
        for text, ends_document in iter_pieces(
            source,
            separator=separator,
            text_field=text_field,
            max_chars=_PIECE_CHARS if can_cut else None,
            scanner=scanner or "gpt2",
        ):
            yield Part(text, ends_document, special)


def _has_space(text: str) -> bool:
    return any(character.isspace() for character in text)


def _hold_out(
    text: _Text, write: Callable[[Iterable[Part]], dict[str, Split]], fraction: float
) -> tuple[str, dict[str, Split]]:
    """Write the text with a part held out. Returns how it was chosen, and the splits."""
    readers = text.readers()
    if fraction == 0:
        return "none", write(text.mix(readers))
    streams = [reader() for reader in readers]
    heads, is_short = read_heads(streams)
    if is_short:
        cut = [list(hold_out_tail(head, fraction)) for head in heads]
        return "tail", write(text.mix([functools.partial(iter, parts) for parts in cut]))
    chooser = HashChooser(fraction)
    begun = [_begun(head, stream, reader) for head, stream, reader in zip(heads, streams, readers, strict=True)]
    splits = write(text.mix([chooser.choosing(reader) for reader in begun]))
    if chooser.mend():
        logger.info("no document fell to one of the splits; going through the corpus once more to mend that")
        splits = write(text.mix([chooser.choosing(reader) for reader in text.readers()]))
    return "hash", splits


def _begun(head: Sequence[Part], rest: Iterator[Part], reader: Reader) -> Reader:
    """A corpus of which the first reading has begun."""
    readings = itertools.chain([itertools.chain(head, rest)], (reader() for _ in itertools.count()))
    return functools.partial(next, readings)
