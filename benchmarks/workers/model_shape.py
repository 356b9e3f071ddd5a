"""The model that all sides of a comparison build. Standard library only."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """Of a Llama; embedding and head are two matrices, no layer has a bias."""

    vocab_size: int
    context_length: int
    d_model: int
    d_ff: int
    num_layers: int
    num_heads: int

    @property
    def d_head(self) -> int:
        return self.d_model // self.num_heads
