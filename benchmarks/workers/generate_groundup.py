"""Our generation. Ways: reference (plain PyTorch, float32), and native code with float32, bf16 and int8 weights."""

from collections.abc import Sequence

import torch
from model_shape import Shape
from writing import Weights, Write, serve_writing

import groundup
from groundup.checkpoint import load_state_dict
from groundup.config import ModelConfig
from groundup.generation.engine import complete_ids
from groundup.generation.sampling import SamplingConfig
from groundup.model.transformer import TransformerLM


def build(shape: Shape, weights: Weights, way: str, threads: int) -> Write:
    """The model, and the engine below `groundup.generate`."""
    torch.set_num_threads(threads)
    model = TransformerLM(ModelConfig(**vars(shape))).eval()
    load_state_dict(model, {name: torch.from_numpy(array) for name, array in weights.items()})
    options = {"kernels": "reference"} if way == "reference" else {"kernels": "auto", "weights": way}

    def write(prompts: Sequence[Sequence[int]], num_tokens: int) -> list[list[int]]:
        config = SamplingConfig(max_tokens=num_tokens, temperature=0.0)
        return [one.ids for one in complete_ids(model, prompts, config, **options)]

    return write


if __name__ == "__main__":
    serve_writing(build, {"groundup": groundup.__version__, "torch": str(torch.__version__)})
