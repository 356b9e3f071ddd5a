"""What a model costs, from its configuration alone: parameters, operations, memory, days.

A product of an m x n with an n x p matrix counts as 2 m n p floating-point operations (a multiplication
and an addition per term). Everything that is not a matrix product is left out of the operations: it
decides the time of small models, never that of large ones. Bytes are counted with 1 GB = 1e9 bytes. What a run of
this package holds at its peak is estimated in training/memory.py.
"""

from dataclasses import dataclass, fields

from groundup.config import ModelConfig

# Per parameter: decay 1; m 3; v 4; and in the step two divisions, root, sum, product and difference.
ADAMW_FLOPS_PER_PARAMETER = 14


@dataclass(frozen=True)
class Parameters:
    """Number of trained values in each part. `head` is 0 where it shares the embedding's matrix."""

    embedding: int
    attention: int
    feed_forward: int
    norms: int
    head: int

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))


def num_parameters(config: ModelConfig) -> Parameters:
    """The parameters of the model by part, those of variants.py included; learned shares count as attention.

    >>> num_parameters(ModelConfig()).total
    22696448
    """
    d, kv_width = config.d_model, config.kv_heads * config.d_head
    norms_per_layer = (0 if config.norm == "none" else 2 * d) + (2 * config.d_head if config.qk_norm else 0)
    return Parameters(
        embedding=config.vocab_size * d,
        attention=config.num_layers * (2 * d * d + 2 * d * kv_width) + learned_shares(config),
        feed_forward=config.num_layers * _ffn_matrices(config) * d * config.ffn_width,
        norms=config.num_layers * norms_per_layer + (d if config.norm == "pre" else 0),
        head=0 if config.tie_embeddings else config.vocab_size * d,
    )


@dataclass(frozen=True)
class Flops:
    """Floating-point operations of the matrix products of a forward pass, by product.

    `scores` is Q K^T and `weighted_sum` the softmax times V, both over the full square of the context, as
    the reference computes it; `output` is the projection after them.
    """

    qkv: int
    scores: int
    weighted_sum: int
    output: int
    feed_forward: int
    head: int

    @property
    def total(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self))

    @property
    def shares(self) -> dict[str, float]:
        """Each product's part of the total, from 0 to 1."""
        return {field.name: getattr(self, field.name) / self.total for field in fields(self)}


def flops(config: ModelConfig, *, context_length: int | None = None, batch_size: int = 1) -> Flops:
    """Operations of a forward pass over `batch_size` sequences; backward takes about twice as many.

    With `value_residual` the values of the first layer are projected once more.
    """
    d, kv_width, length = config.d_model, config.kv_heads * config.d_head, context_length or config.context_length
    tokens = batch_size * length
    per_layer = 2 * tokens * config.num_layers
    return Flops(
        qkv=per_layer * d * (d + 2 * kv_width) + (2 * tokens * d * kv_width if config.value_residual else 0),
        scores=per_layer * length * d,
        weighted_sum=per_layer * length * d,
        output=per_layer * d * d,
        feed_forward=per_layer * _ffn_matrices(config) * d * config.ffn_width,
        head=2 * tokens * d * config.vocab_size,
    )


def muon_flops(config: ModelConfig, *, iterations: int = 5) -> int:
    """Operations of the matrix products of a step of Muon (optim/muon.py), whatever the batch.

    An iteration takes, of an m x n matrix with m <= n, m^2 n multiplications and additions twice and m^3 once.

    >>> f"{muon_flops(ModelConfig(d_model=256, num_heads=4)):.3g}"
    '2.11e+10'
    """
    d, kv_width, width = config.d_model, config.kv_heads * config.d_head, config.ffn_width
    shapes = [(d, d), (d, d), (d, kv_width), (d, kv_width), *_ffn_matrices(config) * [(d, width)]]
    sides = [(min(shape), max(shape)) for shape in shapes]
    return 2 * iterations * config.num_layers * sum(2 * m * m * n + m**3 for m, n in sides)


def training_days(
    config: ModelConfig, *, steps: int, batch_size: int, flops_per_s: float, utilization: float = 0.5
) -> float:
    """Days for `steps` updates on hardware of `flops_per_s`, of which the part `utilization` is reached."""
    forward_and_backward = 3 * flops(config, batch_size=batch_size).total
    return steps * forward_and_backward / (flops_per_s * utilization) / 86_400


@dataclass(frozen=True)
class AdamWMemory:
    """Memory of training in float32 as a straight line: bytes_per_sequence * batch_size + fixed_bytes."""

    bytes_per_sequence: int
    fixed_bytes: int

    def largest_batch(self, memory_bytes: float) -> int:
        """How many sequences fit; 0 if not even one."""
        return max(0, int((memory_bytes - self.fixed_bytes) // self.bytes_per_sequence))


def adamw_memory(config: ModelConfig) -> AdamWMemory:
    """The specification's estimate for AdamW: weights, gradients and two running means, and these activations.

    Per token and layer the two norms (2 d), Q, K and V (3 d), scores and softmax (2 heads T), weighted
    sum (d), output projection (d), W1 and SiLU (2 d_ff), W2 (d); at the end the final norm (d), the
    logits (V), and the cross-entropy as one number. W3 and the loss's own copy of the logits are not
    counted: it is an estimate on paper. training/memory.py says what this package really holds.
    """
    d, length = config.d_model, config.context_length
    per_layer = 8 * d + 2 * config.num_heads * length + 2 * config.ffn_width
    per_token = config.num_layers * per_layer + d + config.vocab_size + 1
    return AdamWMemory(bytes_per_sequence=4 * length * per_token, fixed_bytes=16 * num_parameters(config).total)


def learned_shares(config: ModelConfig) -> int:
    """Numbers of each layer but the first: one of `value_residual`, two of `embedding_shortcut`."""
    return (config.num_layers - 1) * (config.value_residual + 2 * config.embedding_shortcut)


def _ffn_matrices(config: ModelConfig) -> int:
    return 3 if config.ffn == "swiglu" else 2
