"""Which device and which precision a run uses, and why: asked once, at the start, and said in one line."""

import logging

from groundup.config import Precision
from groundup.environment import has_fast_bf16
from groundup.errors import ConfigError

log = logging.getLogger(__name__)


def choose_device(asked: str = "auto") -> str:
    """The torch device for `asked`: "auto" takes cuda, then mps, then cpu.

    Raises ConfigError for a device that this machine or this build of torch does not have.
    """
    import torch

    if asked == "auto":
        if torch.cuda.is_available():
            return "cuda"
        return "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        torch.empty(0, device=asked)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ConfigError(f"device {asked!r} cannot be used here ({reason}); use auto or cpu") from None
    return asked


def choose_precision(asked: Precision, device: str) -> Precision:
    """`asked`, or "float32" with one logged line where bf16 was asked and the hardware only imitates it.

    A CPU without bfloat16 instructions computes bf16 products several times slower than float32 ones,
    and less exactly: nothing would be won.
    """
    if asked == "bf16" and not has_fast_bf16(device):
        log.warning("precision bf16: this %s has no bfloat16 products, so the run uses float32", device)
        return "float32"
    return asked
