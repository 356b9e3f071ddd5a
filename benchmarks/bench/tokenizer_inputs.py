"""What is tokenized: texts, documents and a vocabulary out of a corpus, written to a folder for the workers.

Texts hold no spelling of the special token, which the libraries treat differently.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from groundup.corpus import END_OF_TEXT, expand_paths, has_fields, is_plain_text, iter_documents
from groundup.corpus.reading import iter_bytes, open_source
from groundup.data.toy_stories import write_corpus
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
SMALL_CHARS = 1_500


@dataclass(frozen=True)
class Scale:
    """How much of everything."""

    text_bytes: int
    multilingual_bytes: int
    adversarial_bytes: tuple[int, int]
    vocab_sizes: tuple[int, ...]
    num_small: int
    toy_bytes: int  # of stories, if there is no corpus
    num_loads: int  # of the vocabulary in a round; their median counts


FULL = Scale(
    text_bytes=16_000_000,
    multilingual_bytes=1 << 30,
    adversarial_bytes=(1_000_000, 4_000_000),
    vocab_sizes=(10_000, 32_000),
    num_small=4_000,
    toy_bytes=64_000_000,
    num_loads=5,
)
QUICK = Scale(
    text_bytes=200_000,
    multilingual_bytes=100_000,
    adversarial_bytes=(20_000, 80_000),
    vocab_sizes=(400, 600),
    num_small=100,
    toy_bytes=1_000_000,
    num_loads=1,
)


@dataclass(frozen=True)
class Inputs:
    """The files. `texts` are of one string each; of documents there is a JSON list of strings."""

    folder: Path
    corpus: tuple[Path, ...]
    corpus_bytes: int
    alphabet: int  # different bytes in the corpus
    vocabulary: str
    vocab_size: int
    texts: dict[str, Path]  # by name; some may be missing
    documents: dict[str, Path]
    sizes: dict[str, int]  # bytes of text in each of the two, by name


def prepare_inputs(folder: Path, sources: Sequence[Path], scale: Scale) -> Inputs:
    """Write everything into `folder`. No sources: toy stories."""
    corpus = _corpus(folder, sources, scale)
    documents = iter_documents([str(path) for path in corpus])
    total = sum(path.stat().st_size for path in corpus)
    english = take_documents(documents, min(scale.text_bytes, total // 3))
    unseen = take_documents(documents, min(scale.text_bytes, total // 3))
    tokenizer, vocabulary = _vocabulary(english, max(scale.vocab_sizes))
    _write_vocabulary(folder, tokenizer)

    texts = {"English": "".join(english), "unseen": "".join(unseen)}
    multilingual = SHARED / "multilingual" / "udhr_all.txt"
    if multilingual.is_file():
        whole = multilingual.read_bytes().replace(END_OF_TEXT.encode(), b"")
        texts["multilingual"] = head(whole, scale.multilingual_bytes)
    for size in scale.adversarial_bytes:
        texts |= {f"{kind} {size}": make(size) for kind, make in ADVERSARIAL.items()}
    small = [texts["English"][start : start + SMALL_CHARS] for start in range(0, len(texts["English"]), SMALL_CHARS)]
    # The first file for the shards: what the command reads, in memory.
    lists = {"English": english, "small": small[: scale.num_small], "first file": list(iter_documents(str(corpus[0])))}
    return Inputs(
        folder=folder,
        corpus=corpus,
        corpus_bytes=total,
        alphabet=_different_bytes(corpus),
        vocabulary=vocabulary,
        vocab_size=tokenizer.vocab_size,
        texts={name: _write(folder / f"{name}.txt", text) for name, text in texts.items()},
        documents={name: _write(folder / f"{name}.json", json.dumps(all)) for name, all in lists.items()},
        sizes={name: len(text.encode()) for name, text in texts.items()}
        | {f"{name} documents": sum(len(one.encode()) for one in all) for name, all in lists.items()},
    )


def default_sources() -> list[Path]:
    """Books and TinyStories, if they are there."""
    wanted = (SHARED / "books" / "books.txt.zst", SHARED / "tinystories" / "train.txt")
    return [path for path in wanted if path.is_file()]


def _repeated(piece: str) -> Callable[[int], str]:
    return lambda size: piece * size


def _random(alphabet: str) -> Callable[[int], str]:
    return lambda size: "".join(random.Random(size).choices(alphabet, k=size))


def _random_code_points(size: int) -> str:
    """Characters of all of Unicode, assigned or not, about `size` bytes of them."""
    generator = random.Random(size)
    points = (generator.randrange(1, 0x110000) for _ in range(size // 4))
    return "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000)


# Case E2: what is quadratic, recursive or unbounded somewhere shows here.
ADVERSARIAL: dict[str, Callable[[int], str]] = {
    "one letter": _repeated("a"),
    "^": _repeated("^"),
    "spaces": _repeated(" "),
    "newlines": _repeated("\n"),
    "digits": _random(string.digits),
    "random letters": _random(string.ascii_lowercase),
    "random punctuation": _random(string.punctuation),
    "random code points": _random_code_points,
}


def _corpus(folder: Path, sources: Sequence[Path], scale: Scale) -> tuple[Path, ...]:
    """The corpus as plain text files, which all trainers read: what is packed is unpacked."""
    if not sources:
        write_corpus(folder / "toy-stories.txt", size_bytes=scale.toy_bytes)
        return (folder / "toy-stories.txt",)
    files = []
    for number, source in enumerate(expand_paths([str(path) for path in sources])):
        plain = folder / f"corpus-{number}.txt"
        if has_fields(source):
            with plain.open("w", encoding="utf-8", newline="") as file:
                file.writelines(f"{document}{END_OF_TEXT}" for document in iter_documents(str(source)))
        elif is_plain_text(source):
            plain = Path(str(source))
        else:
            with open_source(source) as packed, plain.open("wb") as file:
                file.writelines(iter_bytes(packed, source, 1 << 20))
        files.append(plain.resolve())
    return tuple(files)


def take_documents(documents: Iterator[str], size_bytes: int) -> list[str]:
    """The next documents up to that size, the last one cut."""
    taken: list[str] = []
    left = size_bytes
    for document in documents:
        encoded = document.encode()
        taken.append(head(encoded, left))
        left -= len(encoded)
        if left <= 0:
            break
    return taken


def head(encoded: bytes, size_bytes: int) -> str:
    """The text of the first bytes; a character that would be cut is left out."""
    return encoded[:size_bytes].decode("utf-8", errors="ignore")


def _vocabulary(documents: Iterable[str], vocab_size: int) -> tuple[Tokenizer, str]:
    """GPT-2's if it is there and is not too large for a quick run, otherwise one learned from the documents."""
    vocab, merges = SHARED / "gpt2" / "gpt2_vocab.json", SHARED / "gpt2" / "gpt2_merges.txt"
    if vocab.is_file() and merges.is_file() and vocab_size >= max(FULL.vocab_sizes):
        return Tokenizer.from_files(vocab, merges, [END_OF_TEXT]), "GPT-2"
    tokens, pairs = train_bpe_from_iterator(documents, vocab_size)
    return Tokenizer(tokens, pairs, [END_OF_TEXT]), f"{vocab_size:,} entries learned from the corpus"


def _write_vocabulary(folder: Path, tokenizer: Tokenizer) -> None:
    """As tokenizer.json, and as tiktoken's file of ranks."""
    tokenizer.save(folder / "tokenizer.json")
    special = tokenizer.special_tokens.values()
    ranks = sorted((id, token) for id, token in tokenizer.vocab.items() if id not in special)
    lines = (base64.b64encode(token) + f" {id}\n".encode() for id, token in ranks)
    (folder / "ranks.tiktoken").write_bytes(b"".join(lines))


def _different_bytes(paths: Iterable[Path]) -> int:
    found: set[int] = set()
    for path in paths:
        content = path.read_bytes()
        found |= {byte for byte in range(256) if byte not in found and content.find(byte) >= 0}
    return len(found)


def _write(path: Path, text: str) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path
