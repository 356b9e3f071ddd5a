"""How well a model predicts text: every token but the first scored once, the sums in float64.

`evaluate_tokens` works on ids and is what training calls; `evaluate` takes a run and a prepared folder, a
file of ids or text files. Both go through `score_tokens`, which gives the numbers one by one; `breakdown.py` adds them
up by document and by position. The units are explained in model/loss.py, the windows in data/batches.py.
"""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Float64, Int, Int64
from torch import Tensor

from groundup.config import ModelConfig
from groundup.corpus import expand_paths, has_fields, iter_documents
from groundup.data.batches import Ids, eval_batches
from groundup.data.manifest import check_tokenizer, read_manifest
from groundup.data.tokens import Tokens, open_tokens
from groundup.errors import DataError
from groundup.files import StrPath
from groundup.kernels.decoding import Decoder, WeightType
from groundup.model.loss import bits_per_byte, perplexity
from groundup.tokenizer.bpe import Tokenizer

Progress = Callable[[int], None]
Take = Callable[[Int64[Tensor, "batch seq"], Float64[Tensor, "batch seq"]], object]


@dataclass(frozen=True)
class Likelihood:
    """What was measured.

    Attributes:
        nats_per_token: Mean of -log p(token | those before it in its window).
        perplexity: exp of it.
        bits_per_byte: All nats / ln 2 over all bytes; None where bytes are unknown or there are none.
        num_targets: Tokens scored: all but the first.
        num_bytes: UTF-8 bytes of the tokens scored, 0 for a special token; None where unknown.
        seconds: Time taken.
    """

    nats_per_token: float
    perplexity: float
    bits_per_byte: float | None
    num_targets: int
    num_bytes: int | None
    seconds: float


@runtime_checkable
class LanguageModel(Protocol):
    """What is needed of a model: TransformerLM, compiled or not, or any module with its `config`."""

    @property
    def config(self) -> ModelConfig: ...
    def __call__(self, ids: Tensor) -> Tensor: ...
    def parameters(self) -> Iterator[Any]: ...
    def modules(self) -> Iterator[Any]: ...
    def eval(self) -> Any: ...


@runtime_checkable
class Run(Protocol):
    """A model with its tokenizer: what `load_run` returns, or anything with these two."""

    @property
    def model(self) -> LanguageModel: ...
    @property
    def tokenizer(self) -> Tokenizer: ...


def evaluate_tokens(
    model: LanguageModel,
    tokens: Ids,
    *,
    batch_size: int = 32,
    context_length: int | None = None,
    byte_lengths: np.ndarray | None = None,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
) -> Likelihood:
    """Score `tokens`, a 1-D array of ids, in windows of `context_length` that do not overlap.

    A token sees those before it in its window only, so a longer context gives a lower loss. The last
    window may be shorter; nothing is padded. `batch_size` decides how many windows go through the model
    at once, and nothing else. Draws no random number, and leaves every module in the mode it was in.

    Args:
        context_length: None means the model's.
        byte_lengths: Bytes of each id, for bits per byte (Tokenizer.byte_lengths()).
        device: Where the model is; None means that of its parameters.
        progress: Called with the number of tokens scored so far.

    Raises DataError for fewer than 2 tokens, or an id that the model or `byte_lengths` does not know.
    """
    started = time.perf_counter()
    nats, num_targets, num_bytes = 0.0, 0, 0

    def add(targets: Int64[Tensor, "batch seq"], found: Float64[Tensor, "batch seq"]) -> None:
        nonlocal nats, num_targets, num_bytes
        for window in found:
            nats += window.sum().item()
        num_targets += targets.numel()
        if byte_lengths is not None:
            num_bytes += int(byte_lengths[targets.numpy()].sum())

    score_tokens(
        model,
        tokens,
        add,
        batch_size=batch_size,
        context_length=context_length,
        byte_lengths=byte_lengths,
        device=device,
        progress=progress,
    )
    return Likelihood(
        nats_per_token=nats / num_targets,
        perplexity=perplexity(nats / num_targets),
        bits_per_byte=bits_per_byte(nats, num_bytes) if num_bytes else None,
        num_targets=num_targets,
        num_bytes=None if byte_lengths is None else num_bytes,
        seconds=time.perf_counter() - started,
    )


def score_tokens(
    model: LanguageModel,
    tokens: Ids,
    take: Take,
    *,
    batch_size: int = 32,
    context_length: int | None = None,
    byte_lengths: np.ndarray | None = None,
    device: torch.device | str | None = None,
    progress: Progress | None = None,
) -> None:
    """Give `take` each batch of windows: its targets, and -log p of each of them in nats, both on the CPU.

    Arguments and errors as of `evaluate_tokens`; the targets come in the order of the tokens.
    """
    vocab_size = model.config.vocab_size
    if byte_lengths is not None:
        vocab_size = min(vocab_size, len(byte_lengths))
    if context_length is None:
        context_length = model.config.context_length
    if device is None:
        device = next(model.parameters()).device
    num_targets = 0
    with torch.no_grad(), evaluation_mode(model):
        for inputs, targets in eval_batches(tokens, batch_size, context_length, vocab_size=vocab_size):
            # Without a name for the logits (batch, seq, vocab): those of two batches never exist together.
            take(targets, target_nats(model(inputs.to(device)), targets.to(device)))
            num_targets += targets.numel()
            if progress is not None:
                progress(num_targets)


def evaluate(
    run: Run,
    source: StrPath | Sequence[StrPath] | np.ndarray | Tokens,
    *,
    split: Literal["train", "valid"] = "valid",
    batch_size: int = 32,
    context_length: int | None = None,
    weights: WeightType | None = None,
    progress: Progress | None = None,
) -> Likelihood:
    """Score a run on `source`.

    Args:
        source: A folder written by `groundup data prepare`; a file of ids (.bin, .npy); text files of any
            kind that `prepare` reads, by path, glob or URL, encoded here as `prepare` does it; or ids.
        split: Which part of a folder.
        weights: Score what the native decoder makes of the model with such weights: the loss of text written
            so. None scores the model itself.
        batch_size, context_length, progress: As in `evaluate_tokens`.

    Raises DataError for a folder written with another tokenizer, and for what cannot be read; ConfigError for a
    model that the native decoder does not take.
    """
    return evaluate_tokens(
        scored_model(run, weights),
        read_ids(source, split, run.tokenizer),
        batch_size=batch_size,
        context_length=context_length,
        byte_lengths=run.tokenizer.byte_lengths(),
        progress=progress,
    )


def scored_model(run: Run, weights: WeightType | None) -> LanguageModel:
    """The model itself, or what the native decoder makes of it. Raises ConfigError for one that it does not take."""
    return run.model if weights is None else _DecodedModel(run.model, weights)


class _DecodedModel:
    """A model whose logits the native decoder computes."""

    def __init__(self, model: Any, weights: WeightType) -> None:
        self._decoder = Decoder(model, weights)
        self.config = model.config
        self.parameters, self.modules, self.eval = model.parameters, model.modules, model.eval

    def __call__(self, ids: Tensor) -> Tensor:
        return self._decoder.logits(ids)


def target_nats(
    logits: Float[Tensor, "batch seq vocab"], targets: Int[Tensor, "batch seq"]
) -> Float64[Tensor, "batch seq"]:
    """-log softmax(logits)[target] of each target, computed in float32, on the CPU, ready to be summed in float64.

    Window by window: the logits are the largest array there is, and their exponentials, which logsumexp
    makes, need not exist all at once.

    >>> target_nats(torch.tensor([[[0.0, 0.0], [1000.0, 0.0]]]), torch.tensor([[1, 0]]))  # ln 2, and sure
    tensor([[0.6931, 0.0000]], dtype=torch.float64)
    """
    rows = []
    for window, ids in zip(logits, targets, strict=True):
        window = window.float()
        nats = window.logsumexp(dim=-1) - window.gather(-1, ids[:, None])[:, 0]  # (seq,)
        rows.append(nats.cpu().double())  # mps has no float64
    return torch.stack(rows)


@contextlib.contextmanager
def evaluation_mode(model: LanguageModel) -> Iterator[None]:
    """Dropout off inside the block; afterwards each module is as it was, also where they differed."""
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


def read_ids(
    source: StrPath | Sequence[StrPath] | np.ndarray | Tokens, split: str, tokenizer: Tokenizer
) -> np.ndarray | Tokens:
    """The ids that `source` means; arguments and errors as of `evaluate`."""
    if isinstance(source, np.ndarray | Tokens):
        return source
    if isinstance(source, str | Path) and "://" not in str(source):
        path = Path(source)
        if path.is_dir():
            check_tokenizer(read_manifest(path), tokenizer)
            return open_tokens(path, split)
        if path.suffix in (".bin", ".npy"):
            return open_tokens(path, dtype=tokenizer.dtype)
    return _encode_files(source, tokenizer)


def _encode_files(paths: StrPath | Sequence[StrPath], tokenizer: Tokenizer) -> np.ndarray:
    """The ids that `prepare` would write for these files: each document, then the end token."""
    if tokenizer.end_of_text_id is None:
        raise DataError("the tokenizer has no <|endoftext|>, which must follow each document; score ids instead")
    end = np.array([tokenizer.end_of_text_id], dtype=tokenizer.dtype)
    ids = []
    for source in expand_paths(paths):
        # A spelling of a special token is that token in a text file, and plain text in a field of a record.
        special = "text" if has_fields(source) else "token"
        for document in iter_documents(source):
            ids += [tokenizer.encode_to_array(document, special=special), end]
    if not ids:
        raise DataError(f"{paths} holds no text; give at least one document")
    return np.concatenate(ids)
