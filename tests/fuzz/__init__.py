"""Fuzzing of the tokenizer: random input, seeded, compared with `reference.py`; nothing may crash, hang or leak.

    PYTHONPATH=tests python -m fuzz --seconds 60                       # on the installed core
    PYTHONPATH=tests python tools/sanitized.py -m fuzz --seconds 60    # on the sanitized one: `make fuzz`

A target makes an input from a random generator, in Python alone, and checks what the tokenizer does with it:
it succeeds, with the result of the reference, or raises an error of groundup's. `runner.py` runs the targets
in a process of their own and reports what happened with the number of the case, which makes the same input
again. `inputs.py` has random texts and vocabularies; the targets are in `training.py`, `encoding.py`,
`decoding.py`, `streaming.py` and `loading.py`.
"""
