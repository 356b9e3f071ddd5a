"""How much memory a training run takes at its peak, from its configuration alone.

What a run holds changes in the course of an update: the activations that forward leaves for backward are gone when the
optimizer steps, and by then there are gradients. So the estimate looks at the moments at which most can be held at
once. It counts the arrays of a step as training/loop.py takes it, module by module, by the operations that its kernels
choose, and adds what Python and torch take by themselves. The parameters are counted in model/accounting.py.
"""

from dataclasses import dataclass, fields
from typing import Literal

from groundup.config import Precision, RunConfig
from groundup.model.accounting import learned_shares, num_parameters

# What the smallest run takes: Python, torch and this package, as far as a step uses them (torch 2.13 for CPUs, Linux).
RUNTIME_BYTES = 330_000_000
# Arrays that are made anew in each step lie in the heap of the C library, up to this size. Between those that are kept
# there are gaps in which the next do not find room, for torch's begin at multiples of 64: with glibc 2.36 the heap was
# 1.5 to 1.56 times what was in it after some steps, in four runs. Larger arrays come from the system and go back to it.
HEAP_LIMIT_BYTES = 32 * 2**20
HEAP_SHARE = 1.5
WIDE = 4  # bytes of a float32: weights, their gradients, stream, norms, softmax and loss
Moment = Literal["loss", "backward", "update", "validation"]


@dataclass(frozen=True)
class Held:
    """Bytes held at one moment of a run.

    Attributes:
        moment: "loss", where forward ends and backward begins; "backward", within the layers; "update", by the
            optimizer; "validation".
        weights_bytes, gradients_bytes, optimizer_bytes: Float32 whatever the precision.
        activations_bytes: What forward leaves for backward; in bf16 with the copies that products take of matrices.
        workspace_bytes: What the operation under way makes and gives back.
        runtime_bytes: Python, torch and their libraries.
    """

    moment: Moment
    weights_bytes: int
    gradients_bytes: int
    optimizer_bytes: int
    activations_bytes: int
    workspace_bytes: int
    runtime_bytes: int = RUNTIME_BYTES

    @property
    def total_bytes(self) -> int:
        return sum(getattr(self, field.name) for field in fields(self) if field.name != "moment")


def peak_memory(config: RunConfig, *, precision: Precision | None = None) -> Held:
    """The moment of `memory_by_moment` at which most is held, arguments as there."""
    return max(memory_by_moment(config, precision=precision), key=lambda held: held.total_bytes)


def memory_by_moment(config: RunConfig, *, precision: Precision | None = None) -> list[Held]:
    """What the process holds at each of the moments that may be the peak, on a CPU and not compiled.

    Within 15 % of the peak that metrics report (tests/training/test_measured_memory.py). Not counted: the ids of a
    batch, numbers per token, and checkpoints, which are written from where the weights lie.

    Args:
        config: Its model's vocabulary must be known.
        precision: That of the products where it is not `config.training.precision`, which a machine may not have.
    """
    precision = precision or config.training.precision
    by_modules = _ByModules(config, precision)
    if config.training.as_one_function and by_modules.fast:
        from groundup.kernels.standard import why_not_standard_shape

        if not why_not_standard_shape(config.model):
            return _moments_as_one_function(config, precision, by_modules)
    return by_modules.moments()


def _moments_as_one_function(config: RunConfig, precision: Precision, by_modules: "_ByModules") -> list[Held]:
    """What a step works on is made once and stays; validation, module by module, comes on top of it."""
    import torch

    from groundup.kernels.step_memory import step_bytes

    kept = step_bytes(
        config.model,
        rows=by_modules.tokens,
        dtype=torch.bfloat16 if precision == "bf16" else torch.float32,
        checkpointed=config.training.checkpoint_activations,
    )
    weights, optimizer = by_modules.weights, by_modules.optimizer
    steps: dict[Moment, int] = {"loss": 0, "backward": 0, "update": by_modules.update_workspace()}
    return [
        *(Held(moment, weights, weights, optimizer, kept, workspace) for moment, workspace in steps.items()),
        Held("validation", weights, 0, optimizer, kept, by_modules.validation_workspace()),
    ]


class _ByModules:
    """A step under autograd, which keeps from each operation what its derivative takes.

    Widths are bytes for each token of one array; lists of them are arrays that exist together.
    """

    def __init__(self, config: RunConfig, precision: Precision) -> None:
        self.model, self.training = config.model, config.training
        self.fast = config.training.kernels == "auto"
        self.narrow = 2 if precision == "bf16" else 4  # bytes of what products take and give
        # What attention between its projections is made of: one kernel, or the reference's formula.
        self.kernel_attends = self.fast and not self.model.qk_norm and self.model.dropout == 0
        parameters = num_parameters(self.model)
        self.weights = WIDE * parameters.total
        self.head = WIDE * self.model.vocab_size * self.model.d_model
        self.copied_layers = 2 * (parameters.attention + parameters.feed_forward) if precision == "bf16" else 0
        self.copied_head = self.head // 2 if precision == "bf16" else 0
        self.optimizer, self.optimizer_name = _optimizer_bytes(config), config.optimizer.name
        rows = self.training.micro_batch_size or self.training.batch_size
        self.tokens = rows * self.model.context_length
        # In the later parts of a batch, the gradients of those before.
        self.earlier = self.weights if rows < self.training.batch_size else 0

    def moments(self) -> list[Held]:
        """One for each `Moment`, in the order of an update."""
        backward = [self._backward_of_last_layer(), self._backward_of_first_layer()]
        return [
            self._loss(),
            max(backward, key=lambda held: held.total_bytes),
            self._held("update", gradients=self.weights, workspace=self.update_workspace()),
            self._held("validation", workspace=self.validation_workspace()),
        ]

    def _held(self, moment: Moment, *, gradients: int = 0, activations: int = 0, workspace: int = 0) -> Held:
        return Held(moment, self.weights, gradients, self.optimizer, activations, workspace)

    def _loss(self) -> Held:
        """Kept of all layers and of the end of the model, and what the loss works on."""
        model, narrow, stream = self.model, self.narrow, WIDE * self.model.d_model
        norm = [] if model.norm != "pre" else [stream] * (1 if self.fast else 2)
        is_fused = self.fast and not model.logit_cap
        if is_fused:
            # Forward makes the logits, which become their gradient, and from them those of stream and head; backward
            # has these three times: as kept, times the gradient of the loss, and as the zeros that autograd hands in.
            forward = [stream, narrow * model.vocab_size, narrow * model.d_model]
            forward += [] if narrow == WIDE else [narrow * model.d_model]
            head = self.head if narrow == WIDE else self.head + 2 * self.copied_head
            workspace = max(resident(self.tokens, forward) + head, resident(self.tokens, 3 * [stream]) + 3 * self.head)
            kept = norm
        else:
            # The derivative of logsumexp: exponentials, their shares, and those times the gradient.
            workspace = resident(self.tokens, 3 * [WIDE * model.vocab_size])
            # With a cap, what the hyperbolic tangent gave besides.
            logits = [WIDE * model.vocab_size] * (2 if model.logit_cap else 1)
            kept = [*norm, narrow * model.d_model, *logits]
        return self._held(
            "loss",
            gradients=self.earlier,
            activations=self._kept_of_layers() + (0 if is_fused else self.copied_head) + resident(self.tokens, kept),
            workspace=workspace,
        )

    def _backward_of_last_layer(self) -> Held:
        """All of the layers is still kept."""
        model, stream = self.model, WIDE * self.model.d_model
        inside = resident(self.tokens, (3 if self.fast else 4) * [self.narrow * model.ffn_width])
        if not self.kernel_attends:  # twice the scores; by then the feed-forward half is done with
            scores = resident(self.tokens, 2 * [WIDE * model.num_heads * model.context_length])
            inside = max(inside, scores - resident(self.tokens, self._kept_of_feed_forward()))
        return self._held(
            "backward",
            gradients=self.earlier + self.head,
            activations=self._kept_of_layers(),
            workspace=resident(self.tokens, [stream, stream]) + inside + self._computed_again(),
        )

    def _backward_of_first_layer(self) -> Held:
        """All gradients are there."""
        # If tied, the gradient that waits as the head's, that of the embedding, and their sum.
        both = 2 * self.head if self.model.tie_embeddings else 0
        stream = resident(self.tokens, [WIDE * self.model.d_model])
        return self._held("backward", gradients=self.weights, workspace=stream + both)

    def validation_workspace(self) -> int:
        """Nothing is kept: the widest arrays that exist together, in attention, feed-forward or logits."""
        model, narrow, length = self.model, self.narrow, self.model.context_length
        tokens, stream = self.training.eval_batch_size * length, WIDE * model.d_model
        qkv = narrow * (model.d_model + 2 * model.kv_heads * model.d_head)
        attention = resident(tokens, [stream, stream, qkv, narrow * model.d_model])
        if not self.kernel_attends:
            scores = WIDE * model.num_heads * length
            attention += resident(tokens, [2 * narrow * model.d_model, scores, scores]) + 2 * WIDE * length**2  # mask
        inside = (3 if self.fast else 4) * [narrow * model.ffn_width]
        feed_forward = resident(tokens, [stream, stream, stream, *inside])
        logits = resident(tokens, [stream, narrow * model.vocab_size])
        return self.copied_head + max(attention, feed_forward, logits)

    def _kept_of_layers(self) -> int:
        """What forward leaves in all layers: of checkpointed ones no more than what went into them."""
        model = self.model
        shared = self._kept_of_shortcuts()
        if self.training.checkpoint_activations:
            return model.num_layers * resident(self.tokens, [WIDE * model.d_model]) + shared
        return model.num_layers * self._kept_of_layer() + self.copied_layers + shared

    def _kept_of_shortcuts(self) -> int:
        """The stream before it is mixed with the embedding, in each layer but the first.

        Of values, the normed stream that the first ones come from, and how far they are from those of each other layer.
        """
        model, again = self.model, self.training.checkpoint_activations
        kept = []
        if model.embedding_shortcut and not again:
            kept += (model.num_layers - 1) * [WIDE * model.d_model]
        if model.value_residual:
            kept += [self.narrow * model.d_model] + ([] if self.fast else [WIDE * model.d_model])
            kept += (1 if again else model.num_layers - 1) * [self.narrow * model.kv_heads * model.d_head]
        return resident(self.tokens, kept)

    def _computed_again(self) -> int:
        """What the backward pass of a checkpointed layer makes first."""
        if not self.training.checkpoint_activations:
            return 0
        return self._kept_of_layer() + self.copied_layers // self.model.num_layers

    def _kept_of_layer(self) -> int:
        model, stream = self.model, WIDE * self.model.d_model
        norms = [] if model.norm == "none" else 2 * [stream] * (1 if self.fast else 2)
        drops = [self.narrow * model.d_model] * 2 if model.dropout else []
        widths = [*norms, *drops, *self._kept_of_attention(), *self._kept_of_feed_forward()]
        return resident(self.tokens, widths)

    def _kept_of_attention(self) -> list[int]:
        """Inputs of the products: of Q, K, V, of the two inside, of the output projection; and the weights inside."""
        model, narrow = self.model, self.narrow
        value, kv_width = narrow * model.d_model, model.kv_heads * model.d_head
        if self.kernel_attends:  # Q, K and V as they came, the result, and the logarithm of each row's sum
            return [value, value + 2 * narrow * kv_width, value, WIDE * model.num_heads]
        scores = model.num_heads * model.context_length
        kept = [*6 * [value], WIDE * scores]  # with K and V for every head, and the sum before its division
        if model.dropout or narrow < WIDE:
            kept.append(narrow * scores)  # as the product with V takes them
        if model.dropout:
            kept.append(WIDE * scores)  # which were dropped
        if model.qk_norm:
            both = model.d_model + kv_width
            kept += [WIDE * both] if self.fast and narrow == WIDE else [narrow * both, WIDE * both]
        return kept

    def _kept_of_feed_forward(self) -> list[int]:
        """Its input; W1 x and, for SwiGLU, W3 x; the input of W2; by the reference sigmoid and SiLU as well.

        Of the squared ReLU, what is squared and the square.
        """
        by_kernels, by_reference = {"swiglu": (3, 5), "silu": (2, 3), "relu2": (2, 2)}[self.model.ffn]
        inside = by_kernels if self.fast else by_reference
        return [self.narrow * self.model.d_model, *inside * [self.narrow * self.model.ffn_width]]

    def update_workspace(self) -> int:
        """The root of v, of which the reference's AdamW makes a new array for one parameter after the other.

        Muon works on the matrices of a height together: gradients, steps, and some four arrays of the iteration.
        """
        model, qkv_width = self.model, self.model.d_model + 2 * self.model.kv_heads * self.model.d_head
        largest = max(model.vocab_size, model.ffn_width, qkv_width)
        of_adamw = 0 if self.fast or self.optimizer_name == "sgd" else WIDE * model.d_model * largest
        if self.optimizer_name != "muon":
            return of_adamw
        together = max(qkv_width, (2 if model.ffn == "swiglu" else 1) * model.ffn_width, model.d_model)
        return max(of_adamw, 6 * WIDE * model.num_layers * model.d_model * together)


def _optimizer_bytes(config: RunConfig) -> int:
    """Two arrays for each parameter; of Muon one for a matrix of the layers; and the average of the weights."""
    parameters = num_parameters(config.model)
    matrices = parameters.attention + parameters.feed_forward - learned_shares(config.model)
    arrays = {"adamw": 2 * parameters.total, "muon": 2 * parameters.total - matrices, "sgd": 0}[config.optimizer.name]
    return WIDE * (arrays + (parameters.total if config.optimizer.average_over else 0))


def resident(tokens: int, widths: list[int]) -> int:
    """Bytes of memory that arrays of these widths take up, of which each step makes new ones."""
    sizes = [tokens * width for width in widths]
    return round(sum(size if size >= HEAP_LIMIT_BYTES else HEAP_SHARE * size for size in sizes))
