"""Hugging Face's Llama in the shape that all sides build: what trains and what writes is the same model."""

from model_shape import Shape
from transformers import LlamaConfig, LlamaForCausalLM


def make_llama(shape: Shape, *, use_cache: bool) -> LlamaForCausalLM:
    """With its own initial weights. `use_cache`: keep keys and values from call to call, as writing needs."""
    config = LlamaConfig(
        vocab_size=shape.vocab_size,
        max_position_embeddings=shape.context_length,
        hidden_size=shape.d_model,
        intermediate_size=shape.d_ff,
        num_hidden_layers=shape.num_layers,
        num_attention_heads=shape.num_heads,
        num_key_value_heads=shape.num_heads,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=False,
        attention_bias=False,
        mlp_bias=False,
        use_cache=use_cache,
        attn_implementation="sdpa",
        bos_token_id=None,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config)
