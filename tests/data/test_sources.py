"""What is said of public corpora can be used: checksums are checksums, and belong to a pinned revision."""

import re

import pytest

from groundup.data.sources import CORPORA, PublicCorpus, find_corpus
from groundup.errors import DataError


@pytest.mark.parametrize("corpus", CORPORA.values(), ids=list(CORPORA))
def test_a_corpus_can_be_downloaded_by_what_is_said_of_it(corpus: PublicCorpus) -> None:
    assert corpus.title and corpus.licence and corpus.page.startswith("https://")
    names = [file.name for file in corpus.files]
    assert len(set(names)) == len(names)
    if corpus.is_rows:
        assert all(name.endswith(".parquet") for name in names)
    else:
        assert {corpus.train, corpus.valid} - {None} == set(names)
    for file in corpus.files:
        assert file.sha256 is None or re.fullmatch("[0-9a-f]{64}", file.sha256)
        if corpus.repository is None:
            assert file.path.startswith("https://") and file.sha256 is not None, "nobody else knows it"
        elif file.sha256 is not None:
            assert re.fullmatch("[0-9a-f]{40}", corpus.revision), "another revision has other bytes"


def test_the_corpora_of_the_specification_are_there() -> None:
    assert set(CORPORA) == {"owt", "tinystories", "shakespeare", "wikitext"}


def test_an_unknown_name() -> None:
    with pytest.raises(DataError, match="there is no corpus 'pile' to download; there are owt, tinystories"):
        find_corpus("pile")


def test_the_checksum_of_shakespeare_is_that_of_the_text(shared) -> None:
    from groundup.files import sha256_file

    path = shared / "data" / "shakespeare" / "input.txt"
    (file,) = find_corpus("shakespeare").files
    assert (sha256_file(path), path.stat().st_size) == (file.sha256, file.size_bytes)
