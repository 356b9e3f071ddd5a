"""The model under torch.compile: gradients, not only the loss, equal those without it.

In a process of its own, without the run-time shape checks, over which torch.compile fails. A softmax with
a maximum under autograd in bf16 once gave a finite loss and gradients that were NaN.
"""

import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import sys

import torch

from groundup.config import ModelConfig
from groundup.model.ops import REFERENCE, mixed
from groundup.model.transformer import TransformerLM

torch.set_num_threads(1)
torch.manual_seed(0)
shape = {"vocab_size": 100, "context_length": 64, "d_model": 32, "num_layers": 1, "num_heads": 4}
config = ModelConfig(**shape, num_kv_heads=2, qk_norm=True)
ops, tolerance = {"float32": (REFERENCE, 1e-4), "bf16": (mixed(torch.bfloat16), 5e-2)}[sys.argv[1]]
model = TransformerLM(config, ops=ops)
with torch.no_grad():  # away from the initial values
    for parameter in model.parameters():
        parameter.uniform_(0.5, 2) if parameter.ndim == 1 else parameter.mul_(3)
ids, targets = torch.randint(0, 100, (2, 4, 64))


def loss_of(ids, targets):
    return model.ops.cross_entropy(model(ids), targets)


losses = [function(ids, targets) for function in (loss_of, torch.compile(loss_of))]
eager, compiled = (torch.autograd.grad(loss, list(model.parameters())) for loss in losses)
assert abs(losses[1] - losses[0]) < tolerance * losses[0], losses
for (name, _), expected, found in zip(model.named_parameters(), eager, compiled):
    assert found.dtype == torch.float32 and found.isfinite().all(), name
    error = ((found - expected).norm() / expected.norm()).item()
    assert error < tolerance, (name, error)
"""


@pytest.mark.slow  # a minute each: the compiler
@pytest.mark.timeout(900)
@pytest.mark.skipif(not shutil.which("c++") and not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
@pytest.mark.parametrize("precision", ["float32", "bf16"])
def test_compiled_gradients_equal_eager_ones(precision, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    done = subprocess.run([sys.executable, str(program), precision], capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr[-3000:]
