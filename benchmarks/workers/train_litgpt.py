"""litgpt's training step: its GPT in the shape of a Llama. Precisions: see torch_training.prepare."""

import importlib.metadata

import torch
from litgpt.config import Config
from litgpt.model import GPT
from model_shape import Shape
from torch import Tensor
from torch.nn import functional as F
from torch_training import make_optimizer, prepare
from training_parts import EMBEDDING, HEAD, NORM, View, layer_parts, paired_by_halves
from training_step import Built, serve_training


def build(shape: Shape, precision: str) -> Built:
    """The same shape as ours; the vocabulary is not padded to a round number, as litgpt would by itself."""
    config = Config(
        name="llama",
        block_size=shape.context_length,
        vocab_size=shape.vocab_size,
        padded_vocab_size=shape.vocab_size,
        n_layer=shape.num_layers,
        n_head=shape.num_heads,
        n_embd=shape.d_model,
        intermediate_size=shape.d_ff,
        norm_class_name="RMSNorm",
        norm_eps=1e-5,
        mlp_class_name="LLaMAMLP",
        parallel_residual=False,
        rotary_percentage=1.0,
        rope_base=10_000,
        bias=False,
    )
    model = GPT(config).train()
    autocast = prepare(model, precision)

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = model(inputs)
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    def parts(of: View) -> dict[str, Tensor]:
        outer = model.transformer
        found = {EMBEDDING: of(outer.wte.weight), HEAD: of(model.lm_head.weight), NORM: of(outer.ln_f.weight)}
        for number, layer in enumerate(outer.h):
            q, k, v = of(layer.attn.qkv.weight).chunk(3)
            found |= layer_parts(
                number,
                norm1=of(layer.norm_1.weight),
                q=paired_by_halves(q, shape.num_heads),
                k=paired_by_halves(k, shape.num_heads),
                v=v,
                o=of(layer.attn.proj.weight),
                norm2=of(layer.norm_2.weight),
                w1=of(layer.mlp.fc_1.weight),
                w2=of(layer.mlp.proj.weight),
                w3=of(layer.mlp.fc_2.weight),
            )
        return found

    return Built(model, loss_of, *make_optimizer(model), parts)


if __name__ == "__main__":
    serve_training(build, {"litgpt": importlib.metadata.version("litgpt")})
