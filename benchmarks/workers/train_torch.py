"""The best training step we can put together from torch's own fast parts, without a kernel of ours.

One product each for queries, keys and values, and for the two halves of SwiGLU; torch's scaled_dot_product_attention,
rms_norm and cross_entropy, and its fused AdamW. Whoever tunes a plain model by hand arrives about here. Precisions:
see torch_training.prepare.
"""

import torch
from model_shape import Shape
from torch import Tensor, nn
from torch.nn import functional as F
from torch_training import make_optimizer, prepare
from training_parts import EMBEDDING, HEAD, NORM, View, layer_parts, paired_by_halves
from training_step import Built, serve_training

EPS, THETA = 1e-5, 10_000.0


class Model(nn.Module):
    """A Llama: `forward` gives the logits (batch, seq, vocab) of ids (batch, seq)."""

    cos: Tensor
    sin: Tensor

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embedding = nn.Embedding(shape.vocab_size, shape.d_model)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.num_layers))
        self.norm = nn.Parameter(torch.ones(shape.d_model))
        self.head = nn.Linear(shape.d_model, shape.vocab_size, bias=False)
        d_head = shape.d_model // shape.num_heads
        wavenumbers = THETA ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
        angles = torch.arange(shape.context_length, dtype=torch.float64)[:, None] * wavenumbers
        angles = torch.cat((angles, angles), dim=-1)  # (seq, d_head)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        rotation = (self.cos[: ids.shape[1]], self.sin[: ids.shape[1]])
        for layer in self.layers:
            x = layer(x, rotation)
        return self.head(F.rms_norm(x, self.norm.shape, self.norm, EPS))


class Layer(nn.Module):
    """Attention and SwiGLU, each on the normed stream and added to it."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        d_model = shape.d_model
        self.num_heads = shape.num_heads
        self.norm1, self.norm2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.ones(d_model))
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)
        self.gate_and_up = nn.Linear(d_model, 2 * shape.d_ff, bias=False)
        self.down = nn.Linear(shape.d_ff, d_model, bias=False)

    def forward(self, x: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        normed = F.rms_norm(x, self.norm1.shape, self.norm1, EPS)
        heads = self.qkv(normed).unflatten(-1, (3, self.num_heads, -1))  # (batch, seq, 3, heads, d_head)
        q, k, v = heads.permute(2, 0, 3, 1, 4).unbind()  # each (batch, heads, seq, d_head)
        gathered = F.scaled_dot_product_attention(rotate(q, *rotation), rotate(k, *rotation), v, is_causal=True)
        x = x + self.output(gathered.transpose(1, 2).flatten(-2))
        gate, up = self.gate_and_up(F.rms_norm(x, self.norm2.shape, self.norm2, EPS)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x (batch, heads, seq, d_head) turned to its positions, the first half of a head with the second; in its type."""
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def build(shape: Shape, precision: str) -> Built:
    """The model with its parts in `precision`."""
    model = Model(shape)
    autocast = prepare(model, precision)

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            logits = model(inputs)
        return F.cross_entropy(logits.float().flatten(0, 1), targets.flatten())

    def parts(of: View) -> dict[str, Tensor]:
        found = {EMBEDDING: of(model.embedding.weight), HEAD: of(model.head.weight), NORM: of(model.norm)}
        for number, layer in enumerate(model.layers):
            q, k, v = of(layer.qkv.weight).chunk(3)
            w1, w3 = of(layer.gate_and_up.weight).chunk(2)
            found |= layer_parts(
                number,
                norm1=of(layer.norm1),
                q=paired_by_halves(q, shape.num_heads),
                k=paired_by_halves(k, shape.num_heads),
                v=v,
                o=of(layer.output.weight),
                norm2=of(layer.norm2),
                w1=w1,
                w2=of(layer.down.weight),
                w3=w3,
            )
        return found

    return Built(model, loss_of, *make_optimizer(model), parts)


if __name__ == "__main__":
    serve_training(build, {})
