"""How much memory this process has had in use, read from Linux's /proc; None and False elsewhere."""

import contextlib
from pathlib import Path

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): the peak of the resident set becomes what is resident now


def peak_memory_bytes() -> int | None:
    """The most memory this process had in use (VmHWM) since it began, or since `reset_peak_memory`."""
    try:
        lines = _STATUS.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), None)


def reset_peak_memory() -> bool:
    """Forget the peak up to now; False where the system does not allow it."""
    with contextlib.suppress(OSError):
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
        return True
    return False
