"""How many updates fit into a given time: measured on this machine, on the model that will be trained."""

import statistics
import time

import torch

from groundup.config import RunConfig
from groundup.data.shards import open_tokens
from groundup.model.ops import REFERENCE
from groundup.model.transformer import TransformerLM
from groundup.tokenizer.bpe import Tokenizer
from groundup.training.resolve import make_optimizer, resolve

WARM_UP_UPDATES = 3
SHARE_OF_VALIDATION = 8  # validation passes in a run that will be planned


def steps_for(config: RunConfig, *, seconds: float, measure_s: float = 4.0) -> int:
    """The number of updates of `config` that a run of `seconds` holds, validation passes included; at least 10.

    Trains a throw-away copy of the model for about `measure_s` seconds on random ids.
    """
    tokenizer = Tokenizer.load(config.data.path)
    config = resolve(config, tokenizer)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = TransformerLM(config.model, ops=REFERENCE)
        optimizer = make_optimizer(config, model)
        shape = (config.training.batch_size, config.model.context_length)
        ids = torch.randint(config.model.vocab_size, shape)
        times: list[float] = []
        begin = time.monotonic()
        while len(times) < WARM_UP_UPDATES + 2 or time.monotonic() - begin < measure_s:
            start = time.monotonic()
            model.ops.cross_entropy(model(ids), ids).backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            times.append(time.monotonic() - start)
    update_s = statistics.median(times[WARM_UP_UPDATES:])
    # A forward pass costs about a third of an update.
    validation_tokens = len(open_tokens(config.data.path, "valid"))
    pass_s = update_s / 3 * validation_tokens / ids.numel()
    return max(10, round((seconds - SHARE_OF_VALIDATION * pass_s) / update_s))
