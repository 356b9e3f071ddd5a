"""Rows of tables become the articles that they were cut from."""

from pathlib import Path

import pytest

from groundup.corpus import iter_documents
from groundup.data.wikitext import iter_articles, write_articles

BLANK = b" \n"
CRAB = [b" = Crab = \n", b"", b" A crab is = = an animal . \n", b"", b" = = Legs = = \n", b"", b" It has ten . \n"]
HEN = [b" = Hen = \n", b"", b" = this line only looks like a title = \n", b" A hen . \n"]


def spelled(rows: list[bytes]) -> bytes:
    return b"".join(row or BLANK for row in rows)


def test_articles_begin_at_titles_between_blank_lines() -> None:
    articles = list(iter_articles([b"", *CRAB, b"", *HEN]))
    assert articles == [BLANK + spelled(CRAB) + BLANK, spelled(HEN)]
    assert b"".join(articles) == spelled([b"", *CRAB, b"", *HEN]), "nothing is lost"


@pytest.mark.parametrize("rows", [[], [b""], [b"", b" \n"]])
def test_no_text_no_article(rows: list[bytes]) -> None:
    assert list(iter_articles(rows)) == []


def test_text_before_the_first_title_is_an_article() -> None:
    assert list(iter_articles([b" no title \n", b"", *CRAB])) == [b" no title \n" + BLANK, spelled(CRAB)]


def test_an_article_may_go_on_in_the_next_table(tmp_path: Path) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    rows = [row.decode() for row in [b"", *CRAB, b"", *HEN]]
    for number, some in enumerate((rows[:4], rows[4:])):
        parquet.write_table(pyarrow.table({"text": some}), tmp_path / f"{number}.parquet")
    write_articles([tmp_path / "0.parquet", tmp_path / "1.parquet"], tmp_path / "train.txt")
    documents = list(iter_documents(tmp_path / "train.txt"))
    assert documents == [(BLANK + spelled(CRAB) + BLANK).decode(), "\n" + spelled(HEN).decode()]
