"""Hops 5 and 6 of training as one function of a batch: module by module, or faster where that can be."""

import logging
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.optim import Optimizer

from groundup.kernels.standard import has_hooks, why_not_standard
from groundup.kernels.standard_model import StandardModelLoss
from groundup.model.transformer import TransformerLM
from groundup.optim.fast import FastAdamW

log = logging.getLogger(__name__)
LossOf = Callable[[Tensor, Tensor], Tensor]


def choose_loss(
    model: TransformerLM,
    optimizer: Optimizer,
    products: torch.dtype,
    *,
    kernels: Literal["auto", "reference"],
    as_one_function: bool = False,
    compiled: bool = False,
) -> LossOf:
    """loss_of(inputs, targets), in nats per token, whose backward() gives the gradients of the model.

    Module by module; or, where `as_one_function` asks for it, `kernels` leave the choice and the model is the standard
    one, StandardModelLoss, with products in the type `products`, and with layers computed again in backward where
    `model.checkpoint_activations` says so. There too, from call to call, some go module by module: a model that is
    watched or was changed, a loss while an earlier one waits for its backward(), what torch.compile is to see, and
    what needs no gradients. Each reason is logged once.
    """

    is_capped = model.config.logit_cap > 0

    def by_modules(inputs: Tensor, targets: Tensor) -> Tensor:
        hidden = model.hidden(inputs)  # hop 5, forward, up to the head
        if is_capped:  # the head is more than a product
            return model.ops.cross_entropy(model.lm_head(hidden), targets)
        return model.ops.linear_cross_entropy(hidden, model.lm_head.weight, targets)  # hop 6, loss in nats per token

    if kernels == "reference" or not as_one_function:
        return by_modules
    why_not = "training.compile is on" if compiled else why_not_standard(model)
    if why_not:
        log.info("training step: module by module (%s)", why_not)
        return by_modules
    log.info("training step: as one function, over memory that it keeps, as asked")
    as_one = StandardModelLoss(model, products, checkpointed=model.checkpoint_activations)
    if isinstance(optimizer, FastAdamW) and products == torch.bfloat16:
        optimizer.copies = as_one.matrices.copies
    said: set[str] = set()

    def loss_of(inputs: Tensor, targets: Tensor) -> Tensor:
        if torch.compiler.is_compiling() or not torch.is_grad_enabled():
            return by_modules(inputs, targets)
        why_not = _why_not_now(as_one, inputs, targets)
        if not why_not:
            return as_one(inputs, targets)
        if why_not not in said:
            log.info("training step: module by module while %s", why_not)
            said.add(why_not)
        return by_modules(inputs, targets)

    return loss_of


def _why_not_now(as_one: StandardModelLoss, inputs: Tensor, targets: Tensor) -> str:
    """What keeps this batch from the one function, "" if nothing does."""
    if why_not := why_not_standard(as_one.model):
        return why_not
    if has_hooks(as_one.model):
        return "a module or a parameter has hooks"
    if as_one.is_lent:
        return "an earlier loss waits for its backward()"
    seq_limit = as_one.model.config.context_length
    if inputs.ndim != 2 or inputs.shape != targets.shape or not 0 < inputs.shape[1] <= seq_limit or len(inputs) == 0:
        return "a batch is not of sequences that fit the context"
    if any(ids.dtype != torch.int64 or ids.device.type != "cpu" for ids in (inputs, targets)):
        return "ids are not int64 on the CPU"
    return ""
