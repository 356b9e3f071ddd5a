"""Our names of weights beside those that others give to the same matrices.

One table for each naming; `{i}` is the number of the layer. What a matrix must look like, and whose rows stand
in another order, is llama.py's.
"""

from collections.abc import Mapping
from types import MappingProxyType

Naming = Mapping[str, str]  # ours -> theirs

HUGGING_FACE: Naming = MappingProxyType(
    {
        "token_embeddings.weight": "model.embed_tokens.weight",
        "layers.{i}.ln1.weight": "model.layers.{i}.input_layernorm.weight",
        "layers.{i}.attn.q_proj.weight": "model.layers.{i}.self_attn.q_proj.weight",
        "layers.{i}.attn.k_proj.weight": "model.layers.{i}.self_attn.k_proj.weight",
        "layers.{i}.attn.v_proj.weight": "model.layers.{i}.self_attn.v_proj.weight",
        "layers.{i}.attn.output_proj.weight": "model.layers.{i}.self_attn.o_proj.weight",
        "layers.{i}.ln2.weight": "model.layers.{i}.post_attention_layernorm.weight",
        "layers.{i}.ffn.w1.weight": "model.layers.{i}.mlp.gate_proj.weight",
        "layers.{i}.ffn.w2.weight": "model.layers.{i}.mlp.down_proj.weight",
        "layers.{i}.ffn.w3.weight": "model.layers.{i}.mlp.up_proj.weight",
        "ln_final.weight": "model.norm.weight",
        "lm_head.weight": "lm_head.weight",
    }
)

GGUF: Naming = MappingProxyType(
    {
        "token_embeddings.weight": "token_embd.weight",
        "layers.{i}.ln1.weight": "blk.{i}.attn_norm.weight",
        "layers.{i}.attn.q_proj.weight": "blk.{i}.attn_q.weight",
        "layers.{i}.attn.k_proj.weight": "blk.{i}.attn_k.weight",
        "layers.{i}.attn.v_proj.weight": "blk.{i}.attn_v.weight",
        "layers.{i}.attn.output_proj.weight": "blk.{i}.attn_output.weight",
        "layers.{i}.ln2.weight": "blk.{i}.ffn_norm.weight",
        "layers.{i}.ffn.w1.weight": "blk.{i}.ffn_gate.weight",
        "layers.{i}.ffn.w2.weight": "blk.{i}.ffn_down.weight",
        "layers.{i}.ffn.w3.weight": "blk.{i}.ffn_up.weight",
        "ln_final.weight": "output_norm.weight",
        "lm_head.weight": "output.weight",
    }
)

# Of Llama as Meta released it, which the training of llama2.c kept.
META: Naming = MappingProxyType(
    {
        "token_embeddings.weight": "tok_embeddings.weight",
        "layers.{i}.ln1.weight": "layers.{i}.attention_norm.weight",
        "layers.{i}.attn.q_proj.weight": "layers.{i}.attention.wq.weight",
        "layers.{i}.attn.k_proj.weight": "layers.{i}.attention.wk.weight",
        "layers.{i}.attn.v_proj.weight": "layers.{i}.attention.wv.weight",
        "layers.{i}.attn.output_proj.weight": "layers.{i}.attention.wo.weight",
        "layers.{i}.ln2.weight": "layers.{i}.ffn_norm.weight",
        "layers.{i}.ffn.w1.weight": "layers.{i}.feed_forward.w1.weight",
        "layers.{i}.ffn.w2.weight": "layers.{i}.feed_forward.w2.weight",
        "layers.{i}.ffn.w3.weight": "layers.{i}.feed_forward.w3.weight",
        "ln_final.weight": "norm.weight",
        "lm_head.weight": "output.weight",
    }
)


def expand(naming: Naming, num_layers: int) -> dict[str, str]:
    """Every weight of a model with that many layers: our name and theirs, in the order of the model.

    >>> names = expand(GGUF, 2)
    >>> names["layers.1.ffn.w2.weight"], len(names)
    ('blk.1.ffn_down.weight', 21)
    """
    layered = [pair for pair in naming.items() if "{i}" in pair[0]]
    first, *last = [pair for pair in naming.items() if "{i}" not in pair[0]]
    layers = [(ours.format(i=i), theirs.format(i=i)) for i in range(num_layers) for ours, theirs in layered]
    return dict([first, *layers, *last])
