"""Hugging Face's training step: LlamaForCausalLM with sdpa attention. Precisions: see torch_training.prepare."""

import torch
import transformers
from huggingface_llama import make_llama
from model_shape import Shape
from torch import Tensor
from torch.nn import functional as F
from torch_training import make_optimizer, prepare
from training_parts import EMBEDDING, HEAD, NORM, View, layer_parts, paired_by_halves
from training_step import Built, serve_training


def build(shape: Shape, precision: str) -> Built:
    """The same shape as ours, with Hugging Face's own initial weights."""
    model = make_llama(shape, use_cache=False).train()
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
