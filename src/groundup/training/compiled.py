"""torch.compile as an option that can only help: where it cannot work, the run goes on without it."""

import logging

import torch

from groundup.training.loss import LossOf
from groundup.training.session import Session

log = logging.getLogger(__name__)


def compile_or_fall_back(run: Session) -> LossOf:
    """The session's `loss_of` compiled, proven by one forward and backward pass; or itself, with one logged line.

    No compiler, an operation without a rule, gradients that come out NaN: each is a reason to fall back.
    """
    config, model = run.config, run.model
    rows = config.training.micro_batch_size or config.training.batch_size
    ids = torch.zeros(rows, config.model.context_length, dtype=torch.int64, device=run.device)
    compiled = run.loss_of
    try:
        compiled = torch.compile(run.loss_of)
        compiled(ids, ids).backward()
        sound = all(bool(p.grad.isfinite().all()) for p in model.parameters() if p.grad is not None)
        reason = "" if sound else "its gradients are not finite"
    except Exception as error:  # the compiler's failures have no common type
        reason = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"
    model.zero_grad(set_to_none=True)
    if not reason:
        return compiled
    log.warning("torch.compile cannot be used here (%s); training runs without it", reason[:200])
    return run.loss_of
