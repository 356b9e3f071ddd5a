"""Ids on disk as one array: as numpy would slice them, over shards, raw files and .npy."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundup.data.shards import prepare
from groundup.data.tokens import IdFile, Tokens, open_tokens
from groundup.errors import DataError
from groundup.tokenizer.bpe import Tokenizer

IDS = np.arange(1000, 1023, dtype=np.uint16)


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    """The 23 ids in four files, one of them empty and one of a single id."""
    folder = tmp_path_factory.mktemp("ids")
    files = []
    for number, (start, stop) in enumerate([(0, 10), (10, 10), (10, 11), (11, 23)]):
        path = folder / f"{number}.bin"
        IDS[start:stop].tofile(path)
        files.append(IdFile(path, stop - start))
    return Tokens(files, np.uint16)


indices = st.none() | st.integers(-30, 30)


@given(indices, indices, st.none() | st.integers(-30, 30).filter(bool))
def test_slices_are_numpys(tokens: Tokens, start: int | None, stop: int | None, step: int | None) -> None:
    found = tokens[start:stop:step]
    expected = IDS[start:stop:step]
    assert found.dtype == expected.dtype
    assert found.tolist() == expected.tolist()


def test_single_ids_and_the_whole(tokens: Tokens) -> None:
    assert [tokens[i] for i in range(-23, 23)] == IDS.tolist() * 2
    assert (len(tokens), tokens.shape, tokens.dtype) == (23, (23,), np.uint16)
    assert np.asarray(tokens).tolist() == IDS.tolist()
    assert np.asarray(tokens, dtype=np.int64).dtype == np.int64
    assert list(tokens) == IDS.tolist()
    for index in (23, -24):
        with pytest.raises(IndexError, match=f"index {index} is out of range for 23 ids"):
            tokens[index]


def test_pickled_and_forked_copies_read_the_same(tokens: Tokens) -> None:
    copy = pickle.loads(pickle.dumps(tokens))
    assert copy[5:15].tolist() == tokens[5:15].tolist()


def test_files_are_closed_with_the_last_reference(tmp_path: Path) -> None:
    IDS.tofile(tmp_path / "a.bin")
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    opened = [open_tokens(tmp_path / "a.bin") for _ in range(5)]
    del opened
    after = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    assert after == before


def test_raw_files(tmp_path: Path) -> None:
    IDS.tofile(tmp_path / "train.bin")
    IDS.astype(np.uint32).tofile(tmp_path / "wide.bin")
    assert open_tokens(tmp_path / "train.bin")[:].tolist() == IDS.tolist()
    assert open_tokens(tmp_path / "wide.bin", dtype=np.uint32)[:].tolist() == IDS.tolist()
    (tmp_path / "odd.bin").write_bytes(b"123")
    with pytest.raises(DataError, match=r"odd\.bin has 3 bytes, which is no whole number of uint16 ids"):
        open_tokens(tmp_path / "odd.bin")
    (tmp_path / "empty.bin").touch()
    assert len(open_tokens(tmp_path / "empty.bin")) == 0
    assert np.asarray(open_tokens(tmp_path / "empty.bin")).tolist() == []


@pytest.mark.parametrize("dtype", ["<u2", ">u2", "<i8", "<u4"])
def test_npy_files(tmp_path: Path, dtype: str) -> None:
    np.save(tmp_path / "ids.npy", IDS.astype(dtype))
    assert open_tokens(tmp_path / "ids.npy")[3:9].tolist() == IDS[3:9].tolist()


@pytest.mark.parametrize("array", [IDS.reshape(1, 23), IDS.astype(np.float32), np.array(3)])
def test_npy_files_that_hold_no_ids(tmp_path: Path, array: np.ndarray) -> None:
    np.save(tmp_path / "ids.npy", array)
    with pytest.raises(DataError, match=r"ids\.npy holds .*; ids must be integers in one dimension"):
        open_tokens(tmp_path / "ids.npy")


def test_what_is_no_npy_file(tmp_path: Path) -> None:
    (tmp_path / "ids.npy").write_bytes(b"not a header")
    with pytest.raises(DataError, match=r"ids\.npy is not a \.npy file that can be read"):
        open_tokens(tmp_path / "ids.npy")
    with pytest.raises(DataError, match="does not exist"):
        open_tokens(tmp_path / "nothing.bin")
    with pytest.raises(DataError, match=r"holds no manifest\.json"):
        open_tokens(tmp_path)


def test_damaged_shards_are_refused(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("a line of text\n" * 20)
    prepare(tmp_path / "a.txt", byte_tokenizer, tmp_path / "set", shard_tokens=100)
    last = sorted((tmp_path / "set").glob("train-*.bin"))[-1]
    whole = open_tokens(tmp_path / "set")
    os.truncate(last, last.stat().st_size - 2)
    with pytest.raises(DataError, match=rf"{last.name} has \d+ bytes, not the \d+ of its manifest"):
        open_tokens(tmp_path / "set")
    with pytest.raises(DataError, match=rf"{last.name} ends early"):
        whole[:]  # was opened before it was cut
    last.unlink()
    with pytest.raises(DataError, match=rf"{last.name} is missing"):
        open_tokens(tmp_path / "set")


def test_a_split_that_is_not_there(tmp_path: Path, byte_tokenizer: Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("text")
    prepare(tmp_path / "a.txt", byte_tokenizer, tmp_path / "set", valid_fraction=0.0)
    with pytest.raises(DataError, match="has no 'valid' ids; it has train"):
        open_tokens(tmp_path / "set", "valid")
