"""The cache: logits as without it, for rows of different lengths, padded prompts and reused rows."""

import pytest
import torch
from torch import Tensor

from groundup.config import ModelConfig
from groundup.errors import ConfigError, DataError
from groundup.model.kv_cache import KVCache
from groundup.model.ops import mixed
from groundup.model.transformer import TransformerLM

CONFIG = ModelConfig(vocab_size=40, context_length=20, d_model=16, num_layers=2, num_heads=4, d_ff=24)
VARIANTS = [
    {},
    {"num_kv_heads": 2},
    {"num_kv_heads": 1, "qk_norm": True, "norm": "post"},
    {"positions": "none", "norm": "none", "ffn": "silu"},
]
CLOSE = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(autouse=True)
def _no_grad():
    with torch.no_grad():
        yield


def make_model(**changes) -> TransformerLM:
    torch.manual_seed(0)
    shape = {name: getattr(CONFIG, name) for name in ("vocab_size", "context_length", "d_model", "d_ff")}
    return TransformerLM(ModelConfig(**{**shape, "num_layers": 2, "num_heads": 4, **changes})).eval()


def some_ids(*shape: int) -> Tensor:
    return torch.randint(0, CONFIG.vocab_size, shape)


@pytest.mark.parametrize("changes", VARIANTS)
def test_one_id_at_a_time_through_the_whole_context(changes):
    model = make_model(**changes)
    ids = some_ids(2, 20)
    cache = KVCache(model.config, 2)
    steps = []
    for place in range(20):
        steps.append(model(ids[:, place : place + 1], cache=cache))
        cache.advance(1)
    torch.testing.assert_close(torch.cat(steps, dim=1), model(ids), **CLOSE)


@pytest.mark.parametrize("changes", VARIANTS)
def test_rows_of_different_lengths_after_a_padded_prefill(changes):
    """Prompts of 1, 4 and 9 ids padded to 9, then six more each: every row as if it were alone."""
    model = make_model(**changes)
    texts = [some_ids(length + 6) for length in (1, 4, 9)]
    prompts = torch.full((3, 9), 39)  # what the padding is must not matter
    for row, text in enumerate(texts):
        prompts[row, : len(text) - 6] = text[:-6]
    cache = KVCache(model.config, 3)
    logits = model(prompts, cache=cache)
    cache.advance(torch.tensor([1, 4, 9]))
    found = [[logits[row, : len(text) - 6]] for row, text in enumerate(texts)]
    for step in range(6):
        new = torch.stack([text[len(text) - 6 + step] for text in texts])[:, None]
        logits = model(new, cache=cache)
        cache.advance(1)
        for row in range(3):
            found[row].append(logits[row])
    for text, parts in zip(texts, found, strict=True):
        torch.testing.assert_close(torch.cat(parts), model(text), **CLOSE)
    assert cache.lengths.tolist() == [7, 10, 15]


def test_pieces_of_any_size_equal_the_whole():
    model, ids = make_model(num_kv_heads=2), some_ids(2, 20)
    cache = KVCache(model.config, 2)
    parts = []
    for piece in ids.split([3, 1, 7, 9], dim=1):
        parts.append(model(piece, cache=cache))
        cache.advance(piece.shape[1])
    torch.testing.assert_close(torch.cat(parts, dim=1), model(ids), **CLOSE)


def test_a_row_started_anew_does_not_see_its_earlier_text():
    model = make_model()
    cache = KVCache(model.config, 2)
    first = some_ids(2, 15)
    model(first, cache=cache)
    cache.advance(15)
    cache.lengths[1] = 0  # row 1 begins again, row 0 goes on
    more = some_ids(2, 4)
    logits = model(more, cache=cache)
    torch.testing.assert_close(logits[0], model(torch.cat([first[0], more[0]]))[15:], **CLOSE)
    torch.testing.assert_close(logits[1], model(more[1]), **CLOSE)


def test_a_row_that_is_not_advanced_stands_still():
    model, ids = make_model(), some_ids(2, 6)
    cache = KVCache(model.config, 2)
    model(ids[:, :5], cache=cache)
    cache.advance(5)
    model(some_ids(2, 1), cache=cache)
    cache.advance(torch.tensor([1, 0]))
    torch.testing.assert_close(model(ids[:, 5:], cache=cache)[1, 0], model(ids)[1, 5], **CLOSE)


def test_hidden_takes_the_cache_too():
    model, ids = make_model(), some_ids(1, 8)
    cache = KVCache(model.config, 1)
    last = model.hidden(ids, cache=cache)[:, -1]
    torch.testing.assert_close(model.lm_head(last), model(ids)[:, -1], **CLOSE)


def test_a_cache_may_be_shorter_than_the_context_and_says_when_it_is_full():
    model = make_model()
    cache = KVCache(model.config, 2, max_length=6)
    assert cache.keys.shape == (2, 2, 4, 6, 4)
    model(some_ids(2, 5), cache=cache)
    cache.advance(torch.tensor([2, 5]))
    model(some_ids(2, 1), cache=cache)
    cache.advance(1)
    with pytest.raises(DataError, match="holds 6 positions and 7 are needed"):
        model(some_ids(2, 1), cache=cache)
    for length in (0, 21):
        with pytest.raises(ConfigError, match=f"max_length of the cache is {length}"):
            KVCache(model.config, 1, max_length=length)


def test_cache_and_products_may_differ_in_type():
    model = make_model()
    narrow = TransformerLM(model.config, ops=mixed(torch.bfloat16)).eval()
    narrow.load_state_dict(model.state_dict())
    ids = some_ids(2, 12)
    for dtype in (torch.float32, torch.bfloat16):
        cache = KVCache(model.config, 2, dtype=dtype)
        parts = []
        for piece in ids.split(4, dim=1):
            parts.append(narrow(piece, cache=cache))
            cache.advance(4)
        torch.testing.assert_close(torch.cat(parts, dim=1).float(), model(ids), rtol=0, atol=0.05)


def test_a_cache_filled_under_autograd_holds_no_graph():
    model, ids = make_model(), some_ids(1, 6)
    cache = KVCache(model.config, 1)
    with torch.enable_grad():
        model(ids[:, :3], cache=cache)
        cache.advance(3)
        logits = model(ids[:, 3:], cache=cache)
    assert not cache.keys.requires_grad and not cache.values.requires_grad
    torch.testing.assert_close(logits, model(ids)[:, 3:], **CLOSE)
