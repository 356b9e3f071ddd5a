"""From logits to a number: cross-entropy in nats, and the two other units that people read it in.

Nats per token is what training minimises; perplexity is the same on an exponential scale; bits per byte
does not depend on the tokenizer, so it compares models that cut text differently.
"""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from groundup.errors import DataError


def cross_entropy(logits: Float[Tensor, "... vocab"], targets: Int[Tensor, "..."]) -> Float[Tensor, ""]:
    """Mean of -log softmax(logits)[target] over all leading dimensions, in nats, in at least float32.

    The logarithm cancels the exponential of the target: -log p = log(sum_j exp(l_j)) - l_target.
    `logsumexp` takes the largest logit out of the sum first, so logits in the thousands stay finite.

    >>> cross_entropy(torch.tensor([[0.0, 0.0], [1000.0, 0.0]]), torch.tensor([1, 0]))  # (ln 2 + 0) / 2
    tensor(0.3466)
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    target_logits = logits.gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return (logits.logsumexp(dim=-1) - target_logits).mean()


def perplexity(nats_per_token: float) -> float:
    """exp(mean nats): how many equally likely tokens the model hesitates between, on average.

    >>> round(perplexity(1.45), 2)
    4.26
    """
    try:
        return math.exp(nats_per_token)
    except OverflowError:
        return math.inf


def bits_per_byte(total_nats: float, total_bytes: int) -> float:
    """Bits the model spends on a byte of text: nats / ln 2 over the UTF-8 bytes of the tokens scored.

    >>> bits_per_byte(8 * math.log(2), 2)
    4.0

    Raises DataError for text of no bytes.
    """
    if total_bytes <= 0:
        raise DataError(f"bits per byte of {total_bytes} bytes is not defined; score at least one byte of text")
    return total_nats / math.log(2) / total_bytes
