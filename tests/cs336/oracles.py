"""What the adapters must agree with: the same mathematics from torch.nn.functional, and tiktoken.

Written another way than groundup wherever there is one: heads by nn.functional's own attention, rotation by
complex numbers, bytes of GPT-2's files by a table built here.
"""

import json
from collections.abc import Mapping
from pathlib import Path

import tiktoken
import torch
from torch import Tensor
from torch.nn import functional as F

GPT2_PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
END_OF_TEXT = "<|endoftext|>"


def rotated(x: Tensor, positions: Tensor, theta: float) -> Tensor:
    """RoPE: neighbours as one complex number, turned by multiplication."""
    d_k = x.shape[-1]
    wavenumbers = theta ** (-torch.arange(0, d_k, 2, dtype=torch.float64) / d_k)
    turns = torch.polar(torch.ones(()).double(), positions.double()[..., None] * wavenumbers)
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2).to(x.dtype)


def multihead(
    x: Tensor, weights: Mapping[str, Tensor], num_heads: int, theta: float | None, positions: Tensor | None = None
) -> Tensor:
    """Causal self-attention; `weights` under q, k, v, output `_proj.weight`; positions broadcast over heads."""
    positions = torch.arange(x.shape[-2]) if positions is None else positions
    q, k, v = (
        F.linear(x, weights[f"{name}_proj.weight"]).unflatten(-1, (num_heads, -1)).transpose(-3, -2) for name in "qkv"
    )
    if theta is not None:
        q, k = (rotated(part, positions.unsqueeze(-2), theta) for part in (q, k))
    gathered = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return F.linear(gathered.transpose(-3, -2).flatten(-2), weights["output_proj.weight"])


def swiglu(x: Tensor, w1: Tensor, w2: Tensor, w3: Tensor) -> Tensor:
    return F.linear(F.silu(F.linear(x, w1)) * F.linear(x, w3), w2)


def block(x: Tensor, weights: Mapping[str, Tensor], num_heads: int, theta: float) -> Tensor:
    """A pre-norm layer; `weights` under the names of one layer of the state dict."""
    attention = {name.removeprefix("attn."): value for name, value in weights.items()}
    ffn = (weights[f"ffn.{name}.weight"] for name in ("w1", "w2", "w3"))
    x = x + multihead(F.rms_norm(x, x.shape[-1:], weights["ln1.weight"], 1e-5), attention, num_heads, theta)
    return x + swiglu(F.rms_norm(x, x.shape[-1:], weights["ln2.weight"], 1e-5), *ffn)


def logits(ids: Tensor, weights: Mapping[str, Tensor], num_layers: int, num_heads: int, theta: float) -> Tensor:
    """The whole model."""
    x = F.embedding(ids, weights["token_embeddings.weight"])
    for layer in range(num_layers):
        x = block(x, part(weights, f"layers.{layer}."), num_heads, theta)
    return F.linear(F.rms_norm(x, x.shape[-1:], weights["ln_final.weight"], 1e-5), weights["lm_head.weight"])


def part(weights: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The weights whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): value for name, value in weights.items() if name.startswith(prefix)}


def random_weights(vocab_size: int, d_model: int, d_ff: int, num_layers: int) -> dict[str, Tensor]:
    """A state dict under the names of the specification, with gains away from 1."""
    shapes: dict[str, tuple[int, ...]] = {"token_embeddings.weight": (vocab_size, d_model)}
    for layer in range(num_layers):
        for name in "q", "k", "v", "output":
            shapes[f"layers.{layer}.attn.{name}_proj.weight"] = (d_model, d_model)
        for name, shape in (("w1", (d_ff, d_model)), ("w2", (d_model, d_ff)), ("w3", (d_ff, d_model))):
            shapes[f"layers.{layer}.ffn.{name}.weight"] = shape
        shapes[f"layers.{layer}.ln1.weight"] = shapes[f"layers.{layer}.ln2.weight"] = (d_model,)
    shapes |= {"ln_final.weight": (d_model,), "lm_head.weight": (vocab_size, d_model)}
    generator = torch.Generator().manual_seed(0)
    return {
        name: torch.randn(shape, generator=generator) / shape[-1] ** 0.5
        if len(shape) == 2
        else 0.5 + torch.rand(shape, generator=generator)
        for name, shape in shapes.items()
    }


def gpt2_vocabulary(folder: Path) -> tuple[dict[int, bytes], list[tuple[bytes, bytes]]]:
    """vocab and merges of GPT-2 as bytes, from its two files."""
    names = json.loads((folder / "gpt2_vocab.json").read_text(encoding="utf-8"))
    return {id: to_bytes(name) for name, id in names.items()}, read_merges(folder / "gpt2_merges.txt")


def read_merges(path: Path) -> list[tuple[bytes, bytes]]:
    """The merges in a file that writes them in GPT-2's alphabet, one a line."""
    pairs = (
        line.split(" ") for line in path.read_text(encoding="utf-8").split("\n") if not line.startswith("#version")
    )
    return [(to_bytes(pair[0]), to_bytes(pair[1])) for pair in pairs if len(pair) == 2]


def tiktoken_gpt2(vocab: Mapping[int, bytes]) -> tiktoken.Encoding:
    """tiktoken with GPT-2's vocabulary, made from the files (its own loader wants a network)."""
    ranks = {token: id for id, token in vocab.items() if token != END_OF_TEXT.encode()}
    special = {END_OF_TEXT: len(ranks)}
    return tiktoken.Encoding("gpt2", pat_str=GPT2_PATTERN, mergeable_ranks=ranks, special_tokens=special)


def _alphabet() -> dict[str, int]:
    """The byte of each character of GPT-2's alphabet: printable Latin-1 for itself, the rest from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(hidden)}


ALPHABET = _alphabet()


def to_bytes(name: str) -> bytes:
    """The bytes that a name in GPT-2's alphabet writes."""
    return bytes(ALPHABET[character] for character in name)
