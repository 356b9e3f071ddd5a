"""The exceptions of groundup: one base, one kind for each thing a user can hand us.

A message is one sentence: what was wrong, the value seen, what is allowed, what to do. The command
line prints it without a traceback; `assert` is for our own bugs, never for a user's input.
"""


class GroundupError(Exception):
    """Base of every error that a user can cause and mend."""


class ConfigError(GroundupError, ValueError):
    """A configuration or an option that cannot be used."""


class DataError(GroundupError, ValueError):
    """Text, shards or ids that cannot be used."""


class TokenizerError(GroundupError, ValueError):
    """A vocabulary, a merge list or an id that cannot be used."""


class CheckpointError(GroundupError, RuntimeError):
    """A checkpoint or a run folder that cannot be read or written."""


class TrainingError(GroundupError, RuntimeError):
    """A training run that cannot go on."""


class DivergenceError(TrainingError):
    """A training run whose loss or gradients stopped being finite."""


def first_line(error: BaseException) -> str:
    r"""What an error of somebody else's says first: the kind of error, where it says nothing.

    >>> first_line(OSError("\n404 Client Error.\n\nEntry Not Found for url: ..."))
    '404 Client Error.'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
