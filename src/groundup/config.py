"""What can be chosen, as frozen dataclasses: the one place that names every hyper-parameter.

A recipe (YAML) holds the fields of `RunConfig`, nested as here; `--optimizer.lr 3e-3` on the command
line overrides one. Reading both is `recipe.py`. Every class checks itself when it is
made: a value that cannot work never travels further than its constructor.
"""

from dataclasses import dataclass, field
from typing import Literal

from groundup.errors import ConfigError

Precision = Literal["float32", "bf16"]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


@dataclass(frozen=True)
class ModelConfig:
    """The shape of a Transformer language model; the defaults are the base configuration of the specification.

    Args:
        vocab_size: Number of rows of the embedding. 0, the default of a recipe, means "as many as the
            tokenizer of the data has".
        context_length: Longest sequence the model sees, in tokens.
        d_model: Width of the residual stream.
        num_layers: Number of blocks.
        num_heads: Number of query heads; d_model / num_heads is the width of a head.
        num_kv_heads: Key/value heads shared by groups of query heads (grouped-query attention);
            None means num_heads.
        d_ff: Inner width of the feed-forward part; None means 8/3 d_model rounded to the nearest
            multiple of 64 for swiglu, 4 d_model for the others.
        rope_theta: Base of the rotary wavelengths.
        norm: "pre" (default), "post" or "none": where RMSNorm stands in a block.
        positions: "rope" or "none".
        ffn: "swiglu", "silu" or "relu2".
        tie_embeddings: One matrix for the embedding and the head.
        qk_norm: RMSNorm on each head's queries and keys.
        dropout: Probability of zeroing, on attention weights and on what each part adds to the stream.
        norm_eps: Added inside the root of RMSNorm.
        zero_outputs: The last matrix of each half of a layer starts at zero instead of at random.

    From the leaderboard lab (docs/leaderboard.md), off in the base model; model/variants.py builds them, and "relu2":

        value_residual: Values of each layer are mixed with those of the first, by a learned share; pre-norm only.
        embedding_shortcut: Each layer begins with a learned mix of the stream and the embedding; pre-norm only.
        scale_embeddings: What the embedding gives is multiplied by the root of d_model.
        logit_cap: Bound that logits approach and never reach; 0 means none.
    """

    vocab_size: int = 10_000
    context_length: int = 256
    d_model: int = 512
    num_layers: int = 4
    num_heads: int = 16
    num_kv_heads: int | None = None
    d_ff: int | None = None
    rope_theta: float = 10_000.0
    norm: Literal["pre", "post", "none"] = "pre"
    positions: Literal["rope", "none"] = "rope"
    ffn: Literal["swiglu", "silu", "relu2"] = "swiglu"
    tie_embeddings: bool = False
    qk_norm: bool = False
    dropout: float = 0.0
    norm_eps: float = 1e-5
    zero_outputs: bool = False
    value_residual: bool = False
    embedding_shortcut: bool = False
    scale_embeddings: bool = False
    logit_cap: float = 0.0

    def __post_init__(self) -> None:
        _require(self.vocab_size >= 0, f"vocab_size is {self.vocab_size}; it must not be negative")
        for name in ("context_length", "d_model", "num_layers", "num_heads"):
            value = getattr(self, name)
            _require(value >= 1, f"{name} is {value}; it must be at least 1")
        _require(
            self.d_model % self.num_heads == 0,
            f"d_model is {self.d_model}; it must be a multiple of num_heads {self.num_heads}",
        )
        _require(
            self.num_kv_heads is None or (self.num_kv_heads >= 1 and self.num_heads % self.num_kv_heads == 0),
            f"num_kv_heads is {self.num_kv_heads}; it must divide num_heads {self.num_heads}",
        )
        _require(
            self.positions != "rope" or self.d_head % 2 == 0,
            f"d_model / num_heads is {self.d_head}; rotary positions turn pairs and need an even number",
        )
        _require(self.d_ff is None or self.d_ff >= 1, f"d_ff is {self.d_ff}; it must be at least 1")
        _require(0 <= self.dropout < 1, f"dropout is {self.dropout}; it must be at least 0 and below 1")
        _require(self.norm in ("pre", "post", "none"), f"norm is {self.norm!r}; use pre, post or none")
        _require(self.positions in ("rope", "none"), f"positions is {self.positions!r}; use rope or none")
        _require(self.ffn in ("swiglu", "silu", "relu2"), f"ffn is {self.ffn!r}; use swiglu, silu or relu2")
        _require(self.rope_theta > 0, f"rope_theta is {self.rope_theta}; it must be positive")
        _require(self.norm_eps > 0, f"norm_eps is {self.norm_eps}; it must be positive")
        for name in ("value_residual", "embedding_shortcut"):
            _require(
                not getattr(self, name) or self.norm == "pre",
                f"norm is {self.norm!r} and {name} is on; it needs norm pre",
            )
        _require(
            0 <= self.logit_cap < float("inf"),
            f"logit_cap is {self.logit_cap}; it must be finite and at least 0 (none)",
        )

    @property
    def d_head(self) -> int:
        """Width of one attention head."""
        return self.d_model // self.num_heads

    @property
    def kv_heads(self) -> int:
        """Number of key/value heads, with the default filled in."""
        return self.num_heads if self.num_kv_heads is None else self.num_kv_heads

    @property
    def ffn_width(self) -> int:
        """Inner width of the feed-forward part, with the default filled in.

        >>> ModelConfig(d_model=512).ffn_width, ModelConfig(d_model=1600, num_heads=25).ffn_width
        (1344, 4288)
        """
        if self.d_ff is not None:
            return self.d_ff
        if self.ffn != "swiglu":
            return 4 * self.d_model
        return max(64, (8 * self.d_model + 96) // 192 * 64)  # 8/3 d_model to the nearest multiple of 64

    @property
    def is_variant(self) -> bool:
        """Whether model/variants.py has to build it: it computes something that model/transformer.py does not."""
        return self.ffn == "relu2" or self.has_shortcuts or self.scale_embeddings or self.logit_cap > 0

    @property
    def has_shortcuts(self) -> bool:
        """Whether layers get more than the stream: what the first one made, or the embedding."""
        return self.value_residual or self.embedding_shortcut


@dataclass(frozen=True)
class DataConfig:
    """Where the ids come from and how batches are drawn.

    Args:
        path: Folder written by `groundup data prepare`.
        sampling: "epoch" (each block once an epoch, in a seeded order) or "random" (any start, with
            replacement, as the specification's get_batch).
    """

    path: str = ""
    sampling: Literal["epoch", "random"] = "epoch"

    def __post_init__(self) -> None:
        _require(
            self.sampling in ("epoch", "random"),
            f"data.sampling is {self.sampling!r}; use epoch or random",
        )


@dataclass(frozen=True)
class OptimizerConfig:
    """The optimizer, its schedule and clipping.

    Args:
        name: "adamw", "sgd" or "muon" (optim/muon.py: Muon for the matrices of the layers, AdamW for the rest).
        lr: Peak learning rate.
        min_lr: Rate at and after the end of the schedule; None means lr / 10 for the cosine, 0 for the trapezoid.
        warmup_steps: Updates of linear warm-up; None means 2 % of the run, at least 1 and at most 1,000.
        decay_steps: Update at which the schedule reaches min_lr; None means the last update.
        betas: AdamW's averaging of the gradient and of its square.
        eps: AdamW's guard against division by zero.
        weight_decay: Decoupled decay, on all matrices (vectors, the gains of the norms, are spared).
        max_grad_norm: Global l2 norm that gradients are clipped to; 0 switches clipping off.

    From the leaderboard lab (docs/leaderboard.md):

        momentum: Of Muon, how much of the sum of gradients survives a step.
        schedule: "cosine", or "trapezoid": the peak rate is held, and comes down in a straight line at the end.
        cooldown: Share of the schedule, its end, in which the trapezoid comes down.
        average_over: Updates that an average of the weights reaches back over; validation, checkpoints and the
            finished model have the average (optim/averaging.py). 0 means none.
    """

    name: Literal["adamw", "sgd", "muon"] = "adamw"
    lr: float = 3e-3
    min_lr: float | None = None
    warmup_steps: int | None = None
    decay_steps: int | None = None
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    weight_decay: float = 0.1
    max_grad_norm: float = 1.0
    momentum: float = 0.95
    schedule: Literal["cosine", "trapezoid"] = "cosine"
    cooldown: float = 0.4
    average_over: int = 0

    def __post_init__(self) -> None:
        _require(self.name in ("adamw", "sgd", "muon"), f"optimizer.name is {self.name!r}; use adamw, sgd or muon")
        _require(self.lr >= 0, f"optimizer.lr is {self.lr}; it must not be negative")
        _require(
            self.min_lr is None or 0 <= self.min_lr <= self.lr,
            f"optimizer.min_lr is {self.min_lr}; it must lie between 0 and optimizer.lr {self.lr}",
        )
        for name in ("warmup_steps", "decay_steps"):
            value = getattr(self, name)
            _require(value is None or value >= 0, f"optimizer.{name} is {value}; it must not be negative")
        _require(
            len(self.betas) == 2 and all(0 <= beta < 1 for beta in self.betas),
            f"optimizer.betas are {self.betas}; each must be at least 0 and below 1",
        )
        _require(self.eps > 0, f"optimizer.eps is {self.eps}; it must be positive")
        _require(self.weight_decay >= 0, f"optimizer.weight_decay is {self.weight_decay}; it must not be negative")
        _require(self.max_grad_norm >= 0, f"optimizer.max_grad_norm is {self.max_grad_norm}; 0 means no clipping")
        _require(0 <= self.momentum < 1, f"optimizer.momentum is {self.momentum}; it must be at least 0 and below 1")
        _require(
            self.schedule in ("cosine", "trapezoid"),
            f"optimizer.schedule is {self.schedule!r}; use cosine or trapezoid",
        )
        _require(0 <= self.cooldown <= 1, f"optimizer.cooldown is {self.cooldown}; it must lie between 0 and 1")
        _require(self.average_over >= 0, f"optimizer.average_over is {self.average_over}; 0 means no average")


@dataclass(frozen=True)
class TrainingConfig:
    """The loop: how long, on what, and what is measured and kept on the way.

    Args:
        max_steps: Number of updates; with `minutes` no more than a first guess.
        minutes: Time for the run, validation included: its end and that of the schedule move so that it ends then, on
            a machine of any speed (deadline.py). 0 means that max_steps decides.
        batch_size: Sequences an update sees, accumulation included.
        batch_ramp: Share of the run, its beginning, with smaller batches: a quarter of batch_size in the first half of
            it, a half in the second (docs/leaderboard.md).
        micro_batch_size: Sequences that go through the model at once; the last part of a batch may be
            smaller; None means batch_size (no gradient accumulation).
        checkpoint_activations: Keep only what goes from layer to layer until the backward pass, and compute the inside
            of each layer again there: the same result in less memory and a third more time.
        seed: Start of every random stream: initial weights, order of the data, dropout.
        device: "auto" (cuda, then mps, then cpu) or a name that torch knows.
        precision: "float32", or "bf16" (products in bfloat16, weights and optimizer state in float32).
            bf16 falls back to float32, and says so, where the hardware has none.
        compile: Run the model through torch.compile; falls back, and says so, where it cannot.
        kernels: "auto" or "reference": fast operations where they exist, or the readable ones.
        as_one_function: On a CPU, loss and gradients of the standard model as one function over memory that is kept
            from step to step: less memory and hardly a page fault, about as fast; other models are not affected.
        log_every: Updates between two lines of metrics.
        log_norms: Also write norms of weights, gradients and activations by layer.
        eval_every: Updates between two full validation passes; 0 means only at the end.
        eval_batch_size: Sequences at once in validation; the result does not depend on it.
        patience: Stop after this many validation passes without a new best; 0 means never.
        save_every: Updates between two checkpoints; 0 means only at the end.
        keep_last: Number of newest checkpoints kept (the best one is kept besides).
        max_skipped: Updates in a row that may be skipped for a loss or gradient that is not finite,
            before the run stops.
        sinks: Where metrics go besides metrics.jsonl: any of "tensorboard", "wandb".
    """

    max_steps: int = 1_000
    minutes: float = 0.0
    batch_size: int = 32
    batch_ramp: float = 0.0
    micro_batch_size: int | None = None
    checkpoint_activations: bool = False
    seed: int = 0
    device: str = "auto"
    precision: Precision = "float32"
    compile: bool = False
    kernels: Literal["auto", "reference"] = "auto"
    as_one_function: bool = False
    log_every: int = 10
    log_norms: bool = False
    eval_every: int = 250
    eval_batch_size: int = 32
    patience: int = 0
    save_every: int = 250
    keep_last: int = 2
    max_skipped: int = 20
    sinks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("max_steps", "batch_size", "log_every", "eval_batch_size", "keep_last", "max_skipped"):
            value = getattr(self, name)
            _require(value >= 1, f"training.{name} is {value}; it must be at least 1")
        for name in ("eval_every", "save_every", "patience"):
            value = getattr(self, name)
            _require(value >= 0, f"training.{name} is {value}; 0 switches it off")
        _require(
            self.micro_batch_size is None or 1 <= self.micro_batch_size <= self.batch_size,
            f"training.micro_batch_size is {self.micro_batch_size}; "
            f"it must lie between 1 and training.batch_size {self.batch_size}",
        )
        _require(
            0 <= self.minutes < float("inf"),
            f"training.minutes is {self.minutes}; it must be finite and at least 0 (max_steps decides)",
        )
        _require(0 <= self.batch_ramp <= 1, f"training.batch_ramp is {self.batch_ramp}; it must lie between 0 and 1")
        _require(abs(self.seed) < 2**63, f"training.seed is {self.seed}; it must fit in 64 bits")
        _require(
            self.precision in ("float32", "bf16"),
            f"training.precision is {self.precision!r}; use float32 or bf16",
        )
        unknown = sorted(set(self.sinks) - {"tensorboard", "wandb"})
        _require(not unknown, f"training.sinks names {unknown}; use any of tensorboard, wandb")


@dataclass(frozen=True)
class RunConfig:
    """One training run, whole: what a recipe holds and a run folder keeps as config.yaml.

    Args:
        out: Folder of the run.
        init_from: Run folder or checkpoint whose weights the model starts from; empty means fresh.
        model, data, optimizer, training: The parts.
    """

    out: str = "runs/run"
    init_from: str = ""
    model: ModelConfig = field(default_factory=lambda: ModelConfig(vocab_size=0))
    data: DataConfig = field(default_factory=DataConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
