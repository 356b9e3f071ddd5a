"""Loading from the cache: the same tokenizer as without it, whatever happened to the folder; and next to no imports."""

import copy
import json
import logging
import multiprocessing
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizer.strategies import texts_with_special, vocabularies

from groundup import _native
from groundup.errors import TokenizerError
from groundup.tokenizer import formats, stored_encoders
from groundup.tokenizer.bpe import Tokenizer
from groundup.tokenizer.patterns import GPT2_PATTERN, LLAMA3_PATTERN
from groundup.tokenizer.vocabulary import make_vocabulary

END = "<|endoftext|>"
TEXT = f"the cat ate\n\n  naïve 日本 {END} <a><a> it's 12345, e\u0301 the end"
LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ."


def large_tokenizer(merges_left_out: int = 0) -> Tokenizer:
    """4,000 merges, one for each two of 64 letters."""
    pairs = [(bytes([left]), bytes([right])) for left in LETTERS for right in LETTERS]
    pairs = pairs[: len(pairs) - merges_left_out]
    vocab = dict(enumerate([*(bytes([byte]) for byte in range(256)), *map(b"".join, pairs)]))
    return Tokenizer(vocab, pairs, [END, "<a>"])


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> Path:
    """A tokenizer.json that is large enough to be kept. Read only."""
    path = tmp_path_factory.mktemp("large") / "tokenizer.json"
    large_tokenizer().save(path)
    return path


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """An empty cache folder, which is made when something is kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/groundup/tokenizers"


def kept(cache: Path) -> list[Path]:
    return sorted(cache.iterdir()) if cache.is_dir() else []


def is_found(path: Path) -> bool:
    return stored_encoders.find(str(path)) is not None


def expect_same(ours: Tokenizer, other: Tokenizer, text: str = TEXT) -> None:
    for special in ("token", "text"):
        assert ours.encode(text, special=special) == other.encode(text, special=special)
        assert list(ours.encode_iterable([text], special=special)) == other.encode(text, special=special)
    ids = other.encode(text)
    assert ours.encode_to_array(text).tolist() == ids
    assert ours.decode(ids) == other.decode(ids)
    facts = ("special_tokens", "pattern", "ignore_merges", "normalization", "vocab_size", "end_of_text_id", "dtype")
    for name in (*facts, "fingerprint"):
        assert getattr(ours, name) == getattr(other, name), name
    assert repr(ours) == repr(other)
    assert ours.byte_lengths().tolist() == other.byte_lengths().tolist()
    assert list(ours.vocab.items()) == list(other.vocab.items())
    assert ours.merges == other.merges


# ---- The same tokenizer ----


@settings(max_examples=25)
@given(
    vocabularies(),
    texts_with_special([END, "<a>", "<a><a>"]),
    st.sampled_from([GPT2_PATTERN, LLAMA3_PATTERN, r"\p{L}+|\s+|[^\p{L}\s]+"]),
    st.booleans(),
    st.sampled_from([None, "NFC"]),
)
def test_a_load_from_the_cache_is_the_same(tmp_path_factory, vocabulary, text, pattern, ignore_merges, normalization):
    vocab, merges = vocabulary
    vocab = {place: token for place, token in enumerate(vocab.values())}
    options = {"ignore_merges": ignore_merges, "normalization": normalization}
    made = make_vocabulary(vocab, list(dict.fromkeys(merges)), [END, "<a>", "<a><a>"], pattern, **options)
    folder = tmp_path_factory.mktemp("any")
    Tokenizer.from_vocabulary(made).save(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.setattr(stored_encoders, "LEAST_BYTES", 0)
        first = Tokenizer.load(folder)
        assert is_found(folder / "tokenizer.json")
        expect_same(Tokenizer.load(folder), first, text)


def test_the_json_is_not_read_again(saved, cache, monkeypatch):
    first = Tokenizer.load(saved)
    monkeypatch.setattr(formats, "parse_huggingface", lambda *_: pytest.fail("it was"))
    expect_same(Tokenizer.load(saved), first)
    expect_same(Tokenizer.load(saved.parent), first)


def test_a_copy_of_the_file_needs_no_entry_of_its_own(saved, cache, tmp_path):
    Tokenizer.load(saved)
    (tmp_path / "copy.json").write_bytes(saved.read_bytes())
    assert is_found(tmp_path / "copy.json")
    Tokenizer.load(tmp_path / "copy.json")
    assert len(kept(cache)) == 1


def test_errors_are_the_same(saved, cache, tmp_path):
    file = json.loads(saved.read_text(encoding="utf-8"))
    del file["model"]["vocab"]["%"]
    (tmp_path / "t.json").write_text(json.dumps(file, indent=2), encoding="utf-8")
    for _ in range(2):
        tokenizer = Tokenizer.load(tmp_path / "t.json")
        with pytest.raises(TokenizerError, match="no token b'%', which the text needs"):
            tokenizer.encode("100 %")
        with pytest.raises(TokenizerError, match="id 37 is not in the vocabulary, whose ids end at"):
            tokenizer.decode([37])
        with pytest.raises(TokenizerError, match="special token '<a>' at character 2;"):
            tokenizer.encode("é <a>", special="error")
        with pytest.raises(TokenizerError, match="lone surrogate"):
            tokenizer.encode("\ud800")
    assert is_found(tmp_path / "t.json")


def test_copies_threads_and_forks_after_a_load_from_the_cache(saved, cache):
    expected = Tokenizer.load(saved).encode(TEXT)
    tokenizer = Tokenizer.load(saved)
    assert tokenizer.encode(TEXT) == expected
    for other in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer)):
        expect_same(other, tokenizer)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(tokenizer.encode, [TEXT] * 50)) == [expected] * 50
        vocabs = list(pool.map(lambda _: tokenizer.vocab, range(4)))  # all kept: an id is free again with its object
        assert len(set(map(id, vocabs))) == 4
    with multiprocessing.get_context("fork").Pool(2) as processes:
        assert processes.map(tokenizer.encode, [TEXT] * 4) == [expected] * 4


def test_it_is_saved_as_it_was(saved, cache, tmp_path):
    Tokenizer.load(saved)
    Tokenizer.load(saved).save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == saved.read_bytes()


# ---- What is not to be trusted ----


def test_a_file_that_changed_is_read_anew(saved, cache, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(saved.read_bytes())
    before = Tokenizer.load(path)
    # Of the same size, and of the same time.
    stamp = path.stat()
    swapped = saved.read_text(encoding="utf-8").replace('"ab": ', '"tmp": ').replace('"cd": ', '"ab": ')
    path.write_text(swapped.replace('"tmp": ', '"cd": '), encoding="utf-8")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert path.stat().st_size == stamp.st_size
    assert not is_found(path)
    after = Tokenizer.load(path)
    assert after.encode("abcd") == before.encode("cdab") != before.encode("abcd")
    expect_same(Tokenizer.load(path), after)
    assert len(kept(cache)) == 2


def test_a_file_that_is_gone_is_an_error(saved, cache, tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_bytes(saved.read_bytes())
    Tokenizer.load(path)
    tokenizer = Tokenizer.load(path)
    path.unlink()
    assert len(tokenizer.merges) == 4096  # out of the core
    with pytest.raises(TokenizerError, match="it cannot be read: No such file"):
        Tokenizer.load(path)


@pytest.mark.parametrize("part", range(16))
def test_a_file_cut_short_counts_as_none_and_is_mended(saved, cache, part):
    expected = Tokenizer.load(saved).encode(TEXT)
    [file] = kept(cache)
    content = file.read_bytes()
    file.write_bytes(content[: len(content) * part // 16])
    assert not is_found(saved)
    assert Tokenizer.load(saved).encode(TEXT) == expected
    assert file.read_bytes() == content and is_found(saved)


def test_damaged_files_count_as_none(saved, cache):
    expected = Tokenizer.load(saved).encode(TEXT)
    [file] = kept(cache)
    content = file.read_bytes()
    for place in range(0, len(content), len(content) // 60):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        file.write_bytes(damaged)
        assert not is_found(saved), place
    assert Tokenizer.load(saved).encode(TEXT) == expected


def test_the_encoder_of_another_file_is_not_taken(saved, cache, tmp_path):
    Tokenizer.load(saved)
    [first] = kept(cache)
    other = tmp_path / "other.json"
    large_tokenizer(merges_left_out=1).save(other)
    Tokenizer.load(other)
    [second] = set(kept(cache)) - {first}
    first.write_bytes(second.read_bytes())
    assert not is_found(saved) and is_found(other)


def test_each_core_has_files_of_its_own(saved, cache, monkeypatch):
    Tokenizer.load(saved)
    [file] = kept(cache)
    assert file.stem.endswith(_native.CORE_VERSION)
    content = bytearray(file.read_bytes())
    content[8] ^= 1  # of the core's version within the file
    file.write_bytes(content)
    assert not is_found(saved)
    monkeypatch.setattr(stored_encoders._native, "CORE_VERSION", "0" * 16)
    Tokenizer.load(saved)
    assert len(kept(cache)) == 2


def test_what_others_could_write_to_is_not_used(saved, cache, tmp_path, monkeypatch, caplog):
    Tokenizer.load(saved)
    [file] = kept(cache)
    for path in (cache, file):
        mode = path.stat().st_mode
        for bit in (0o020, 0o002):
            path.chmod(mode | bit)
            assert not is_found(saved)
        path.chmod(mode)
    assert is_found(saved)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert not is_found(saved)
    file.unlink()
    cache.chmod(0o777)
    with caplog.at_level(logging.DEBUG, logger=stored_encoders.__name__):
        Tokenizer.load(saved)
    assert kept(cache) == [] and "others can write to" in caplog.text


def test_files_of_another_user_are_not_used(saved, cache, monkeypatch):
    Tokenizer.load(saved)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert not is_found(saved)


# ---- The folder ----


def test_it_is_for_this_user_alone(saved, cache):
    Tokenizer.load(saved)
    [file] = kept(cache)
    assert cache.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o777 == 0o600


def test_where_it_is(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert stored_encoders.cache_folder() == str(tmp_path / "x/groundup/tokenizers")
    for ignored in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", ignored)
        assert stored_encoders.cache_folder() == str(tmp_path / ".cache/groundup/tokenizers")


@pytest.mark.parametrize("value", ["off", "OFF", "0"])
def test_it_can_be_turned_off(saved, cache, monkeypatch, value):
    Tokenizer.load(saved)
    assert is_found(saved)
    monkeypatch.setenv("GROUNDUP_CACHE", value)
    assert not is_found(saved)
    before = kept(cache)[0].stat().st_mtime_ns
    Tokenizer.load(saved)
    assert kept(cache)[0].stat().st_mtime_ns == before


def test_small_tokenizers_are_not_kept(tokenizer, cache, tmp_path):
    tokenizer.save(tmp_path)
    Tokenizer.load(tmp_path)
    assert kept(cache) == []


def test_a_folder_that_cannot_be_made_is_no_error(saved, tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with caplog.at_level(logging.DEBUG, logger=stored_encoders.__name__):
        assert Tokenizer.load(saved).encode("the cat")
    assert "the encoder is not kept" in caplog.text


def test_a_full_disk_is_no_error(saved, cache, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(stored_encoders._native, "store_encoder", full)
    assert Tokenizer.load(saved).encode("the cat")
    assert kept(cache) == []


def test_the_files_used_last_stay(saved, cache, tmp_path, monkeypatch):
    monkeypatch.setattr(stored_encoders, "MOST_FILES", 3)
    paths = []
    for left_out in range(3):
        paths.append(tmp_path / f"{left_out}.json")
        large_tokenizer(left_out).save(paths[-1])
        Tokenizer.load(paths[-1])
        for age, file in enumerate(sorted(kept(cache), key=lambda file: file.stat().st_mtime_ns, reverse=True)):
            os.utime(file, ns=(0, 10**9 * (100 - age)))
    assert is_found(paths[0])  # which makes it the one used last
    large_tokenizer(3).save(tmp_path / "3.json")
    Tokenizer.load(tmp_path / "3.json")
    assert [is_found(path) for path in paths] == [True, False, True]
    assert len(kept(cache)) == 3


# ---- Processes ----


def run(program: str, *arguments: object) -> str:
    """What a fresh interpreter prints."""
    command = [sys.executable, "-c", program, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_processes_may_load_the_same_file_at_once(saved, cache):
    program = (
        "import sys; from groundup import Tokenizer; "
        f"print([Tokenizer.load(sys.argv[1]).encode({TEXT!r}) for _ in range(3)])"
    )
    with ThreadPoolExecutor(5) as pool:
        printed = list(pool.map(lambda _: run(program, saved), range(5)))
    assert printed == [f"{[Tokenizer.load(saved).encode(TEXT)] * 3}\n"] * 5
    assert len(kept(cache)) == 1


def test_a_load_from_the_cache_imports_next_to_nothing(saved, cache):
    Tokenizer.load(saved)
    program = """if True:
        import sys
        import groundup._native  # and what the finder of an editable installation imports
        before = set(sys.modules)
        from groundup import Tokenizer
        tokenizer = Tokenizer.load(sys.argv[1])
        assert tokenizer.decode(tokenizer.encode("the cat")) == "the cat"
        assert tokenizer.vocab_size and tokenizer.special_tokens and tokenizer.pattern and tokenizer.fingerprint
        assert tokenizer.end_of_text_id is not None
        others = {name.partition(".")[0] for name in set(sys.modules) - before} - {"groundup"}
        print(sorted(others))
    """
    assert set(json.loads(run(program, saved).replace("'", '"'))) <= {"__future__", "atexit", "warnings"}
