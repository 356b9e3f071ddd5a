"""The from-scratch rule: what makes it a language model is written here, not taken ready-made from torch.

Read from the syntax trees of src/: every name that leads to torch is followed through imports, aliases,
assignments, getattr and import_module, and must not end at a layer, a loss, an optimizer, or a fused twin
of one under another name. Elementwise functions and tensor operations are allowed.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import groundup

SOURCE = Path(groundup.__file__).parent

ALLOWED = {
    "torch.nn.Parameter",
    "torch.nn.Module",
    "torch.nn.ModuleList",
    "torch.nn.ModuleDict",
    "torch.nn.Sequential",
    "torch.nn.ParameterList",
    "torch.nn.ParameterDict",
    "torch.nn.init.trunc_normal_",
    "torch.optim.Optimizer",
    "torch.ops.groundup",
}
# Inside these nothing else is allowed, and they may not be passed around as values.
CLOSED = ("torch.nn", "torch.optim", "torch.ops", "torch._C", "torch._VF", "torch._refs", "torch._decomp", "torch.ao")
NAMESPACES = {"torch.nn", "torch.nn.init", "torch.optim", "torch.ops"}
# Anywhere else under torch, a name with one of these in it is a layer, a loss or an optimizer in disguise:
# torch.rms_norm, torch._safe_softmax, torch.special.log_softmax, torch._fused_adamw_, ...
DISGUISED = (
    "adagrad",
    "adam",
    "attention",
    "batch_norm",
    "bilinear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose",
    "convolution",
    "cross_entropy",
    "dropout",
    "embedding",
    "fused_sgd",
    "group_norm",
    "gru",
    "instance_norm",
    "kl_div",
    "layer_norm",
    "linear_",
    "_linear",
    "lstm",
    "nll_loss",
    "rms_norm",
    "rnn_",
    "scaled_dot_product",
    "softmax",
)
METHODS = {"softmax", "log_softmax"}  # of every tensor


def offences(source: str) -> list[str]:
    """What a file uses against the rule, with the lines."""
    tree = ast.parse(source)
    aliases = _aliases(tree)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found = []
    for node in ast.walk(tree):
        for path in _imported(node):
            if not _is_allowed(path) and path not in NAMESPACES:
                found.append((node, path))
        path = _resolve(node, aliases)
        if path is not None and id(node) not in inner and not _is_allowed(path):
            found.append((node, path))
        if path is None and _name_asked_of_a_value(node) in METHODS:
            found.append((node, f"the tensor method {_name_asked_of_a_value(node)}"))
        if _is_getattr(node) and path is None and (_resolve(node.args[0], aliases) or "").startswith("torch"):
            found.append((node, "a name under torch that cannot be read from the source"))
    return [f"line {node.lineno}: {what}" for node, what in sorted(found, key=lambda item: item[0].lineno)]


def _is_allowed(path: str) -> bool:
    """Whether a dotted path may be used: outside torch, on the list, or neither closed nor disguised."""
    if not f"{path}.".startswith("torch."):
        return True
    if any(f"{path}.".startswith(f"{name}.") for name in ALLOWED):
        return True
    if any(f"{path}.".startswith(f"{name}.") for name in CLOSED) or path.endswith(".*"):
        return False
    return not any(word in name for name in path.split(".")[1:] for word in DISGUISED)


def _aliases(tree: ast.AST) -> dict[str, str]:
    """What each name of a file stands for, where that is under torch or in groundup; scopes are not told apart."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for name in node.names:
                aliases[name.asname or name.name.partition(".")[0]] = (
                    name.name if name.asname else name.name.partition(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            aliases |= {name.asname or name.name: f"{node.module}.{name.name}" for name in node.names}
    for _ in range(3):  # an alias of an alias of an alias
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                path = _resolve(node.value, aliases)
                if path is not None and path.startswith("torch"):
                    aliases |= {target.id: path for target in targets if isinstance(target, ast.Name)}
    return aliases


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (name.name for name in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from (f"{node.module}.{name.name}" for name in node.names)


def _resolve(node: ast.AST, aliases: dict[str, str]) -> str | None:
    """The dotted path that an expression stands for, if it can be read from the source."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _resolve(node.value, aliases)
        return base and f"{base}.{node.attr}"
    if _is_getattr(node) and isinstance(node.args[1], ast.Constant):
        base = _resolve(node.args[0], aliases)
        return base and f"{base}.{node.args[1].value}"
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = ast.unparse(node.func).rpartition(".")[2]
        if called in ("import_module", "__import__") and isinstance(node.args[0].value, str):
            return node.args[0].value
    return None


def _is_getattr(node: ast.AST) -> bool:
    is_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"
    return is_call and len(node.args) >= 2


def _name_asked_of_a_value(node: ast.AST) -> str | None:
    """`x.name` and `getattr(x, "name")` ask for a name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if _is_getattr(node) and isinstance(node.args[1], ast.Constant):
        return node.args[1].value
    return None


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_from_scratch(path):
    assert offences(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "bad",
    [
        "import torch.nn.functional as F",
        "import torch.nn.functional\n",
        "from torch.nn import functional",
        "from torch.nn.functional import silu as s",
        "from torch.nn import Linear",
        "from torch.nn import *",
        "from torch import *",
        "from torch.nn.modules.linear import Linear",
        "from torch.nn.utils import clip_grad_norm_",
        "from torch.nn.init import xavier_normal_",
        "from torch.nn.attention import sdpa_kernel",
        "import torch\nlayer = torch.nn.Linear(2, 3)",
        "import torch as t\nt.nn.functional.softmax(x, -1)",
        "import torch.nn as nn\nclass A(nn.RMSNorm): pass",
        "from torch import nn\nnn.init.normal_(x)",
        "from torch import nn\nnn.Embedding(2, 3)",
        "import torch\nnn = torch.nn\nlayer = nn.Linear(2, 3)",
        "import torch\nt = torch\nu = t\nu.nn.Linear(2, 3)",
        "import torch\nfunction = torch.nn.functional.silu",
        "import torch\nif (f := torch.softmax): f(x, -1)",
        "import torch\ndef f(x):\n    return torch.softmax(x, -1)",
        "import torch\ntorch.special.softmax(x, -1)",
        "import torch\ntorch.special.log_softmax(x, -1)",
        "import torch\ntorch._softmax(x, -1, False)",
        "import torch\ntorch._safe_softmax(x, -1)",
        "import torch\ntorch.Tensor.softmax(x, -1)",
        "from torch import Tensor\nTensor.log_softmax(x, -1)",
        "from torch import softmax as quiet\n",
        "x.softmax(-1)",
        "(a @ b).log_softmax(dim=-1)",
        "f = x.softmax",
        "getattr(x, 'softmax')(-1)",
        "import torch\ntorch.rms_norm(x, (3,))",
        "import torch\ntorch._fused_rms_norm(x, (3,), w, 1e-5)",
        "import torch\ntorch.layer_norm(x, (3,))",
        "import torch\ntorch.native_layer_norm(x, (3,), w, b, 1e-5)",
        "import torch\ntorch.embedding(weight, ids)",
        "import torch\ntorch.dropout(x, 0.1, True)",
        "import torch\ntorch._scaled_dot_product_flash_attention_for_cpu(q, k, v)",
        "import torch\ntorch.conv1d(x, w)",
        "import torch\ntorch.binary_cross_entropy_with_logits(x, y)",
        "import torch\ntorch._fused_adamw_(p, g)",
        "import torch\ntorch.ops.aten.silu(x)",
        "import torch\ntorch.ops.aten._softmax.default(x, -1, False)",
        "from torch import ops\nops.aten.rms_norm(x, (3,))",
        "import torch\ntorch._C._nn.scaled_dot_product_attention(q, k, v)",
        "from torch._C import _nn",
        "import torch._refs as refs",
        "import torch\ngetattr(torch.nn.functional, 'silu')",
        "import torch\ngetattr(torch, 'softmax')(x, -1)",
        "import torch\nname = 'soft' + 'max'\ngetattr(torch, name)",
        "import torch\ngetattr(getattr(torch, 'nn'), 'Linear')",
        "import torch\nuse(torch.nn)",
        "import importlib\nF = importlib.import_module('torch.nn.functional')",
        "__import__('torch').softmax(x, -1)",
        "from importlib import import_module\nt = import_module('torch')\nt.nn.Linear(2, 3)",
        "from torch.optim import AdamW",
        "import torch.optim as optim\noptim.SGD([])",
        "import torch\ntorch.optim.AdamW([])",
        "import torch\ntorch.optim.lr_scheduler.CosineAnnealingLR(o, 3)",
    ],
)
def test_the_check_sees_what_is_taken_ready_made(bad):
    assert offences(bad)


@pytest.mark.parametrize(
    "good",
    [
        "import torch\nfrom torch import Tensor, nn\nfrom torch.optim import Optimizer",
        "from torch import nn\nclass A(nn.Module):\n    layers: nn.ModuleList",
        "import torch.nn as nn\nw = nn.Parameter(nn.init.trunc_normal_(x))",
        "import torch\nclass B(torch.optim.Optimizer): pass",
        "import torch\ntorch.sigmoid(x) + torch.logsumexp(x, -1) + torch.linalg.vector_norm(x)",
        "import torch\ntorch.compile(f)\ntorch.autograd.grad(y, x)\ntorch.library.custom_op('a::b')",
        "import torch\ntorch.set_num_threads(2)\ntorch.nn.Module.named_parameters(m)",
        "import torch\ntorch.ops.groundup.attention(q, k, v)",
        "import torch\ndtype = getattr(torch, 'bfloat16')",
        "import torch\ntorch._foreach_mul_(a, b)\ntorch.normal(0.0, 1.0, (2,))\ntorch.renorm(x, 2, 0, 1)",
        "from groundup.model import ops\nops.softmax(x, -1)",
        "from groundup.model.ops import softmax, embedding\nsoftmax(x, -1)\nembedding(ids, w)",
        "self.ops.embedding(ids, w)\nself.dropout = 0.1\nself.attention(q)",
        "import importlib\nimportlib.import_module('groundup.cli.eval')",
    ],
)
def test_the_check_lets_tensor_operations_and_our_own_names_pass(good):
    assert offences(good) == []
