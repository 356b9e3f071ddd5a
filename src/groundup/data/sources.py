"""Public corpora by name: where their files are, under which licence, and the checksums they must have.

Data, no code: `download.py` fetches it. A revision is pinned where the checksums are; where there are none, the
Hub says at the time of the download what the file's SHA-256 is.
"""

from dataclasses import dataclass

from groundup.errors import DataError


@dataclass(frozen=True)
class RemoteFile:
    """A file of a corpus on a server.

    Args:
        name: In the folder that it is downloaded into.
        path: In the repository of the corpus on the Hugging Face Hub; the whole address, if it has none.
        sha256: Of its bytes; None for what the Hub says.
        size_bytes: None for what the server says.
    """

    name: str
    path: str
    sha256: str | None = None
    size_bytes: int | None = None


@dataclass(frozen=True)
class PublicCorpus:
    """A corpus that can be downloaded.

    Args:
        name: As it is typed.
        title: What it is, and whose.
        licence: Of the texts.
        page: Where a person reads about it.
        train, valid: Names of the files to train and to validate on, once all is there; no `valid` if a part of the
            training text is to be held out.
        files: What is downloaded.
        repository, revision: Of a dataset on the Hugging Face Hub.
        is_rows: The files are tables of WikiText, with a line of text in a row: they become `train` and `valid`.
    """

    name: str
    title: str
    licence: str
    page: str
    train: str
    valid: str | None
    files: tuple[RemoteFile, ...]
    repository: str | None = None
    revision: str = "main"
    is_rows: bool = False


_TINYSTORIES = PublicCorpus(
    name="tinystories",
    title="TinyStories, the stories of GPT-4 (Eldan and Li, 2023, arXiv:2305.07759)",
    licence="CDLA-Sharing-1.0",
    page="https://huggingface.co/datasets/roneneldan/TinyStories",
    train="train.txt",
    valid="valid.txt",
    repository="roneneldan/TinyStories",
    revision="f54c09fd23315a6f9c86f9dc80f725de7d8f9c64",
    files=(
        RemoteFile(
            "train.txt",
            "TinyStoriesV2-GPT4-train.txt",
            "6418d412de72888f52b5142c761ac21a582f7d1166f0bfbdb5f03ccfdec90443",
            2_227_753_162,
        ),
        RemoteFile(
            "valid.txt",
            "TinyStoriesV2-GPT4-valid.txt",
            "6874bae9a4c1a4e7edcf0e53b86c17817e9cf881fc75ff2368da457b80c0585d",
            22_502_601,
        ),
    ),
)

_OWT = PublicCorpus(
    name="owt",
    title="a sample of OpenWebText (Gokaslan and Cohen, 2019), as Stanford's CS336 uses it",
    licence="CC0-1.0 for the collection; the texts are those of their authors",
    page="https://huggingface.co/datasets/stanford-cs336/owt-sample",
    train="train.txt.gz",
    valid="valid.txt.gz",
    repository="stanford-cs336/owt-sample",
    files=(RemoteFile("train.txt.gz", "owt_train.txt.gz"), RemoteFile("valid.txt.gz", "owt_valid.txt.gz")),
)

_SHAKESPEARE = PublicCorpus(
    name="shakespeare",
    title="tiny Shakespeare, 1.1 MB of the plays (Karpathy, 2015)",
    licence="public domain",
    page="https://github.com/karpathy/char-rnn",
    train="shakespeare.txt",
    valid=None,
    files=(
        RemoteFile(
            "shakespeare.txt",
            "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt",
            "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
            1_115_394,
        ),
    ),
)

_WIKITEXT = PublicCorpus(
    name="wikitext",
    title="WikiText-103, raw (Merity et al., 2016, arXiv:1609.07843)",
    licence="CC BY-SA 3.0 and GFDL",
    page="https://huggingface.co/datasets/Salesforce/wikitext",
    train="train.txt",
    valid="valid.txt",
    repository="Salesforce/wikitext",
    revision="b08601e04326c79dfdd32d625aee71d232d685c3",
    is_rows=True,
    files=(
        RemoteFile(
            "train-0.parquet",
            "wikitext-103-raw-v1/train-00000-of-00002.parquet",
            "74da360f23826045b3e6ac6375411fdb15f003030aa74f2596ed08b857cb9212",
            156_987_808,
        ),
        RemoteFile(
            "train-1.parquet",
            "wikitext-103-raw-v1/train-00001-of-00002.parquet",
            "ba090ac30dbf5461e8dcbdd1a1b8e6f3cf9c2c756d64f0c1220450acd514f720",
            157_088_770,
        ),
        RemoteFile(
            "valid.parquet",
            "wikitext-103-raw-v1/validation-00000-of-00001.parquet",
            "204929b7ff9d6184953f867dedb860e40aa69c078fc1e54b3baaa8fb28511c4c",
            657_209,
        ),
    ),
)

CORPORA = {corpus.name: corpus for corpus in (_OWT, _TINYSTORIES, _SHAKESPEARE, _WIKITEXT)}


def find_corpus(name: str) -> PublicCorpus:
    """The corpus of that name. Raises DataError, with the names there are, for another.

    >>> find_corpus("shakespeare").licence
    'public domain'
    """
    if name not in CORPORA:
        raise DataError(f"there is no corpus {name!r} to download; there are {', '.join(CORPORA)}")
    return CORPORA[name]
