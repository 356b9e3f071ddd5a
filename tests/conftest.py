"""What many tests start from: one thread, a tiny tokenizer, prepared data and run, the shared data if it is there."""

import os
import signal
from pathlib import Path

import hypothesis
import pytest

from groundup.config import DataConfig, ModelConfig, OptimizerConfig, RunConfig, TrainingConfig

# For this process and the ones that tests start: several of them share the cores.
os.environ.setdefault("OMP_NUM_THREADS", "1")

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"
END_OF_TEXT = "<|endoftext|>"
SENTENCES = [
    "The cat sat on the mat and looked at the moon.",
    "A dog ran over the hill, and the cat ran after it!",
    "Tom said, “Où est la lune?” and the dog said nothing.",
    "It's a long way to the sea, but they'll walk 12 miles.",
]

# What a script starts in the background has SIGINT ignored, and so had all that this process starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of the code; and the same code is tried with the same examples each time, wherever it
# runs: new ones are for `make fuzz`, and for HYPOTHESIS_SEARCH=1.
new_examples = bool(os.environ.get("HYPOTHESIS_SEARCH"))
hypothesis.settings.register_profile("groundup", deadline=None, derandomize=not new_examples)
hypothesis.settings.load_profile("groundup")


def pytest_addoption(parser):
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture(scope="session", autouse=True)
def one_thread():
    """Tiny tensors gain nothing from threads, and results are the same on every machine."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def cache_of_tests(tmp_path_factory):
    """Tests, and the processes that they start, find nothing in the user's cache folder and leave nothing there."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared data beside the project; the test is skipped where it is missing."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared, the folder of real data beside the project")
    return SHARED


@pytest.fixture(scope="session")
def text() -> str:
    """Some 200 short documents with separators, a few KB."""
    documents = [f"{SENTENCES[i % 4]} {SENTENCES[(i // 4) % 4]} Number {i}." for i in range(200)]
    return "".join(f"{document}\n{END_OF_TEXT}\n" for document in documents)


@pytest.fixture(scope="session")
def tokenizer(text, tmp_path_factory):
    """300 entries learned from `text`."""
    from groundup.tokenizer.bpe import Tokenizer, train_bpe

    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(text, encoding="utf-8")
    vocab, merges = train_bpe(path, 300, [END_OF_TEXT])
    return Tokenizer(vocab, merges, [END_OF_TEXT])


@pytest.fixture(scope="session")
def prepared(text, tokenizer, tmp_path_factory) -> Path:
    """A folder as `groundup data prepare` writes it. Read only."""
    from groundup.data.shards import prepare

    folder = tmp_path_factory.mktemp("prepared")
    (folder / "text.txt").write_text(text, encoding="utf-8")
    prepare(folder / "text.txt", tokenizer, folder / "data", valid_fraction=0.1)
    return folder / "data"


@pytest.fixture
def tiny_config(prepared, tmp_path) -> RunConfig:
    """A run of 20 updates that takes a second."""
    return RunConfig(
        out=str(tmp_path / "run"),
        model=ModelConfig(vocab_size=0, context_length=16, d_model=16, num_layers=2, num_heads=2, d_ff=32, dropout=0.1),
        data=DataConfig(path=str(prepared)),
        optimizer=OptimizerConfig(lr=1e-2, warmup_steps=2),
        training=TrainingConfig(max_steps=20, batch_size=4, log_every=1, eval_every=10, save_every=5, device="cpu"),
    )
