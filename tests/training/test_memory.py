"""The estimate of memory against what torch holds: exact where it counts parameters, near for what autograd keeps.

The peak of whole processes is measured in test_measured_memory.py.
"""

import pytest
import torch
from training.runs import changed

from groundup.config import ModelConfig, OptimizerConfig, RunConfig, TrainingConfig
from groundup.kernels.registry import choose
from groundup.model.transformer import TransformerLM
from groundup.model.variants import build_model
from groundup.training import memory
from groundup.training.memory import Held, memory_by_moment, peak_memory
from groundup.training.resolve import make_optimizer

MODEL = {"vocab_size": 200, "context_length": 32, "d_model": 32, "num_layers": 2, "num_heads": 4, "d_ff": 96}


def tiny(precision="float32", kernels="auto", optimizer="adamw", **model) -> RunConfig:
    return RunConfig(
        model=ModelConfig(**{**MODEL, **model}),
        optimizer=OptimizerConfig(name=optimizer),
        training=TrainingConfig(batch_size=4, eval_batch_size=4, precision=precision, kernels=kernels),
    )


def build(config: RunConfig) -> TransformerLM:
    dtype = torch.bfloat16 if config.training.precision == "bf16" else torch.float32
    return build_model(config.model, ops=choose("cpu", dtype, config.training.kernels))


def at(moment: str, config: RunConfig) -> Held:
    (found,) = (held for held in memory_by_moment(config) if held.moment == moment)
    return found


@pytest.mark.parametrize(
    "model",
    [
        {},
        {"tie_embeddings": True, "num_kv_heads": 2, "qk_norm": True, "ffn": "silu"},
        {"ffn": "relu2", "value_residual": True, "embedding_shortcut": True, "scale_embeddings": True},
    ],
)
@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "muon"])
def test_parameters_gradients_and_optimizer_to_the_byte(model, optimizer):
    config = tiny(optimizer=optimizer, **model)
    module = build(config)
    torch_optimizer = make_optimizer(config, module)
    ids = torch.randint(config.model.vocab_size, (4, config.model.context_length))
    module.ops.linear_cross_entropy(module.hidden(ids), module.lm_head.weight, ids).backward()
    torch_optimizer.step()
    update = at("update", config)
    assert update.weights_bytes == sum(parameter.nbytes for parameter in module.parameters())
    assert update.gradients_bytes == sum(parameter.grad.nbytes for parameter in module.parameters())
    moments = [x for state in torch_optimizer.state.values() for x in state.values() if isinstance(x, torch.Tensor)]
    assert update.optimizer_bytes == sum(moment.nbytes for moment in moments)


@pytest.mark.parametrize("kernels", ["auto", "reference"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize(
    "model",
    [
        {"num_kv_heads": 2},
        {"qk_norm": True},
        {"norm": "none"},
        {"norm": "post", "ffn": "silu"},
        {"dropout": 0.1},
        {"vocab_size": 2000},
        {"ffn": "relu2"},
        {"value_residual": True, "num_kv_heads": 2},
        {"embedding_shortcut": True},
        {"value_residual": True, "qk_norm": True, "ffn": "relu2"},
    ],
)
def test_activations_are_what_autograd_keeps(model, precision, kernels, monkeypatch):
    monkeypatch.setattr(memory, "HEAP_SHARE", 1)
    config = tiny(precision, kernels, **model)
    module = build(config)
    own = {tensor.untyped_storage().data_ptr() for tensor in [*module.parameters(), *module.buffers()]}
    kept = []  # the tensors themselves, so that no address is used twice

    ids = torch.randint(config.model.vocab_size, (4, config.model.context_length))
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        hidden = module.hidden(ids)
        if kernels == "reference":  # fast ones make the gradient in forward and keep that, as workspace of the loss
            module.ops.linear_cross_entropy(hidden, module.lm_head.weight, ids)
    sizes = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in kept}
    measured = sum(size for address, size in sizes.items() if address not in own)
    # Left out: numbers per token or per head, indices, the rotation.
    estimate = at("loss", config).activations_bytes
    assert 0.9 * measured < estimate < 1.01 * measured


@pytest.mark.parametrize("kernels", ["auto", "reference"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_activations_under_a_cap_are_what_autograd_keeps(precision, kernels, monkeypatch):
    """With a cap the loss keeps the logits and their tangent, whatever the kernels."""
    monkeypatch.setattr(memory, "HEAP_SHARE", 1)
    config = tiny(precision, kernels, logit_cap=9.0, vocab_size=2000)
    module = build(config)
    own = {tensor.untyped_storage().data_ptr() for tensor in [*module.parameters(), *module.buffers()]}
    kept = []
    ids = torch.randint(config.model.vocab_size, (4, config.model.context_length))
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        module.ops.cross_entropy(module.lm_head(module.hidden(ids)), ids)
    sizes = {x.untyped_storage().data_ptr(): x.untyped_storage().nbytes() for x in kept}
    measured = sum(size for address, size in sizes.items() if address not in own)
    assert 0.9 * measured < at("loss", config).activations_bytes < 1.01 * measured


def test_moments_follow_the_configuration():
    config = tiny(vocab_size=2000)
    whole, parts = at("loss", config), at("loss", changed(config, training={"micro_batch_size": 2}))
    assert (whole.gradients_bytes, parts.gradients_bytes) == (0, whole.weights_bytes)
    assert parts.activations_bytes == whole.activations_bytes / 2
    assert peak_memory(config).moment == "loss"
    assert peak_memory(changed(config, training={"eval_batch_size": 400})).moment == "validation"
    large = changed(config, model={"d_model": 512, "d_ff": 4096, "context_length": 1})
    assert peak_memory(changed(large, training={"batch_size": 1, "kernels": "reference"})).moment == "update"
    assert at("loss", tiny("bf16", vocab_size=2000)).activations_bytes < whole.activations_bytes
    forced = memory_by_moment(tiny("bf16", vocab_size=2000), precision="float32")
    assert forced == memory_by_moment(config)


def test_scores_grow_with_the_square_of_the_context_where_they_exist():
    def twice(kernels: str) -> float:
        long = [tiny(kernels=kernels, context_length=length) for length in (1024, 2048)]
        short, longer = (at("loss", config).activations_bytes for config in long)
        return longer / short

    assert twice("auto") < 2.1 < 3.4 < twice("reference")


def test_large_arrays_take_their_own_size_and_small_ones_more():
    assert memory.resident(1, [memory.HEAP_LIMIT_BYTES, 100]) == memory.HEAP_LIMIT_BYTES + 150
