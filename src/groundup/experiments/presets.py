"""How large the experiments are: for two CPU cores, for the GPU of the course, and as small as can be.

`cpu` fits all experiments into four hours of two cores. Its model has 1.3 million parameters and sees 1.3 million
tokens a run: 320 updates of 32 x 128. Runs, three seeds wherever a comparison is claimed, equal ones made once:

    experiment      runs  new  of them
    learning-rate     24   24  8 rates x 3 seeds
    batch-size        28   28  5 sizes, as memory has it, x (3 rates or more, the best with 3 seeds)
    norm               9    6  without: 3 rates or more, the old one and the best with 3 seeds; with: 3
    post-norm          9    6  the same
    positions          6    3  without 3, with 3
    gating             6    3  without 3, with 3
    main-text          6    3  2 texts x 3 seeds
    generate           2    1  the base, and one run of four times the tokens
    sgd-rates          0    0
    together               74  at least; a best rate at an edge adds one or two runs

That is 101 million tokens, 16 million of them in batches of 1 and 4 sequences, which take about 2 and 1.2 times as long
a token: as much as 111 million in batches of 32, and 13 million more for validation. At 20,000 tokens a second it takes
one hour and three quarters, at 9,000 four hours; `--tokens` makes it shorter or longer.

leaderboard is not among them, and `groundup experiment all` leaves it out: each of its 39 runs gets three minutes.

`course` is the specification's base configuration at its GPU size. `smoke` shows in minutes that everything works;
its numbers mean nothing.
"""

from dataclasses import dataclass

from groundup.config import ModelConfig, OptimizerConfig, RunConfig, TrainingConfig
from groundup.errors import ConfigError


@dataclass(frozen=True)
class Preset:
    """The size of the experiments.

    Attributes:
        base: Model, optimizer and loop of the base run; its data and number of updates come later.
        tokens: Target tokens a run sees.
        minutes: Of a run, in the experiment whose runs get equal times.
        num_seeds: Repetitions where a comparison is claimed.
        rates: Learning rates of the sweep; at least the last should diverge.
        batch_sizes: Sequences in a batch.
        vocab_size: Of the vocabulary learned where a text is given and not a prepared folder.
        text_bytes: Of the text written where none is given.
        valid_bytes: About how much of a text is held out.
    """

    base: RunConfig
    tokens: int
    minutes: float
    num_seeds: int
    rates: tuple[float, ...]
    batch_sizes: tuple[int, ...]
    vocab_size: int
    text_bytes: int
    valid_bytes: int


PRESETS = {
    "cpu": Preset(
        base=RunConfig(
            model=ModelConfig(vocab_size=0, context_length=128, d_model=128, num_layers=4, num_heads=4),
            # 60 updates on TinyStories, one seed: 4.29 nats at 3e-3, 4.00 at 1e-2, 5.22 at 3e-2.
            optimizer=OptimizerConfig(lr=1e-2),
            training=TrainingConfig(batch_size=32, eval_batch_size=64),
        ),
        tokens=1_310_720,
        minutes=3.0,
        num_seeds=3,
        rates=(1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0),
        batch_sizes=(1, 4, 16, 64, 256, 1024),
        vocab_size=2048,
        text_bytes=12_000_000,
        valid_bytes=200_000,
    ),
    "course": Preset(
        base=RunConfig(
            model=ModelConfig(vocab_size=0),
            optimizer=OptimizerConfig(lr=3e-3),
            training=TrainingConfig(batch_size=128, precision="bf16", eval_batch_size=128),
        ),
        tokens=327_680_000,
        minutes=3.0,
        num_seeds=3,
        rates=(1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0),
        batch_sizes=(1, 8, 32, 64, 128, 256, 512, 1024),
        vocab_size=10_000,
        text_bytes=1_000_000_000,
        valid_bytes=5_000_000,
    ),
    "smoke": Preset(
        base=RunConfig(
            model=ModelConfig(vocab_size=0, context_length=32, d_model=32, num_layers=2, num_heads=2),
            optimizer=OptimizerConfig(lr=1e-2),
            training=TrainingConfig(batch_size=4),
        ),
        tokens=2_048,
        minutes=0.02,
        num_seeds=2,
        rates=(1e-3, 1e-2, 1e3),
        batch_sizes=(1, 4),
        vocab_size=300,
        text_bytes=100_000,
        valid_bytes=2_000,
    ),
}


def find_preset(name: str) -> Preset:
    """The preset of this name; ConfigError for another."""
    if name not in PRESETS:
        raise ConfigError(f"there is no preset {name!r}; use one of {', '.join(PRESETS)}")
    return PRESETS[name]
