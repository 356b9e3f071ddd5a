"""How many updates fit into a given time: measured on this machine, on the model that will be trained."""

import statistics
import time

import torch

from groundup.config import RunConfig
from groundup.data.shards import open_tokens
from groundup.device import choose_device
from groundup.kernels.registry import choose
from groundup.model.variants import build_model
from groundup.tokenizer.bpe import Tokenizer
from groundup.training.loss import choose_loss
from groundup.training.products import fast_products
from groundup.training.resolve import make_optimizer, resolve

WARM_UP_UPDATES = 3


def steps_for(config: RunConfig, *, seconds: float, validation_passes: int, measure_s: float = 4.0) -> int:
    """The number of updates of `config` that a run of `seconds` holds, validation included; at least 10.

    Trains a throw-away copy of the model for about `measure_s` seconds on random ids.
    """
    config = resolve(config, Tokenizer.load(config.data.path))
    update_s = time_of_update(config, measure_s=measure_s)
    # A forward pass costs about a third of an update.
    tokens_per_update = config.training.batch_size * config.model.context_length
    pass_s = update_s / 3 * len(open_tokens(config.data.path, "valid")) / tokens_per_update
    return max(10, round((seconds - validation_passes * pass_s) / update_s))


def time_of_update(config: RunConfig, *, measure_s: float, warm_up: int = WARM_UP_UPDATES) -> float:
    """Median seconds of an update: forward and backward of each part of the batch, optimizer.

    The configuration must be resolved. At least two updates are timed, after `warm_up` that are not.
    """
    device = choose_device(config.training.device)
    with torch.random.fork_rng(), fast_products(device, wanted=config.training.kernels == "auto"):
        torch.manual_seed(0)
        settings = config.training
        ops = choose(device, torch.float32, settings.kernels)
        model = build_model(config.model, ops=ops, checkpoint_activations=settings.checkpoint_activations).to(device)
        optimizer = make_optimizer(config, model)
        loss_of = choose_loss(
            model, optimizer, torch.float32, kernels=settings.kernels, as_one_function=settings.as_one_function
        )
        shape = (settings.batch_size, config.model.context_length)
        ids = torch.randint(config.model.vocab_size, shape, device=device)
        times: list[float] = []
        loss = torch.zeros(())
        begin = time.monotonic()
        while len(times) < warm_up + 2 or time.monotonic() - begin < measure_s:
            start = time.monotonic()
            for part in ids.split(settings.micro_batch_size or settings.batch_size):
                loss = loss_of(part, part)
                loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            loss.item()  # waits for a GPU
            times.append(time.monotonic() - start)
    return statistics.median(times[warm_up:])
