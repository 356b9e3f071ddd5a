"""Which functions a model is built with: the fast ones where they run, the reference everywhere else.

Each fast function has its oracle in model/ and hands on to it what it does not take, so that any variant of
the model can be built with any choice.
"""

import dataclasses
import functools
import logging

import torch

from groundup import _native
from groundup.kernels import attention, gates, lookup, loss, norm
from groundup.model.ops import REFERENCE, Ops, mixed

log = logging.getLogger(__name__)


def choose(device: str, dtype: torch.dtype, kernels: str = "auto") -> Ops:
    """The functions for a model on `device` whose products are in `dtype`, and one logged line that says which.

    Args:
        device: "cpu", "cuda", ...
        dtype: float32; or bf16 with weights, stream, norms and loss in float32 (model.ops.mixed).
        kernels: "auto" takes fast ones where there are any; "reference" never does.
    """
    reference = REFERENCE if dtype == torch.float32 else mixed(dtype)
    if kernels == "reference":
        log.info("kernels: reference, as asked")
        return reference
    if torch.device(device).type != "cpu" or dtype not in (torch.float32, torch.bfloat16):
        log.info("kernels: reference (there are none for %s on %s)", dtype, device)
        return reference
    log.info("kernels: native, for %s", _native.kernel_variants()[0])
    return dataclasses.replace(
        reference,
        embedding=lookup.embedding,
        rms_norm=norm.rms_norm,
        silu=gates.silu,
        swiglu=gates.swiglu,
        causal_attention=attention.causal_attention,
        cross_entropy=loss.cross_entropy,
        linear_cross_entropy=functools.partial(loss.linear_cross_entropy, dtype=dtype),
    )
