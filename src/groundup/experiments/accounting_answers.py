"""Two questions on cost: what a forward pass of GPT-2's shapes takes, and what training with AdamW takes.

The counting is `model/accounting.py`; here are the shapes that are asked for, and the same figures once more by
other ways: PyTorch's own count of operations, and the terms of the memory written out one by one.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from groundup.config import ModelConfig
from groundup.experiments.answers import Answer, AnswerOptions
from groundup.experiments.known_shapes import preset_model
from groundup.model import accounting

SIZES = {"small": "gpt2", "medium": "gpt2-medium", "large": "gpt2-large", "xl": "gpt2-xl"}
LONG_CONTEXT = 16_384
NARROW_D_FF = 4288  # 8/3 d_model, rounded as by default
MEMORY_BYTES = 80e9
FLOPS_PER_S = 19.5e12
UTILIZATION = 0.5
STEPS = 400_000
BATCH_SIZE = 1024


def forward_pass(options: AnswerOptions) -> Answer:
    """accounting: parameters, operations by product and their shares for four sizes, a long context, a narrow d_ff."""
    models = four_sizes()
    models["long"] = preset_model("gpt2-xl", context_length=LONG_CONTEXT)
    models["narrow"] = preset_model("gpt2-xl", d_ff=NARROW_D_FF)
    figures: dict[str, Any] = {name: _forward_figures(model) for name, model in models.items()}
    figures["times_as_many"] = figures["long"]["flops"]["total"] / figures["xl"]["flops"]["total"]
    figures["counted_by_torch"] = {name: flops_by_torch(models[name]) for name in SIZES}
    return Answer("accounting", figures, forward_claims(figures))


def forward_claims(figures: Mapping[str, Any]) -> dict[str, bool]:
    """What the page says that must show in the figures."""
    counted = figures["counted_by_torch"]
    return {"PyTorch counts as many": all(counted[name] == figures[name]["flops"]["total"] for name in SIZES)}


def four_sizes() -> dict[str, ModelConfig]:
    """The shapes of GPT-2 by size."""
    return {name: preset_model(preset) for name, preset in SIZES.items()}


def training_step(options: AnswerOptions) -> Answer:
    """adamw-accounting: memory as a line in the batch, the largest batch, operations of a step, days of training."""
    model = preset_model("gpt2-xl")
    shape = {"model": dataclasses.asdict(model) | {"d_head": model.d_head}}
    return Answer("adamw-accounting", shape | _memory_figures(model) | _time_figures(model))


def _memory_figures(model: ModelConfig) -> dict[str, Any]:
    line, parameters = accounting.adamw_memory(model), accounting.num_parameters(model).total
    per_layer, at_end = activations_per_sequence(model)
    slope, fixed, largest = line.bytes_per_sequence, line.fixed_bytes, line.largest_batch(MEMORY_BYTES)
    # What two readers may count differently: the third matrix of SwiGLU with the product behind it, and the copy
    # of the logits that becomes their gradient.
    third_matrix = 4 * model.context_length * model.num_layers * 2 * model.ffn_width
    second_logits = 4 * model.context_length * model.vocab_size
    return {
        "parameters": parameters,
        "weights_bytes": 4 * parameters,
        "gradients_bytes": 4 * parameters,
        "optimizer_bytes": 8 * parameters,
        "numbers_per_layer": per_layer,
        "numbers_at_end": at_end,
        "layer_total": sum(per_layer.values()),
        "end_total": sum(at_end.values()),
        "bytes_per_sequence": slope,
        "fixed_bytes": fixed,
        "memory_bytes": int(MEMORY_BYTES),
        "largest_batch": largest,
        "bytes_at_largest": slope * largest + fixed,
        "bytes_left": int(MEMORY_BYTES) - slope * largest - fixed,
        "quadratic_share": 100 * (per_layer["scores"] + per_layer["softmax"]) * model.num_layers * 4 / slope,
        "otherwise": {
            "third_matrix": _otherwise(slope + third_matrix, fixed),
            "second_logits": _otherwise(slope + second_logits, fixed),
            "both": _otherwise(slope + third_matrix + second_logits, fixed),
        },
    }


def _time_figures(model: ModelConfig) -> dict[str, Any]:
    forward = accounting.flops(model).total
    adamw = accounting.ADAMW_FLOPS_PER_PARAMETER * accounting.num_parameters(model).total
    days = accounting.training_days(
        model, steps=STEPS, batch_size=BATCH_SIZE, flops_per_s=FLOPS_PER_S, utilization=UTILIZATION
    )
    return {
        "flops_per_parameter": accounting.ADAMW_FLOPS_PER_PARAMETER,
        "adamw_flops": adamw,
        "adamw_share_of_one_sequence": 100 * adamw / (3 * forward),
        "forward_flops": forward,
        "step_flops": 3 * forward * BATCH_SIZE,
        "training_flops": 3 * forward * BATCH_SIZE * STEPS,
        "flops_per_s": FLOPS_PER_S,
        "teraflops_per_s": FLOPS_PER_S / 1e12,
        "utilization_percent": 100 * UTILIZATION,
        "steps": STEPS,
        "batch_size": BATCH_SIZE,
        "days": days,
        "years": days / 365.25,
        "devices_for_30_days": days / 30,
    }


def activations_per_sequence(model: ModelConfig) -> tuple[dict[str, int], dict[str, int]]:
    """The numbers that are kept for one sequence: those of a layer, those behind the last layer.

    Written out as the specification lists them, so that `accounting.adamw_memory` can be compared with it.
    """
    tokens, width, inner = model.context_length, model.d_model, model.ffn_width
    square = model.num_heads * tokens * tokens
    layer = {
        "norms": 2 * tokens * width,
        "qkv": 3 * tokens * width,
        "scores": square,
        "softmax": square,
        "weighted_sum": tokens * width,
        "output": tokens * width,
        "w1": tokens * inner,
        "silu": tokens * inner,
        "w2": tokens * width,
    }
    return layer, {"final_norm": tokens * width, "logits": tokens * model.vocab_size, "cross_entropy": tokens}


def _otherwise(bytes_per_sequence: int, fixed_bytes: int) -> dict[str, int]:
    line = accounting.AdamWMemory(bytes_per_sequence, fixed_bytes)
    return {"bytes_per_sequence": bytes_per_sequence, "largest_batch": line.largest_batch(MEMORY_BYTES)}


def _forward_figures(model: ModelConfig) -> dict[str, Any]:
    parameters, flops = accounting.num_parameters(model), accounting.flops(model)
    percent = {name: 100 * share for name, share in flops.shares.items()}
    percent["attention"] = percent["scores"] + percent["weighted_sum"]
    percent["all_else"] = 100 - percent["attention"]
    return {
        "model": dataclasses.asdict(model),
        "parameters": dataclasses.asdict(parameters) | {"total": parameters.total},
        "weights_bytes": 4 * parameters.total,
        "weights_bf16_bytes": 2 * parameters.total,
        "flops": dataclasses.asdict(flops) | {"total": flops.total},
        "qkv_of_a_layer": flops.qkv // model.num_layers,
        "percent": percent,
        "flops_per_parameter_and_token": flops.total / parameters.total / model.context_length,
    }


def flops_by_torch(model: ModelConfig) -> int:
    """The operations that PyTorch counts while the real model runs, on tensors that have a shape and no contents."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from groundup.model.transformer import TransformerLM

    with torch.device("meta"), torch.no_grad(), FlopCounterMode(display=False) as counter:
        ids = torch.zeros((1, model.context_length), dtype=torch.long)
        TransformerLM(model)(ids)
    return counter.get_total_flops()
