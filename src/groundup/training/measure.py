"""How fast this machine is, in a few seconds: updates of small models by the path of training, and generation."""

import time

import torch

from groundup.config import ModelConfig, RunConfig, TrainingConfig
from groundup.device import choose_device
from groundup.environment import available_memory_bytes
from groundup.generation.engine import generate_ids
from groundup.generation.sampling import SamplingConfig
from groundup.model.transformer import TransformerLM
from groundup.training.plan import time_of_update
from groundup.training.planner import Machine, Plan
from groundup.training.step_cost import fit

GENERATED = 24


def _shape(vocab: int, context: int, width: int, layers: int, dropout: float = 0.0) -> ModelConfig:
    return ModelConfig(
        vocab_size=vocab,
        context_length=context,
        d_model=width,
        num_layers=layers,
        num_heads=width // 32,
        dropout=dropout,
    )


# The first are like those that get trained; each of the others has most of one kind of work. In the order in which they
# are left out where the machine is so busy that there is no time for all.
SHAPES = (
    (_shape(1024, 256, 128, 4), 4),
    (_shape(1024, 256, 256, 4), 4),  # products
    (_shape(4096, 256, 64, 2), 4),  # logits
    (_shape(512, 128, 64, 2, 0.1), 4),  # dropout
    (_shape(512, 32, 64, 8), 2),  # operations
    (_shape(8192, 64, 256, 2), 2),  # parameters
    (_shape(512, 512, 64, 4), 2),  # pairs of tokens
    (_shape(512, 256, 64, 2), 4),
)


def measure_machine(*, seconds: float) -> Machine:
    """Time each of SHAPES for its share of `seconds`, or for two updates where that takes longer.

    Those for which no time is left are left out, after the first two.
    """
    share_s, started = 0.8 * seconds / len(SHAPES), time.monotonic()
    time_of_update(_config(*SHAPES[-1]), measure_s=0.0, warm_up=1)  # threads and libraries start
    measured = []
    for model, batch_size in SHAPES:
        if len(measured) < 2 or time.monotonic() - started < seconds:
            update_s = time_of_update(_config(model, batch_size), measure_s=share_s, warm_up=1)
            measured.append((model, batch_size, update_s))
    return Machine(cost=fit(measured), token_s=_token_s(), memory_bytes=available_memory_bytes())


def measure_update(plan: Plan, *, seconds: float) -> float:
    """Seconds of an update of the very model that is planned."""
    training = TrainingConfig(batch_size=plan.batch_size, micro_batch_size=plan.micro_batch_size)
    return time_of_update(RunConfig(model=plan.model, training=training), measure_s=seconds, warm_up=1)


def _config(model: ModelConfig, batch_size: int) -> RunConfig:
    return RunConfig(model=model, training=TrainingConfig(batch_size=batch_size))


def _token_s() -> float:
    """Seconds of a step of generation for each layer, with three texts side by side."""
    shape = SHAPES[-1][0]
    model = TransformerLM(shape).to(choose_device()).eval()
    started = time.monotonic()
    with torch.random.fork_rng():
        for _ in generate_ids(model, [[0]] * 3, SamplingConfig(max_tokens=GENERATED, seed=0)):
            pass
    return (time.monotonic() - started) / GENERATED / shape.num_layers
