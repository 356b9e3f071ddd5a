"""The worker's end of the conversation: a request a line on stdin, an answer a line on stdout, all JSON.

    {"operation": "measure", "seconds": 5}    ->    {"answer": {"step_s": [1.31, 1.29]}}    or    {"error": "..."}

Standard library only: it runs in the environment of every peer. The other end is bench/worker.py.
"""

import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import Any

Operation = Callable[..., dict[str, Any]]


def serve(operations: Mapping[str, Operation]) -> None:
    """Answer requests until stdin ends; the fields of a request are the operation's keyword arguments.

    What else is printed, by a library say, goes to stderr: stdout holds nothing but answers.
    """
    with os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        for line in sys.stdin:
            print(json.dumps(_answer(operations, json.loads(line))), file=answers, flush=True)


def _answer(operations: Mapping[str, Operation], request: dict[str, Any]) -> dict[str, Any]:
    try:
        return {"answer": operations[request.pop("operation")](**request)}
    except Exception as error:  # whatever a peer raises is told, and the worker stays
        traceback.print_exc()
        lines = str(error).strip().splitlines() or [""]
        return {"error": f"{type(error).__name__}: {lines[0]}"}
