"""What the field's speed-runs put in the place of parts of the base model; docs/leaderboard.md says what each is worth.

`build_model` is how a model is made of any configuration: the base of transformer.py where no option is on, and else
that base with parts exchanged. A part takes over the weights of the one it stands for, so that with the same seed a
variant begins with the weights of the base. Nothing here is needed to understand the model: read transformer.py first.
"""

import dataclasses
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from groundup.config import ModelConfig
from groundup.model.kv_cache import LayerCache
from groundup.model.layers import Embedding, Linear, SiLUFeedForward
from groundup.model.ops import REFERENCE, Ops, at_least_float32
from groundup.model.transformer import Block, TransformerLM


def build_model(config: ModelConfig, *, ops: Ops = REFERENCE, checkpoint_activations: bool = False) -> TransformerLM:
    """The model of a configuration, arguments as of TransformerLM. Raises ConfigError as that does."""
    kind = VariantLM if config.is_variant else TransformerLM
    return kind(config, ops=ops, checkpoint_activations=checkpoint_activations)


class VariantLM(TransformerLM):
    """A TransformerLM with the parts exchanged that `config` asks for.

    A class of its own: what knows the base model only, such as native code, does not take it for that.
    """

    def __init__(self, config: ModelConfig, *, ops: Ops = REFERENCE, checkpoint_activations: bool = False) -> None:
        super().__init__(_base_of(config), ops=ops, checkpoint_activations=checkpoint_activations)
        self.config = config
        blocks = [layer for layer in self.layers if isinstance(layer, Block)]
        if config.ffn == "relu2":
            for block in blocks:
                assert isinstance(block.ffn, SiLUFeedForward)
                block.ffn = SquaredReLU(block.ffn)
        if config.has_shortcuts:
            self.layers = nn.ModuleList(ShortcutBlock(block, config, is_first=i == 0) for i, block in enumerate(blocks))
        if config.scale_embeddings:
            self.token_embeddings = ScaledEmbedding(self.token_embeddings, config.d_model**0.5)
        if config.logit_cap:
            self.lm_head = CappedHead(self.lm_head, config.logit_cap)

    def through_layers(
        self,
        x: Float[Tensor, "... seq d_model"],
        rotation: tuple[Tensor, Tensor] | None,
        caches: Sequence[LayerCache | None],
        *shared: Tensor,
    ) -> Float[Tensor, "... seq d_model"]:
        """The stream after all layers, each of which gets the embedding and the values of the first one if it asks so.

        The values are computed once more here, a third of the first layer's projection, so that they are an argument
        like any other: computed again in backward, or one token at a time with a cache, a layer gets the same.
        """
        if self.config.has_shortcuts:
            shared = (x,)
        if self.config.value_residual:
            first = self.layers[0]
            assert isinstance(first, ShortcutBlock)
            shared = (x, first.values(x))
        return super().through_layers(x, rotation, caches, *shared)


class SquaredReLU(SiLUFeedForward):
    """W2 relu(W1 x)^2: no gate, and many of the inner values are 0.

    So et al. 2021, Primer: Searching for Efficient Transformers for Language Modeling (arXiv:2109.08668); one of the
    techniques of the NanoGPT speed-run.
    """

    def __init__(self, plain: SiLUFeedForward) -> None:
        nn.Module.__init__(self)
        self.ops, self.w1, self.w2 = plain.ops, plain.w1, plain.w2

    def forward(self, x: Float[Tensor, "... d_model"]) -> Float[Tensor, "... d_model"]:
        return self.w2(squared_relu(self.w1(x)))


class ShortcutBlock(Block):
    """A layer, with norms before its halves, that is told besides the stream what the tokens were; not the first one.

    Value residual: its values V become V + share * (V_1 - V), V_1 those of the first layer. Zhou et al. 2024, Value
    Residual Learning (arXiv:2410.17897). The share is learned, one number a layer that starts at 1/2; at 0 the layer is
    that of the base. As the stream begins with the embedding alone, V_1 depends on the token only.

    Embedding shortcut: it begins with a x + b e instead of the stream x; e is the embedding, a and b are learned from 1
    and 0 on. Both came to the NanoGPT speed-run with its record 9 (6 November 2024).
    """

    def __init__(self, block: Block, config: ModelConfig, *, is_first: bool) -> None:
        nn.Module.__init__(self)
        assert block.norm == "pre"
        self.norm, self.dropout = block.norm, block.dropout
        self.ln1, self.attn, self.ln2, self.ffn = block.ln1, block.attn, block.ln2, block.ffn
        self.value_share = self.stream_shares = None
        if config.value_residual and not is_first:
            self.value_share = nn.Parameter(torch.full((1,), 0.5))
        if config.embedding_shortcut and not is_first:
            self.stream_shares = nn.Parameter(torch.tensor([1.0, 0.0]))

    def forward(
        self,
        x: Float[Tensor, "... seq d_model"],
        rotation: tuple[Tensor, Tensor] | None = None,
        cache: LayerCache | None = None,
        embedded: Float[Tensor, "... seq d_model"] | None = None,
        first_values: Float[Tensor, "... seq kv_heads d_head"] | None = None,
    ) -> Float[Tensor, "... seq d_model"]:
        """The stream after this layer; without the last two arguments that of the base."""
        if embedded is not None and self.stream_shares is not None:
            of_stream, of_embedding = self.stream_shares
            x = of_stream * x + of_embedding * embedded
        qkv = self.attn.project(self.ln1(x))
        if first_values is not None and self.value_share is not None:
            queries, keys, values = self.attn.heads
            others, own = qkv.split((queries + keys, values), dim=-2)
            own = own + self.value_share.to(own.dtype) * (first_values - own)
            qkv = torch.cat((others, own), dim=-2)
        x = x + self._drop(self.attn.attend(qkv, rotation, cache))
        return x + self._drop(self.ffn(self.ln2(x)))

    def values(self, x: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq kv_heads d_head"]:
        """The values that this layer projects from the stream before it."""
        weight = self.attn.qkv_weight[-self.attn.heads[2] * self.attn.d_head :]
        return self.attn.ops.linear(self.ln1(x), weight).unflatten(-1, (-1, self.attn.d_head))


class ScaledEmbedding(Embedding):
    """The embedding times a constant, the root of d_model: Vaswani et al. 2017 (arXiv:1706.03762), section 3.4.

    A tied matrix has small entries, so that logits start near unit size; times this the stream starts there too.
    """

    def __init__(self, plain: Embedding, scale: float) -> None:
        nn.Module.__init__(self)
        self.ops, self.weight, self.scale = plain.ops, plain.weight, scale

    def forward(self, ids: Int[Tensor, "..."]) -> Float[Tensor, "... d_model"]:
        return self.ops.embedding(ids, self.weight) * self.scale


class CappedHead(Linear):
    """The head, with logits kept between -cap and cap by `soft_cap`.

    Gemma Team 2024, Gemma 2: Improving Open Language Models at a Practical Size (arXiv:2408.00118), with 30; in the
    NanoGPT speed-run from its record 9 on (6 November 2024), with 15 from record 18 on (4 January 2025).
    """

    def __init__(self, plain: Linear, cap: float) -> None:
        nn.Module.__init__(self)
        self.ops, self.weight, self.cap = plain.ops, plain.weight, cap

    def forward(self, x: Float[Tensor, "... d_in"]) -> Float[Tensor, "... d_out"]:
        return soft_cap(self.ops.linear(x, self.weight), self.cap)


def squared_relu(x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """max(x, 0)^2.

    >>> squared_relu(torch.tensor([-2.0, 0.5, 3.0]))
    tensor([0.0000, 0.2500, 9.0000])
    """
    return torch.relu(x).square()


def soft_cap(logits: Float[Tensor, "..."], cap: float | int) -> Float[Tensor, "..."]:
    """cap * tanh(logits / cap), in at least float32: near 0 the logits as they are, never beyond the cap.

    >>> soft_cap(torch.tensor([0.5, 15.0, -1e6]), 15)
    tensor([  0.4998,  11.4239, -15.0000])
    """
    return cap * torch.tanh(at_least_float32(logits) / cap)


def _base_of(config: ModelConfig) -> ModelConfig:
    """What transformer.py builds, and variants take their weights from."""
    return dataclasses.replace(
        config,
        ffn="silu" if config.ffn == "relu2" else config.ffn,
        value_residual=False,
        embedding_shortcut=False,
        scale_embeddings=False,
        logit_cap=0.0,
    )
