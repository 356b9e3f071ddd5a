"""The memory of a step: as large as its formula says, the same arrays for smaller batches, nothing in use twice."""

import dataclasses
from itertools import combinations

import pytest
import torch
from torch import Tensor

from groundup.config import ModelConfig
from groundup.kernels.standard_model import StandardModelLoss
from groundup.kernels.step_memory import HEAD_ROWS, StepMemory, step_bytes
from groundup.model.transformer import TransformerLM

FLOAT32, BF16 = torch.float32, torch.bfloat16
SHAPE = ModelConfig(vocab_size=61, context_length=70, d_model=36, num_layers=3, num_heads=3, d_ff=50)


def tensors_in(value: object, depth: int = 0) -> list[Tensor]:
    """All tensors that an object of ours holds."""
    if isinstance(value, Tensor):
        return [value]
    parts: list[object] = []
    if isinstance(value, list | tuple):
        parts = [*value]
    elif isinstance(value, dict):
        parts = [*value.values()]
    elif type(value).__module__.startswith("groundup.kernels") and depth < 6:
        parts = [*vars(value).values()]
    return [tensor for part in parts for tensor in tensors_in(part, depth + 1)]


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("dtype", [FLOAT32, BF16], ids=["float32", "bf16"])
@pytest.mark.parametrize("variant", [{}, {"num_kv_heads": 1, "tie_embeddings": True}, {"d_ff": 20}], ids=str)
@pytest.mark.parametrize("batch", [3, 40])  # 40 x 70 rows are more than there are logits of
def test_a_step_holds_what_its_formula_says(variant, dtype, checkpointed, batch):
    config = dataclasses.replace(SHAPE, **variant)
    model = TransformerLM(config)
    loss_of = StandardModelLoss(model, dtype, checkpointed=checkpointed)
    ids = torch.zeros(batch, config.context_length, dtype=torch.int64)
    loss_of(ids, ids).backward()
    of_model = {p.untyped_storage().data_ptr() for p in model.parameters()}
    of_model |= {p.grad.untyped_storage().data_ptr() for p in model.parameters() if p.grad is not None}
    storages = {tensor.untyped_storage() for tensor in tensors_in(loss_of)}
    held = {storage.data_ptr(): storage.nbytes() for storage in storages if storage.data_ptr() not in of_model}
    formula = step_bytes(config, rows=batch * config.context_length, dtype=dtype, checkpointed=checkpointed)
    assert sum(held.values()) == formula


def test_smaller_batches_get_the_same_memory():
    memory = StepMemory(SHAPE, FLOAT32, checkpointed=False)
    large = memory.of(40)
    small = memory.of(7)
    assert [t.data_ptr() for t in small.stream] == [t.data_ptr() for t in large.stream]
    assert all(
        len(tensor) == 7 for tensor in [*small.stream, *small.qkv, small.gated, small.qkv_gradient, small.losses]
    )
    assert memory.of(40).stream[0].data_ptr() == large.stream[0].data_ptr()
    assert len(memory.of(HEAD_ROWS + 1).logits) == HEAD_ROWS


@pytest.mark.parametrize("dtype", [FLOAT32, BF16], ids=["float32", "bf16"])
def test_what_is_needed_at_the_same_time_does_not_overlap(dtype):
    memory = StepMemory(SHAPE, dtype, checkpointed=False).of(5)

    def ends(tensor: Tensor) -> tuple[int, int]:
        assert tensor.is_contiguous()
        return tensor.data_ptr(), tensor.data_ptr() + tensor.numel() * tensor.element_size()

    together = (
        ("gated", "change"),
        ("gated", "gated_gradient"),
        ("qkv_gradient", "gathered_gradient"),
        ("qkv_gradient", "normed_gradient"),
    )
    apart = ("normed", "inverse_rms", "losses", "log_sums", "logits")
    held = [
        array for name in ("stream", "qkv", "gathered", "log2_sum", "gate_and_up") for array in getattr(memory, name)
    ]
    scratch = ("gated", "change", "gated_gradient", "qkv_gradient", "gathered_gradient", "normed_gradient")
    pairs = [(getattr(memory, one), getattr(memory, other)) for one, other in together]
    pairs += combinations([getattr(memory, name) for name in apart] + held, 2)
    pairs += [(getattr(memory, name), array) for name in scratch for array in held]
    for one, other in pairs:
        (first, end), (other_first, other_end) = ends(one), ends(other)
        assert end <= other_first or other_end <= first
    assert memory.stream_gradient is memory.stream[-1]
