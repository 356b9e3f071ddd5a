"""Learning a vocabulary: equal to the reference whatever the form of the text, and clear about bad input."""

import gzip
import json
import os
import signal
from collections import Counter

import pytest
import regex
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer.strategies import special_tokens, texts, texts_with_special

from groundup.errors import DataError, TokenizerError
from groundup.tokenizer.byte_characters import to_bytes
from groundup.tokenizer.reference import count_words, learn_merges, split_special, train_bpe_reference
from groundup.tokenizer.train import BpeTrainer, train_bpe, train_bpe_from_iterator

END = "<|endoftext|>"
WORDS = r"\p{L}+|\s+|[^\p{L}\s]"  # a pattern of our own
DOCUMENTS = [
    "Low lower lowest, said the  slow low owl.\n\nÜber “Öl” lower!\n",
    " the end of the tale \n",
    "x",
    "日本語 and 日本語, naïve naïve\r\n" * 3 + "wool wool",
]


@settings(max_examples=60)
@given(st.one_of(texts, texts_with_special()), special_tokens, st.integers(0, 30), st.sampled_from([1, 3]))
def test_documents_in_memory_give_what_the_reference_learns(text, tokens, num_merges, num_threads):
    vocab_size = 256 + len(tokens) + num_merges
    learned = train_bpe_from_iterator([text], vocab_size, tokens, num_threads=num_threads)
    assert learned == train_bpe_reference(text, vocab_size, tokens)


@settings(max_examples=25)
@given(text=st.one_of(texts, texts_with_special()), tokens=special_tokens)
def test_a_plain_file_gives_what_the_reference_learns(tmp_path_factory, text, tokens):
    path = tmp_path_factory.getbasetemp() / "plain.txt"
    path.write_bytes(text.encode())
    assert train_bpe(path, 300, tokens) == train_bpe_reference(text, 300, tokens)


@settings(max_examples=60)
@given(st.lists(texts_with_special(), max_size=4), special_tokens)
def test_a_pattern_of_your_own(documents, tokens):
    counts = Counter(
        word.encode()
        for document in documents
        for part, is_special in split_special(document, tokens)
        if not is_special
        for word in regex.findall(WORDS, part)
    )
    _, merges = train_bpe_from_iterator(documents, 280 + len(tokens), tokens, pattern=WORDS)
    assert merges == learn_merges(counts, 24)


def write_forms(folder):
    """The same documents in every form that is read: name -> paths."""
    import pyarrow
    import pyarrow.parquet

    joined = END.join(DOCUMENTS).encode()
    lines = "".join(json.dumps({"text": document, "n": 1}) + "\n" for document in DOCUMENTS).encode()
    files = {
        "one.txt": joined,
        "packed.txt.gz": gzip.compress(joined),
        "packed.txt.zst": zstandard.compress(joined),
        "lines.jsonl": lines,
        "lines.jsonl.gz": gzip.compress(lines),
        "lines.jsonl.zst": zstandard.compress(lines),
    }
    files |= {f"part-{i}.text": document.encode() for i, document in enumerate(DOCUMENTS)}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    pyarrow.parquet.write_table(pyarrow.table({"text": DOCUMENTS}), folder / "table.parquet")
    return {
        **{name: folder / name for name in [*files, "table.parquet"] if "part" not in name},
        "several files, in another order": [folder / f"part-{i}.text" for i in (2, 0, 3, 1)],
        "a glob": str(folder / "part-*.text"),
        "a mixture": [folder / "part-0.text", folder / "rest.jsonl"],
    }


@pytest.mark.parametrize("pattern", [None, WORDS])
def test_every_form_of_the_text_gives_the_same_merges(tmp_path, pattern):
    options = {} if pattern is None else {"pattern": pattern}
    forms = write_forms(tmp_path)
    (tmp_path / "rest.jsonl").write_text(
        "".join(json.dumps({"text": d}) + "\n" for d in DOCUMENTS[1:]), encoding="utf-8"
    )
    expected = train_bpe(forms["one.txt"], 300, [END], **options)
    assert len(expected[1]) == 43
    if pattern is None:
        assert expected == train_bpe_reference(END.join(DOCUMENTS), 300, [END])
    for name, paths in forms.items():
        for num_threads in (1, 4):
            assert train_bpe(paths, 300, [END], num_threads=num_threads, **options) == expected, name


@pytest.mark.parametrize("name", ["long.txt", "long.txt.gz"])
def test_a_long_file_is_cut_for_gpt2_but_not_for_other_patterns(tmp_path, name):
    text = "ab  " * 400_000  # more than is read at once
    content = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    # One cut between b and a space would make the pair of the two rarer than the others.
    _, merges = train_bpe(tmp_path / name, 257, pattern=r"\S+\s*")
    assert merges == [(b"b", b" ")]
    assert train_bpe(tmp_path / name, 260) == train_bpe_reference("ab  " * 9, 260)


def test_a_separator_that_is_no_special_token_is_text(tmp_path):
    text = f"one{END}two{END}"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}), encoding="utf-8")
    for path in tmp_path.iterdir():
        assert train_bpe(path, 280) == train_bpe_reference(text, 280), path


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
@pytest.mark.parametrize(
    "text", ["", " \n \n\n", "no newline at the end", "a\r\nb\r\n\r\n a\r\n", "\ufeffwith a mark, a mark"]
)
def test_odd_files_are_learned_as_they_are(tmp_path, text, suffix):
    path = tmp_path / f"odd{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix == ".txt.gz" else text.encode())
    assert train_bpe(path, 270) == train_bpe_reference(text, 270)


@pytest.mark.parametrize("form", ["plain", "packed", "pattern", "documents"])
def test_no_token_holds_a_piece_of_a_special_token(tmp_path, form):
    tokens = ["<a>", "<a><a>", "<|x|>", "[INST]", "$^", "§ §"]
    text = "".join(f"word{token}word {token} " for token in tokens * 9)
    path = tmp_path / ("text.txt.gz" if form == "packed" else "text.txt")
    path.write_bytes(gzip.compress(text.encode()) if form == "packed" else text.encode())
    if form == "documents":
        vocab, merges = train_bpe_from_iterator([text] * 2, 400, tokens)
    else:
        vocab, merges = train_bpe(path, 400, tokens, **({"pattern": r"\S+|\s+"} if form == "pattern" else {}))
    assert [vocab[id] for id in range(6)] == [token.encode() for token in tokens]
    learned = b"".join(left + right for left, right in merges)
    assert {chr(byte) for byte in learned} <= set("word ")


def test_ties_are_broken_by_bytes_not_by_characters():
    # U+FF5E is ef bd 9e, U+1F600 is f0 9f 98 80: the greater bytes belong to the greater character here, but
    # as text of UTF-16 units, or of the byte alphabet, the order would be another.
    _, merges = train_bpe_from_iterator(["～😀a¡"], 256 + 3)
    assert merges == learn_merges(count_words("～😀a¡"), 3)
    assert merges[0] == (b"\xf0", b"\x9f")


def test_vocabulary_size():
    text = "abababab"
    vocab, merges = train_bpe_from_iterator([text], 1000, ["<x>"])
    assert merges == [(b"a", b"b"), (b"ab", b"ab"), (b"abab", b"abab")]  # then no pair is left
    assert vocab == dict(enumerate([b"<x>", *(bytes([b]) for b in range(256)), b"ab", b"abab", b"abababab"]))
    assert train_bpe_from_iterator([text], 257, ["<x>"])[1] == []
    with pytest.raises(
        TokenizerError, match=r"vocab_size is 256; it must be at least 257: the 256 bytes and 1 special"
    ):
        train_bpe_from_iterator([text], 256, ["<x>"])


def test_wrong_size_is_noticed_before_any_text_is_read(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"\xff")
    with pytest.raises(TokenizerError, match="vocab_size"):
        train_bpe(path, 255)


@pytest.mark.parametrize("tokens", ["<x>", ["<x>", ""], ["<x>", "<x>"]])
def test_special_tokens_that_cannot_be(tokens):
    with pytest.raises(TokenizerError, match="special"):
        train_bpe_from_iterator(["text"], 300, tokens)


@pytest.mark.parametrize("options", [{}, {"pattern": WORDS}])
@pytest.mark.parametrize("name", ["bad.txt", "bad.txt.gz", "bad file é.txt"])
def test_invalid_utf8_names_the_file_and_the_byte(tmp_path, name, options):
    content = b"good text \xe2\x82\xac " * 50_000 + b"\xff" + b" more" * 50_000
    path = tmp_path / name
    path.write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    with pytest.raises(DataError, match=r"byte 0xff at byte offset 700000\b") as caught:
        train_bpe(path, 300, [END], **options)
    assert str(path) in str(caught.value)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(DataError, match=r"none\.txt does not exist"):
        train_bpe(tmp_path / "none.txt", 300)


def test_a_lone_surrogate_in_a_document_is_named():
    with pytest.raises(TokenizerError, match="at character 3"):
        train_bpe_from_iterator(["fine", "bad\ud83d"], 300)


def test_errors_while_documents_are_made_come_through():
    def documents():
        yield "one"
        raise DataError("the second is missing")

    with pytest.raises(DataError, match="the second is missing"):
        train_bpe_from_iterator(documents(), 300)


def test_progress_counts_bytes_and_merges(tmp_path):
    text = "some words, some more words\n" * 2000
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(text.encode()))
    calls = []
    train_bpe(tmp_path / "a.txt", 270, progress=lambda *call: calls.append(call))
    assert [call for call in calls if call[0] == "count"][-1] == ("count", len(text), len(text))
    assert all(stage in ("count", "merge") and total in (len(text), 14) for stage, _, total in calls)
    calls.clear()
    train_bpe([tmp_path / "a.txt", tmp_path / "b.txt.gz"], 270, progress=lambda *call: calls.append(call))
    assert [call for call in calls if call[0] == "count"][-1] == ("count", 2 * len(text), None)


@pytest.mark.parametrize("form", ["plain", "packed", "documents", "pattern"])
@pytest.mark.parametrize("phase", ["count", "merge"])
def test_ctrl_c_stops_at_once(tmp_path, form, phase):
    text = "".join(f"word{i} and " for i in range(300_000))
    calls = []

    def interrupt(stage, done, total):
        if stage == phase:
            calls.append((done, total))
            os.kill(os.getpid(), signal.SIGINT)

    path = tmp_path / ("text.txt.gz" if form == "packed" else "text.txt")
    path.write_bytes(gzip.compress(text.encode(), 1) if form == "packed" else text.encode())
    with pytest.raises(KeyboardInterrupt):
        if form == "documents":
            train_bpe_from_iterator([text] * 9, 2000, progress=interrupt)
        else:
            train_bpe(path, 2000, progress=interrupt, **({"pattern": r"\S+|\s+"} if form == "pattern" else {}))
    assert len(calls) == 1 and (phase == "count" or calls[0][0] < 500)


def test_one_count_serves_vocabularies_of_several_sizes():
    trainer = BpeTrainer([END])
    trainer.add_documents(DOCUMENTS)
    small, large = trainer.train(270)[1], trainer.train(290)[1]
    assert large[: len(small)] == small
    assert large == train_bpe_from_iterator(DOCUMENTS, 290, [END])[1]


def test_thread_count_must_make_sense():
    with pytest.raises(TokenizerError, match="num_threads is 0"):
        train_bpe_from_iterator(["text"], 300, num_threads=0)


def test_corpus_en_gives_the_reference_merges(shared):
    folder = shared / "data/cs336"
    vocab, merges = train_bpe(folder / "corpus.en", 500, [END])
    lines = (folder / "train-bpe-reference-merges.txt").read_text(encoding="utf-8").splitlines()
    assert merges == [tuple(map(to_bytes, line.split(" "))) for line in lines]
    names = json.loads((folder / "train-bpe-reference-vocab.json").read_text(encoding="utf-8"))
    assert set(vocab.values()) == {to_bytes(name) for name in names}
    assert len(vocab) == 500


def test_special_tokens_of_tinystories_are_in_no_token(shared):
    path = shared / "data/cs336/tinystories_sample.txt"
    vocab, _ = train_bpe(path, 1000, [END])
    assert [token for token in vocab.values() if b"<|" in token] == [END.encode()]
