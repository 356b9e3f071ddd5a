"""Which ids the model sees once there are more than its context holds: SPEC's half-window rule.

When the context is full, generation keeps its last half, drops the rest and goes on from position 0.
Dropping half at once, and not one id a step, is what makes a key/value cache worth having: every key
holds its own position, so each drop costs a fresh prefill, once in context_length / 2 ids.
"""


def window_start(length: int, context_length: int) -> int:
    """Index of the first visible id of `length`: the ids from there on are the model's whole input.

    0 while they fit, then the smallest multiple of `context_length - context_length // 2` that leaves
    at most context_length of them. It depends on nothing else, so a long prompt, generation with a
    cache and generation without one all see the same ids.

    >>> [window_start(length, 8) for length in (7, 8, 9, 12, 13)]
    [0, 0, 4, 4, 8]
    """
    drop = context_length - context_length // 2
    excess = max(0, length - context_length)
    return -(-excess // drop) * drop
