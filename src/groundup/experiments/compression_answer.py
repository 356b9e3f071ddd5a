"""The question on what a tokenizer makes of text: bytes per token, speed, and the size of the ids on the disk.

Each vocabulary is learned without the documents that it is tried on: every twentieth document is held out.
"""

import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from groundup.corpus import END_OF_TEXT, iter_documents
from groundup.data.shards import prepare
from groundup.experiments.answers import Answer, AnswerOptions, spread
from groundup.experiments.bpe_answers import STORIES_ENTRIES, WEB_ENTRIES, machine
from groundup.tokenizer.bpe import Tokenizer, train_bpe_from_iterator
from groundup.tokenizer.reference import pre_tokenize

NUM_DOCUMENTS = 10
HELD_OUT_EVERY = 20
PILE_BYTES = 825_000_000_000
IDS_OF_UINT16 = 1 << 16
_NUM_WORDS_SHOWN = 5
_SIZES = {"stories": STORIES_ENTRIES, "web": WEB_ENTRIES}


def compression(options: AnswerOptions) -> Answer:
    """tokenizer: two vocabularies on ten documents of two corpora, their speed, and the corpora as uint16."""
    paths = dict(zip(_SIZES, options.require_texts(2), strict=True))
    documents = {name: list(iter_documents(path)) for name, path in paths.items()}
    tokenizers = {
        name: _learn([text for i, text in enumerate(texts) if i % HELD_OUT_EVERY], _SIZES[name])
        for name, texts in documents.items()
    }
    # As large as that of the stories: what is left of the difference is due to the text alone.
    tried = tokenizers | {"web_cut": _first_entries(tokenizers["web"], STORIES_ENTRIES)}
    chosen = {name: _choose(texts[::HELD_OUT_EVERY], options.seed) for name, texts in documents.items()}
    figures: dict[str, Any] = {
        "machine": machine(),
        "rounds": options.rounds,
        "seed": options.seed,
        "texts": {name: Path(path).name for name, path in paths.items()},
        "documents": {name: len(texts) for name, texts in documents.items()},
        "held_out": {name: len(texts[::HELD_OUT_EVERY]) for name, texts in documents.items()},
        "entries": {name: tokenizer.vocab_size for name, tokenizer in tokenizers.items()},
        "chosen": {name: {"bytes": sum(len(text.encode()) for text in texts)} for name, texts in chosen.items()},
        "bytes_per_token": {
            text: {name: bytes_per_token(tokenizer, chosen[text]) for name, tokenizer in tried.items()}
            for text in chosen
        },
        "broken_words": broken_words(chosen["web"], tokenizers["stories"], tokenizers["web"]),
        "uint16": {name: _as_uint16(paths[name], tokenizers[name]) for name in paths},
        "ids_of_uint16": IDS_OF_UINT16,
        "pile_bytes": PILE_BYTES,
        "speed": {name: _speed(documents[name], tokenizers[name], options.rounds) for name in documents},
    }
    figures["more_tokens_percent"] = _more_tokens(figures["bytes_per_token"])
    return Answer("tokenizer", figures, compression_claims(figures))


def compression_claims(figures: Mapping[str, Any]) -> dict[str, bool]:
    """What the page says that must show in the figures."""
    per_token, more = figures["bytes_per_token"], figures["more_tokens_percent"]
    return {
        "each of the ten documents of web text takes more tokens under the vocabulary of stories": all(
            own > other
            for own, other in zip(per_token["web"]["web"]["each"], per_token["web"]["stories"]["each"], strict=True)
        ),
        "the other way round the loss is smaller": more["stories_under_web"] < more["web_under_stories"]
        and more["stories_under_web_at_equal_size"] < more["web_under_stories_at_equal_size"],
        "both vocabularies fit uint16": max(figures["entries"].values()) <= IDS_OF_UINT16,
        "a token is longer than the two bytes of its id": all(
            found["low"] > 2 for row in per_token.values() for found in row.values()
        ),
    }


def bytes_per_token(tokenizer: Tokenizer, texts: Sequence[str]) -> dict[str, Any]:
    """Bytes of UTF-8 per token: of all texts together, of each, and the least and the greatest of those."""
    sizes = [len(text.encode()) for text in texts]
    tokens = [tokenizer.count_tokens(text) for text in texts]
    each = [size / count for size, count in zip(sizes, tokens, strict=True)]
    return {"all": sum(sizes) / sum(tokens), "low": min(each), "high": max(each), "tokens": sum(tokens), "each": each}


def broken_words(texts: Sequence[str], tokenizer: Tokenizer, other: Tokenizer) -> list[list[str]]:
    """Words that are one token for `other` and the most for `tokenizer`: each as its pieces, longest lists first."""
    words = dict.fromkeys(word for text in texts for word in pre_tokenize(text) if word.strip().isalpha())
    broken = [
        [tokenizer.token_bytes(id).decode(errors="backslashreplace") for id in tokenizer.encode(word)]
        for word in words
        if other.count_tokens(word) == 1
    ]
    return sorted(broken, key=lambda pieces: (-len(pieces), pieces))[:_NUM_WORDS_SHOWN]


def _more_tokens(per_token: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, float]:
    """By how many percent a text has more tokens under a vocabulary than under its own."""
    web, stories = per_token["web"], per_token["stories"]
    return {
        "web_under_stories": 100 * (web["stories"]["tokens"] / web["web"]["tokens"] - 1),
        "web_under_stories_at_equal_size": 100 * (web["stories"]["tokens"] / web["web_cut"]["tokens"] - 1),
        "stories_under_web": 100 * (stories["web"]["tokens"] / stories["stories"]["tokens"] - 1),
        "stories_under_web_at_equal_size": 100 * (stories["web_cut"]["tokens"] / stories["stories"]["tokens"] - 1),
    }


def _first_entries(tokenizer: Tokenizer, vocab_size: int) -> Tokenizer:
    """The tokenizer that learning would have given had it stopped at `vocab_size`."""
    vocab = {id: token for id, token in tokenizer.vocab.items() if id < vocab_size}
    special = list(tokenizer.special_tokens)
    return Tokenizer(vocab, tokenizer.merges[: vocab_size - 256 - len(special)], special)


def _learn(texts: Sequence[str], vocab_size: int) -> Tokenizer:
    vocab, merges = train_bpe_from_iterator(texts, vocab_size, [END_OF_TEXT])
    return Tokenizer(vocab, merges, [END_OF_TEXT])


def _choose(texts: Sequence[str], seed: int) -> list[str]:
    return random.Random(seed).sample(texts, min(NUM_DOCUMENTS, len(texts)))


def _speed(texts: Sequence[str], tokenizer: Tokenizer, rounds: int) -> dict[str, Any]:
    """Bytes per second of a tokenizer that has met no text before, over the whole corpus in memory."""
    content = "".join(texts).encode()
    speed: dict[str, Any] = {"bytes": len(content)}
    for name, num_threads in (("one_thread", 1), ("all_threads", None)):
        seconds = []
        for _ in range(rounds):
            fresh = Tokenizer(tokenizer.vocab, tokenizer.merges, list(tokenizer.special_tokens))
            start = time.perf_counter()
            fresh.encode_to_array(content, num_threads=num_threads)
            seconds.append(time.perf_counter() - start)
        speed[name] = {
            "bytes_per_s": spread([len(content) / each for each in seconds]),
            "pile_hours": spread([PILE_BYTES / len(content) * each / 3600 for each in seconds]),
        }
    return speed


def _as_uint16(path: str, tokenizer: Tokenizer) -> dict[str, Any]:
    """What `groundup data prepare` makes of a corpus: ids, their type, and their bytes on the disk."""
    with tempfile.TemporaryDirectory() as folder:
        manifest = prepare(path, tokenizer, Path(folder) / "ids")
        on_disk = sum(file.stat().st_size for file in (Path(folder) / "ids").glob("*.bin"))
    splits = manifest.splits.values()
    return {
        "tokens": sum(split.tokens for split in splits),
        "text_bytes": sum(split.bytes for split in splits),
        "dtype": manifest.dtype,
        "bytes": on_disk,
        "percent_of_text": 100 * on_disk / sum(split.bytes for split in splits),
    }
