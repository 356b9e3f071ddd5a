"""The whole model, from ids to logits: read this file and you have read a language model.

    ids -> token_embeddings -> Block -> Block -> ... -> ln_final -> lm_head -> logits
                               Block: x + attention(norm(x)), then x + feed-forward(norm(x))

Every part adds to one stream of vectors, `x`, one per token: attention moves information between tokens,
the feed-forward part works on each alone. The parts: attention.py, layers.py, rope.py; the formulas: ops.py.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from groundup.config import ModelConfig
from groundup.errors import ConfigError, DataError
from groundup.model.attention import CausalSelfAttention
from groundup.model.kv_cache import KVCache, LayerCache
from groundup.model.layers import Embedding, Linear, RMSNorm, SiLUFeedForward, SwiGLU
from groundup.model.ops import REFERENCE, Ops, dropout
from groundup.model.rope import RotaryEmbedding


class TransformerLM(nn.Module):
    """A decoder-only Transformer: for every place of a sequence, logits of the token that comes next.

    Args:
        config: Shape and variant. `norm`, `positions`, `ffn` and `tie_embeddings` decide which of the
            parts below exist.
        ops: The functions it computes with.
        checkpoint_activations: In training, hold only what goes from layer to layer, and compute the inside of each
            again when its gradient is needed: the same bits for a third more time, and the memory of one layer. Chen
            et al. 2016, Training Deep Nets with Sublinear Memory Cost (arXiv:1604.06174).

    Raises ConfigError if `config.vocab_size` is still open (0), or for a configuration that only `build_model` of
    variants.py can build.
    """

    def __init__(self, config: ModelConfig, *, ops: Ops = REFERENCE, checkpoint_activations: bool = False) -> None:
        super().__init__()
        if config.vocab_size == 0:
            raise ConfigError("vocab_size is 0; give that of the tokenizer")
        if config.is_variant:
            raise ConfigError("this configuration has options of the leaderboard lab; use model.variants.build_model")
        self.config, self.ops, self.checkpoint_activations = config, ops, checkpoint_activations
        d_model, vocab_size = config.d_model, config.vocab_size
        # A tied matrix also makes the logits: with unit entries those would start at size sqrt(d_model).
        std = d_model**-0.5 if config.tie_embeddings else 1.0
        self.token_embeddings = Embedding(vocab_size, d_model, std=std, ops=ops)
        self.rope = None
        if config.positions == "rope":
            self.rope = RotaryEmbedding(config.d_head, config.context_length, config.rope_theta)
        self.layers = nn.ModuleList(Block(config, ops=ops) for _ in range(config.num_layers))
        self.ln_final = RMSNorm(d_model, config.norm_eps, ops=ops) if config.norm == "pre" else None
        self.lm_head = Linear(d_model, vocab_size, ops=ops)
        if config.tie_embeddings:
            self.lm_head.weight = self.token_embeddings.weight

    def forward(
        self,
        ids: Int[Tensor, "... seq"],
        *,
        positions: Int[Tensor, "... seq"] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "... seq vocab"]:
        """Logits of the token after each of `ids`; softmax makes them probabilities.

        Args:
            ids: Token ids, with any number of leading dimensions; (batch, seq) with a cache.
            positions: Place of each id for the rotation; None means 0, 1, 2, ...
            cache: Keys and values of the ids before these (see KVCache); gives the positions too.

        Raises DataError if the sequence is longer than the context, or does not fit the cache.
        """
        return self.lm_head(self.hidden(ids, positions=positions, cache=cache))

    def hidden(
        self,
        ids: Int[Tensor, "... seq"],
        *,
        positions: Int[Tensor, "... seq"] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "... seq d_model"]:
        """The stream before `lm_head`, arguments as in `forward`: who needs the logits of one place only
        (generation) can take that place and apply the head to it."""
        seq = ids.shape[-1]
        if seq > self.config.context_length:
            raise DataError(
                f"the sequence has {seq} ids and the model's context_length is {self.config.context_length}; "
                "give fewer ids"
            )
        layer_caches: list[LayerCache | None] = [None] * len(self.layers)
        if cache is not None:
            positions = cache.next_positions(seq)
            layer_caches = [*cache.layers(positions)]
        elif positions is None:
            positions = torch.arange(seq, device=ids.device)
        # Looked up once for all layers; the new axis is that of the heads.
        rotation = None if self.rope is None else self.rope.at(positions.unsqueeze(-2))

        x = self.through_layers(self.token_embeddings(ids), rotation, layer_caches)
        return x if self.ln_final is None else self.ln_final(x)

    def through_layers(
        self,
        x: Float[Tensor, "... seq d_model"],
        rotation: tuple[Tensor, Tensor] | None,
        caches: Sequence[LayerCache | None],
        *shared: Tensor,
    ) -> Float[Tensor, "... seq d_model"]:
        """The stream after all layers; `shared` is handed to each of them, and is nothing but in variants.py."""
        for layer, cache in zip(self.layers, caches, strict=True):
            if self.checkpoint_activations and cache is None and torch.is_grad_enabled():
                # With the same dropout the second time.
                x = checkpoint(layer, x, rotation, None, *shared, use_reentrant=False)
            else:
                x = layer(x, rotation, cache, *shared)
        return x

    def num_parameters(self) -> int:
        """Number of trained values, a tied matrix counted once."""
        return sum(parameter.numel() for parameter in self.parameters())


class Block(nn.Module):
    """One layer: the tokens exchange what they know, then each works on what it has.

    The norm stands before each part ("pre", the stream itself is never normed and gradients pass it
    unchanged: Xiong et al. 2020, arXiv:2002.04745), after each sum ("post", as in Vaswani et al. 2017),
    or nowhere ("none").
    """

    def __init__(self, config: ModelConfig, *, ops: Ops = REFERENCE) -> None:
        super().__init__()
        self.norm, self.dropout = config.norm, config.dropout
        if config.norm != "none":
            self.ln1 = RMSNorm(config.d_model, config.norm_eps, ops=ops)
            self.ln2 = RMSNorm(config.d_model, config.norm_eps, ops=ops)
        self.attn = CausalSelfAttention(
            config.d_model,
            config.num_heads,
            config.kv_heads,
            qk_norm=config.qk_norm,
            norm_eps=config.norm_eps,
            dropout=config.dropout,
            ops=ops,
        )
        feed_forward = SwiGLU if config.ffn == "swiglu" else SiLUFeedForward
        self.ffn = feed_forward(config.d_model, config.ffn_width, ops=ops)
        if config.zero_outputs:  # the layer begins by changing nothing
            self.attn.output_proj.weight.data.zero_()
            self.ffn.w2.weight.data.zero_()

    def forward(
        self,
        x: Float[Tensor, "... seq d_model"],
        rotation: tuple[Tensor, Tensor] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Tensor, "... seq d_model"]:
        """The stream after this layer; `rotation` and `cache` as in CausalSelfAttention."""
        if self.norm == "pre":
            x = x + self._drop(self.attn(self.ln1(x), rotation, cache))
            return x + self._drop(self.ffn(self.ln2(x)))
        if self.norm == "post":
            x = self.ln1(x + self._drop(self.attn(x, rotation, cache)))
            return self.ln2(x + self._drop(self.ffn(x)))
        x = x + self._drop(self.attn(x, rotation, cache))
        return x + self._drop(self.ffn(x))

    def _drop(self, change: Float[Tensor, "... seq d_model"]) -> Float[Tensor, "... seq d_model"]:
        return dropout(change, self.dropout if self.training else 0.0)
