"""Hugging Face's training step: LlamaForCausalLM with sdpa attention. Precisions: see torch_training.prepare."""

import torch
import transformers
from torch import Tensor
from torch.nn import functional as F
from torch_training import make_optimizer, prepare
from training_parts import EMBEDDING, HEAD, NORM, View, layer_parts, paired_by_halves
from training_step import Built, Shape, serve_training
from transformers import LlamaConfig, LlamaForCausalLM


def build(shape: Shape, precision: str) -> Built:
    """The same shape as ours, with Hugging Face's own initial weights."""
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
        use_cache=False,
        attn_implementation="sdpa",
    )
    model = LlamaForCausalLM(config).train()
    autocast = prepare(model, precision)

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = model(input_ids=inputs).logits
        # Its own loss would shift the targets by one more; otherwise it is this.
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    def parts(of: View) -> dict[str, Tensor]:
        found = {
            EMBEDDING: of(model.model.embed_tokens.weight),
            HEAD: of(model.lm_head.weight),
            NORM: of(model.model.norm.weight),
        }
        for number, layer in enumerate(model.model.layers):
            attention, feed_forward = layer.self_attn, layer.mlp
            found |= layer_parts(
                number,
                norm1=of(layer.input_layernorm.weight),
                q=paired_by_halves(of(attention.q_proj.weight), shape.num_heads),
                k=paired_by_halves(of(attention.k_proj.weight), shape.num_heads),
                v=of(attention.v_proj.weight),
                o=of(attention.o_proj.weight),
                norm2=of(layer.post_attention_layernorm.weight),
                w1=of(feed_forward.gate_proj.weight),
                w2=of(feed_forward.down_proj.weight),
                w3=of(feed_forward.up_proj.weight),
            )
        return found

    return Built(model, loss_of, *make_optimizer(model), parts)


if __name__ == "__main__":
    serve_training(build, {"transformers": transformers.__version__})
