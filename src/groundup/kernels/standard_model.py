"""The loss of the standard model and all its gradients as one function, over memory that it keeps.

The mathematics is that of model/transformer.py, and each step names the module whose work it does. Under autograd the
same kernels make their results anew in each step, save what this does not need, and add gradients up in passes of
their own. Which models: standard.py. Memory: step_memory.py; weights and gradients: step_parameters.py. Who decides
that it is used: training/loss.py.
"""

import operator
import weakref
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from groundup.kernels import attention, gates, lookup, loss, norm
from groundup.kernels.standard import halves_of, why_not_standard
from groundup.kernels.step_memory import FLOAT32, HEAD_ROWS, Activations, StepMemory
from groundup.kernels.step_parameters import Gradients, Matrices
from groundup.model.layers import RMSNorm
from groundup.model.transformer import TransformerLM

LOGIT_ROWS = 1024  # so many become loss and gradient together; with 512 the products took a tenth longer


class StandardModelLoss:
    """loss_of(inputs, targets) for a model with nothing in `why_not_standard`: nats per token, and by backward() the
    gradients of all parameters.

    Args:
        model: Its parameters are read and get gradients; they stay where they are.
        dtype: In which products are taken, float32 or bf16; stream, norms, loss and gradients are float32 either way.
        checkpointed: Hold only the stream between layers until backward, and compute each layer again there: the same
            bits, a third more products, less than half of the memory.

    The memory is lent to one loss, until its backward() or its end: `is_lent` says so, and a call then raises
    RuntimeError. backward() works once and writes `parameter.grad` itself: torch.autograd.grad finds nothing. A
    gradient stays valid until the backward() that follows the next zero_grad. There is memory for the largest batch
    so far. Changes of a parameter are seen, but in bf16 those through `parameter.data`, which torch does not count.
    """

    def __init__(self, model: TransformerLM, dtype: torch.dtype, *, checkpointed: bool = False) -> None:
        assert not why_not_standard(model), why_not_standard(model)
        self.model, self.dtype = model, dtype
        self._memory = StepMemory(model.config, dtype, checkpointed=checkpointed)
        self._lent: weakref.ref[_Lease] | None = None
        self._read_parameters()

    def __call__(self, inputs: Int[Tensor, "batch seq"], targets: Int[Tensor, "batch seq"]) -> Float[Tensor, ""]:
        """The mean loss of the batch. Raises IndexError for an id that is not one of the vocabulary."""
        if self.is_lent:
            raise RuntimeError("the memory of this function is lent: call backward() of the loss before, or drop it")
        now = list(self.model.parameters())
        if len(now) != len(self._parameters) or any(map(operator.is_not, now, self._parameters)):
            self._read_parameters()  # load_state_dict(assign=True) has put others in their place
        return _Loss.apply(self, inputs.contiguous(), targets.contiguous(), self.model.lm_head.weight)

    @property
    def is_lent(self) -> bool:
        """Whether a loss that still exists waits for its backward()."""
        return self._lent is not None and self._lent() is not None

    def lend(self) -> "_Lease":
        """What keeps the memory from others while it exists."""
        lease = _Lease()
        self._lent = weakref.ref(lease)
        return lease

    def _read_parameters(self) -> None:
        self._parameters = list(self.model.parameters())
        self.matrices = Matrices(self.model, self.dtype)
        self._layers = halves_of(self.model)
        pairs = [(ffn.w1.weight, ffn.w3.weight) for _, ffn in self._layers]
        self._gradients = Gradients(self._parameters, self.model.lm_head.weight, self.dtype, pairs)

    def forward(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """The loss; leaves the activations, and the gradients of the head and of what it reads."""
        saved = self._memory.of(inputs.numel())
        self.matrices.refresh()
        embedded = saved.stream[0].view(*inputs.shape, -1)
        lookup.rows_into(embedded, inputs, self.model.token_embeddings.weight)  # Embedding
        for i, matrices in enumerate(self.matrices.layers):  # Block
            self._norm(saved, 2 * i, saved.change if i else None)  # x + feed-forward of the layer before, ln1
            self._attend(saved, i, inputs)
            self._open_gates(saved, i)
            gates.forward_of_halves_into(saved.gate_and_up[i], saved.gated)  # SwiGLU, between the matrices
            torch.mm(saved.gated, matrices.down.mT, out=saved.change)  # ... w2
        self._norm(saved, 2 * len(self._layers), saved.change)  # x + feed-forward, ln_final
        return self._loss(saved, targets.view(-1))  # lm_head, cross_entropy

    def backward(self, inputs: Tensor, factor: float) -> None:
        """From what forward left, times `factor`, to `grad` of all parameters: forward from below."""
        gradients, saved, last = self._gradients, self._memory.of(inputs.numel()), len(self._layers) - 1
        gradients.hand_over_head(factor)
        if factor != 1:
            saved.normed_gradient.mul_(factor)
        self._norm_backward(saved, 2 * last + 2)
        for i in reversed(range(last + 1)):
            if self._memory.checkpointed and i < last:  # all but the stream before it is of the layer after it
                self._norm(saved, 2 * i, None)
                self._attend(saved, i, inputs)
                self._open_gates(saved, i)
            self._feed_forward_backward(saved, i)
            self._attention_backward(saved, i, inputs)
        place, is_sum = gradients.place(self.model.token_embeddings.weight)  # is_sum if it is tied to the head
        lookup.sums_into(place, inputs, saved.stream_gradient.view(*inputs.shape, -1), accumulate=is_sum)

    def _attend(self, saved: Activations, i: int, ids: Tensor) -> None:
        """From the normed stream to the change by CausalSelfAttention: qkv_weight, what is between, output_proj."""
        matrices = self.matrices.layers[i]
        torch.mm(saved.normed, matrices.qkv.mT, out=saved.qkv[i])
        attention.forward_into(*self._attention(saved, i, ids), *self._gathered(saved, i, ids))
        torch.mm(saved.gathered[i], matrices.output.mT, out=saved.change)

    def _open_gates(self, saved: Activations, i: int) -> None:
        """x + attention, ln2, and w1 and w3 of SwiGLU."""
        self._norm(saved, 2 * i + 1, saved.change)
        torch.mm(saved.normed, self.matrices.layers[i].gate_and_up.mT, out=saved.gate_and_up[i])

    def _feed_forward_backward(self, saved: Activations, i: int) -> None:
        matrices, gradients, (_, ffn) = self.matrices.layers[i], self._gradients, self._layers[i]
        gates.forward_of_halves_into(saved.gate_and_up[i], saved.gated)
        gradients.add_product(ffn.w2.weight, saved.change_gradient, saved.gated)
        torch.mm(saved.change_gradient, matrices.down, out=saved.gated_gradient)
        both = saved.gate_and_up[i]  # from here on their gradient
        gates.backward_of_halves_into(saved.gated_gradient, both, both)
        self._norm(saved, 2 * i + 1, None)
        gradients.add_pair((ffn.w1.weight, ffn.w3.weight), both, saved.normed)
        torch.mm(both, matrices.gate_and_up, out=saved.normed_gradient)
        self._norm_backward(saved, 2 * i + 1)

    def _attention_backward(self, saved: Activations, i: int, ids: Tensor) -> None:
        matrices, gradients, (block, _) = self.matrices.layers[i], self._gradients, self._layers[i]
        gradients.add_product(block.attn.output_proj.weight, saved.change_gradient, saved.gathered[i])
        torch.mm(saved.change_gradient, matrices.output, out=saved.gathered_gradient)
        gathered, log2_sum = self._gathered(saved, i, ids)
        attention.backward_into(
            saved.gathered_gradient.view(gathered.shape),
            *self._attention(saved, i, ids),
            gathered,
            log2_sum,
            saved.qkv_gradient.view(*ids.shape, -1, self.model.config.d_head),
        )
        self._norm(saved, 2 * i, None)
        gradients.add_product(block.attn.qkv_weight, saved.qkv_gradient, saved.normed)
        torch.mm(saved.qkv_gradient, matrices.qkv, out=saved.normed_gradient)
        self._norm_backward(saved, 2 * i)

    def _norm_of(self, number: int) -> RMSNorm:
        """The module behind norm `number`: two for each layer, then the last."""
        layer, second = divmod(number, 2)
        if layer == len(self._layers):
            assert self.model.ln_final is not None
            return self.model.ln_final
        block, _ = self._layers[layer]
        return block.ln2 if second else block.ln1

    def _norm(self, saved: Activations, number: int, change: Tensor | None) -> None:
        """Norm the stream, after `change` is added to it, which makes the next entry of `stream`."""
        module = self._norm_of(number)
        norm.forward_into(
            saved.stream[number if change is None else number - 1],
            change,
            module.weight,
            None if change is None else saved.stream[number],
            saved.normed,
            saved.inverse_rms,
            module.eps,
        )

    def _norm_backward(self, saved: Activations, number: int) -> None:
        """Add what comes through the norm to the gradient of the stream; at the end of the model that is all of it."""
        module = self._norm_of(number)
        place, is_sum = self._gradients.place(module.weight)
        gradient = torch.empty_like(place) if is_sum else place
        norm.backward_into(
            saved.normed_gradient,
            saved.stream[number],
            saved.inverse_rms,
            module.weight,
            None if number == 2 * len(self._layers) else saved.stream_gradient,
            saved.stream_gradient,
            None if self.dtype == FLOAT32 else saved.change_gradient,
            gradient,
        )
        if is_sum:
            place.add_(gradient)

    def _attention(self, saved: Activations, i: int, ids: Tensor) -> tuple[Tensor, int, Tensor | None, Tensor | None]:
        """(queries, keys and values (batch, seq, all heads, d_head), heads of keys, cosines, sines) of layer i."""
        config, rope, seq = self.model.config, self.model.rope, ids.shape[1]
        cos, sin = (None, None) if rope is None else (rope.cos[:seq], rope.sin[:seq])
        return saved.qkv[i].view(*ids.shape, -1, config.d_head), config.kv_heads, cos, sin

    def _gathered(self, saved: Activations, i: int, ids: Tensor) -> tuple[Tensor, Tensor]:
        """(what its heads gather (batch, seq, heads, d_head), log2 of their sums (batch, heads, seq)) of layer i."""
        (batch, seq), heads = ids.shape, self.model.config.num_heads
        return saved.gathered[i].view(batch, seq, heads, -1), saved.log2_sum[i].view(batch, heads, seq)

    def _loss(self, saved: Activations, targets: Tensor) -> Tensor:
        """The mean over all targets, some rows after the other, with the gradients of the head and of its inputs.

        As kernels/loss.py, linear_cross_entropy, but for where the results go.
        """
        hidden, head, rows = saved.normed, self.matrices.head, len(targets)
        for start in range(0, rows, HEAD_ROWS):
            end = min(start + HEAD_ROWS, rows)
            for first in range(start, end, LOGIT_ROWS):
                part = slice(first, min(first + LOGIT_ROWS, end))
                logits = saved.logits[part.start - start : part.stop - start]
                torch.mm(hidden[part], head.mT, out=logits)
                loss.losses_into(saved.losses[part], logits, targets[part], saved.log_sums[part], logits, 1 / rows)
            of_some = saved.logits[: end - start]
            torch.mm(of_some, head, out=saved.normed_gradient[start:end])
            self._gradients.add_to_head(of_some, hidden[start:end], is_first=start == 0)
        return loss.mean(saved.losses)


class _Lease:
    """While it exists, the memory holds the activations of one loss."""


class _Loss(torch.autograd.Function):
    """`head` only tells autograd that the loss has a gradient."""

    @staticmethod
    def forward(ctx: Any, step: StandardModelLoss, inputs: Tensor, targets: Tensor, head: nn.Parameter) -> Tensor:
        found = step.forward(inputs, targets)
        ctx.step, ctx.inputs, ctx.lease = step, inputs, step.lend()
        return found

    @staticmethod
    # its type says nothing of names
    def backward(ctx: Any, *gradients: Any) -> tuple[None, None, None, None]:  # pyright: ignore[reportIncompatibleMethodOverride]
        if torch.is_grad_enabled():  # create_graph: it would hold nothing
            raise RuntimeError("the standard model as one function has no second derivative; use kernels: reference")
        if ctx.lease is None:
            raise RuntimeError("the activations of this loss are gone: backward() works once")
        try:
            ctx.step.backward(ctx.inputs, float(gradients[0]))
        finally:
            ctx.lease = None
        return None, None, None, None
