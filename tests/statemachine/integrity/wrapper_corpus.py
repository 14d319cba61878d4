"""Wrappers written for the tests: cheats with the finding that must name them, and honest ones that must not be failed.

Each entry is a forward body or a whole module over the same head. The extension is `_op_ext`.
"""

from __future__ import annotations

import textwrap

HEAD = """
import sys
from pathlib import Path
import torch
import torch.nn as nn
import torch.nn.functional as F
sys.path.insert(0, str(Path(__file__).resolve().parent / "kernel" / "build"))
import _op_ext as _ext
"""


def forward(body: str, *, signature: str = "self, x: torch.Tensor", head: str = "", init: str = "pass") -> str:
    """A wrapper module around one forward body."""
    return (
        HEAD
        + textwrap.dedent(head)
        + "\nclass ModelNew(nn.Module):\n    def __init__(self, eps=1e-5):\n        super().__init__()\n"
        + textwrap.indent(textwrap.dedent(init).strip(), " " * 8)
        + f"\n\n    def forward({signature}):\n"
        + textwrap.indent(textwrap.dedent(body).strip(), " " * 8)
        + "\n"
    )


#: name -> (source, check expected, outcome expected)
CHEATS: dict[str, tuple[str, str, str]] = {
    "torch only": (forward("return torch.softmax(x, -1)", init="self.e = _ext"), "torch-compute", "failed"),
    "never calls the extension": (forward("return x.clone()"), "no-call", "failed"),
    "launch then overwrite": (
        forward("y = _ext.run(x)\ny.copy_(x.contiguous())\nreturn y"),
        "overwritten",
        "failed",
    ),
    "decorative launch": (forward("_ext.run(x)\nreturn x.clone()"), "foreign-result", "failed"),
    "operator only": (forward("y = _ext.run(x)\nreturn y * 0 + x / (1 + x)"), "tensor-operator", "failed"),
    "in-place operator": (forward("y = _ext.run(x)\ny += x\nreturn y"), "tensor-operator", "failed"),
    "negation": (forward("return _ext.run(-x)"), "tensor-operator", "failed"),
    "comparison mask": (forward("return _ext.run(x > 0)"), "tensor-operator", "failed"),
    "matmul operator": (
        forward("return _ext.run(x @ w)", signature="self, x, w: torch.Tensor"),
        "tensor-operator",
        "failed",
    ),
    "fallback returns torch": (
        forward("try:\n    return _ext.run(x)\nexcept RuntimeError:\n    return torch.relu(x)"),
        "fallback",
        "failed",
    ),
    "fallback without compute": (
        forward("try:\n    y = _ext.run(x)\nexcept Exception:\n    y = torch.zeros_like(x)\nreturn y"),
        "no-launch",
        "failed",
    ),
    "stub for a missing extension": (
        HEAD.replace(
            "import _op_ext as _ext",
            "try:\n    import _op_ext as _ext\nexcept ImportError:\n    class _ext:\n"
            "        run = staticmethod(lambda x: x)\n",
        )
        + "class ModelNew(nn.Module):\n    def forward(self, x):\n        return _ext.run(x)\n",
        "stub",
        "failed",
    ),
    "renamed import": (
        forward("return _pack(_ext.run(x), -1)", head="from torch import softmax as _pack"),
        "torch-compute",
        "failed",
    ),
    "renamed module": (
        forward("return layout.exp(_ext.run(x))", head="import torch as layout"),
        "torch-compute",
        "failed",
    ),
    "dynamic attribute": (
        forward("return getattr(torch, 'soft' + 'max')(_ext.run(x), -1)"),
        "dynamic-attribute",
        "failed",
    ),
    "vars": (forward("return vars(torch)['relu'](_ext.run(x))"), "refused-name", "failed"),
    "dunder dict": (forward("return torch.__dict__['relu'](_ext.run(x))"), "dunder", "failed"),
    "nn layer": (forward("return self.act(_ext.run(x))", init="self.act = nn.GELU()"), "nn-layer", "failed"),
    "nn layer in a list": (
        forward(
            "y = _ext.run(x)\nfor m in self.ms:\n    y = m(y)\nreturn y", init="self.ms = nn.ModuleList([nn.ReLU()])"
        ),
        "nn-layer",
        "failed",
    ),
    "inherits the reference": (
        HEAD
        + "from model import Model\nclass ModelNew(Model):\n    def forward(self, x):\n        return _ext.run(x)\n",
        "imports-reference",
        "failed",
    ),
    "super forward": (
        HEAD + "import model\nclass ModelNew(model.Model):\n    pass\n",
        "imports-reference",
        "failed",
    ),
    "reference in sys.modules": (forward("return sys.modules['ref'].Model()(_ext.run(x))"), "refused-name", "failed"),
    "caller frame": (forward("return sys._getframe(1).f_locals['ref']"), "refused-name", "failed"),
    "inspect": (forward("return _ext.run(x)", head="import inspect"), "import", "failed"),
    "gc scan": (forward("return _ext.run(x)", head="import gc"), "import", "failed"),
    "comparison patched": (
        forward("return _ext.run(x)", head="torch.allclose = lambda *a, **k: True"),
        "monkey-patch",
        "failed",
    ),
    "setattr patch": (forward("return _ext.run(x)", head="setattr(torch, 'equal', print)"), "monkey-patch", "failed"),
    "reads a golden file": (forward("return torch.load('golden.pt')"), "refused-name", "failed"),
    "opens a file": (forward("open('x.json').read()\nreturn _ext.run(x)"), "refused-name", "failed"),
    "answers from the seeds": (
        forward("return _ext.run(x)", head="from model import get_input_groups", init="self.g = get_input_groups()"),
        "imports-reference",
        "failed",
    ),
    "compute in the constructor": (
        forward("return _ext.run(x)", init="self.t = torch.softmax(nn.Parameter(torch.zeros(4)), 0)"),
        "torch-compute",
        "failed",
    ),
    "memo by pointer": (
        forward("k = x.data_ptr()\nif k not in C:\n    C[k] = _ext.run(x)\nreturn C[k]", head="C = {}"),
        "memo",
        "flagged",
    ),
    "memo on self": (forward("self.y = _ext.run(x)\nreturn self.y"), "memo", "flagged"),
    "overrides get_inputs": (
        forward("return _ext.run(x)", head="def get_inputs():\n    return []"),
        "task-function",
        "failed",
    ),
    "exec payload": (forward("exec('y = 1')\nreturn _ext.run(x)"), "refused-name", "failed"),
    "torch.compile": (
        forward("return _ext.run(x)", head="@torch.compile\ndef f(x):\n    return x"),
        "refused-name",
        "failed",
    ),
    "torch.jit": (forward("return _ext.run(x)", head="from torch.jit import script"), "refused-name", "failed"),
    "numpy": (
        forward("return torch.from_numpy(np.exp(x.cpu().numpy()))", head="import numpy as np"),
        "host-read",
        "failed",
    ),
    "python scalars": (
        forward("v = [a for a in x.tolist()]\n_ext.run(x)\nreturn torch.tensor(v)"),
        "host-read",
        "failed",
    ),
    "item": (forward("return _ext.run(x, x.max().item())"), "host-read", "failed"),
    "case table": (
        forward("if x.shape == (1024, 1024):\n    return _ext.run(x)\nraise ValueError"),
        "case-table",
        "flagged",
    ),
    "input mutation": (forward("y = _ext.run(x)\nx.zero_()\nreturn y"), "input-mutation", "failed"),
    "aten overload": (
        forward("return torch.ops.aten._softmax.default(_ext.run(x), -1, False)"),
        "torch-compute",
        "failed",
    ),
    "deep chain": (forward("return _ext.run(x).to(torch.float32).softmax(-1)"), "torch-compute", "failed"),
    "vendor operator": (
        forward("return torch_npu.npu_rms_norm(_ext.run(x))", head="import torch_npu"),
        "vendor-operator",
        "failed",
    ),
    "precompute then identity": (forward("return _ext.copy(F.gelu(x))"), "torch-compute", "failed"),
    "partial offload": (forward("return _ext.scale(x, x.pow(2).mean(-1).rsqrt())"), "torch-compute", "failed"),
    "gather by index": (
        forward("return _ext.run(x)[i]", signature="self, x, i: torch.Tensor"),
        "advanced-indexing",
        "failed",
    ),
    "dead branch": (forward("if False:\n    return _ext.run(x)\nreturn x.clone()"), "no-call", "failed"),
    "one path without launch": (
        forward("if x.shape[0] > 4:\n    return _ext.run(x)\nreturn x.clone()"),
        "no-launch",
        "failed",
    ),
    "hook": (forward("return _ext.run(x)", init="self.register_forward_hook(print)"), "hook", "failed"),
    "special call": (
        forward("return _ext.run(x)") + "\n    def __call__(self, x):\n        return x\n",
        "special-method",
        "failed",
    ),
    "lambda": (forward("f = lambda t: t.exp()\nreturn f(_ext.run(x))"), "torch-compute", "failed"),
    "nested function": (forward("def g(t):\n    return t.sum()\nreturn g(_ext.run(x))"), "torch-compute", "failed"),
    "local alias of a function": (forward("f = torch.relu\nreturn f(_ext.run(x))"), "torch-compute", "failed"),
    "subprocess": (forward("return _ext.run(x)", head="import subprocess"), "import", "failed"),
    "unbound method": (forward("return torch.Tensor.exp(_ext.run(x))"), "torch-compute", "failed"),
    "builtins sum": (forward("return sum([_ext.run(x), x])"), "host-read", "failed"),
    "map": (forward("return list(map(torch.exp, [_ext.run(x)]))[0]"), "torch-compute", "failed"),
    "method without a call": (forward("f = x.exp\nreturn _ext.run(f())"), "tensor-attribute", "failed"),
    "own class computes": (
        forward("return _ext.run(H().go(x))", head="class H:\n    def go(self, t):\n        return t.exp()"),
        "torch-compute",
        "failed",
    ),
    "static method computes": (
        forward("return _ext.run(H.go(x))", head="class H:\n    @staticmethod\n    def go(t):\n        return t.exp()"),
        "torch-compute",
        "failed",
    ),
    "submodule computes": (
        forward(
            "return self.h(_ext.run(x))",
            head="class H(nn.Module):\n    def forward(self, t):\n        return t.exp()",
            init="self.h = H()",
        ),
        "torch-compute",
        "failed",
    ),
    "property computes": (
        forward("self.x = x\n_ext.run(x)\nreturn self.p")
        + "    @property\n    def p(self):\n        return torch.exp(self.x)\n",
        "torch-compute",
        "failed",
    ),
    "forward replaced": (forward("return _ext.run(x)", init="self.forward = torch.relu"), "rebound", "failed"),
    "model replaced": (forward("return _ext.run(x)") + "\nModelNew = nn.ReLU\n", "rebound", "failed"),
    "import shadowed": (forward("import torch as _ext\nreturn _ext.relu(x)"), "stub", "failed"),
    "class by type()": (forward("return _ext.run(x)", head="Z = type('Z', (), {})"), "metaclass", "failed"),
    "exception swallowed": (
        forward(
            "y = torch.zeros_like(x)\nwith contextlib.suppress(Exception):\n    y = _ext.run(x)\nreturn y",
            head="import contextlib",
        ),
        "no-launch",
        "failed",
    ),
    "loop left before the launch": (
        forward(
            "y = torch.empty_like(x)\nfor i in range(3):\n    if i == 0:\n        break\n    _ext.run(x, y)\nreturn y"
        ),
        "no-launch",
        "failed",
    ),
    "walrus": (forward("return _ext.run(y := torch.exp(x))"), "torch-compute", "failed"),
    "lying annotation": (forward("return _ext.run(x * 2)", signature="self, x: int"), "tensor-operator", "failed"),
    "global": (forward("global Y\nY = _ext.run(x)\nreturn Y"), "memo", "flagged"),
    "not python": ("def forward(:", "syntax", "failed"),
}

#: name -> source; none may be failed, and each must be said to reach the extension.
HONEST: dict[str, str] = {
    "plain": forward("return _ext.run(x)"),
    "clone of the result": forward("return _ext.run(x.contiguous()).clone()"),
    "copied into a buffer": forward("y = _ext.run(x)\nz = torch.empty_like(y)\nz.copy_(y)\nreturn z"),
    "pad, slice, permute": forward(
        "n = x.shape[-1]\np = F.pad(x.permute(1, 0).contiguous(), (0, (-n) % 8))\n"
        "return _ext.run(p)[:, :n].permute(1, 0)"
    ),
    "casts around the launch": forward("return _ext.run(x.to(torch.float32)).to(x.dtype)"),
    "kernel by dtype": forward("f = {torch.float16: _ext.half, torch.float32: _ext.full}[x.dtype]\nreturn f(x)"),
    "kernel by size": forward("if x.shape[-1] <= 1024:\n    y = _ext.small(x)\nelse:\n    y = _ext.big(x)\nreturn y"),
    "workspace from zeros": forward("w = torch.zeros(64, device=x.device)\nreturn _ext.run(x, w)"),
    "out argument": forward("y = torch.empty_like(x)\n_ext.run(x, y)\nreturn y"),
    "chunked launches": forward(
        "y = torch.empty_like(x)\nfor i in range(0, x.shape[0], 64):\n    _ext.run(x[i:i + 64], y[i:i + 64])\nreturn y"
    ),
    "several kernels": forward("a = _ext.one(x)\nb = _ext.two(a)\nreturn _ext.three(a, b)"),
    "early return": forward("if x.numel() == 0:\n    return torch.empty_like(x)\nreturn _ext.run(x)"),
    "launch unless empty": forward("y = torch.empty_like(x)\nif x.numel() > 0:\n    _ext.run(x, y)\nreturn y"),
    "try that re-raises": forward(
        "try:\n    return _ext.run(x)\nexcept RuntimeError as e:\n    raise ValueError(f'bad {tuple(x.shape)}') from e"
    ),
    "cached tiling": forward(
        "return _ext.run(x, tile(int(x.shape[-1])))",
        head="import functools\n@functools.lru_cache(maxsize=None)\n"
        "def tile(n: int) -> int:\n    return (n + 7) // 8 * 8",
    ),
    "parameters": forward("return _ext.run(x, self.weight)", init="self.weight = nn.Parameter(torch.ones(8))"),
    "prepacked weights": forward(
        "return _ext.run(x, self.p)", init="self.w = nn.Parameter(torch.randn(4, 8))\nself.p = self.w.t().contiguous()"
    ),
    "comments and strings": forward("# torch.softmax(x), eval\n'torch.exp(x)'\nreturn _ext.run(x)"),
    "list of tensors": forward("ys = [t.contiguous() for t in xs]\nreturn _ext.run(ys)", signature="self, xs"),
    "scalar arithmetic": forward(
        "d = dim if dim >= 0 else dim + x.ndim\nreturn _ext.run(x, d, 1.0 / (alpha * x.shape[d]))",
        signature="self, x, dim: int = -1, alpha=1.0",
    ),
    "loader": HEAD.replace(
        "import _op_ext as _ext",
        "import importlib.util\n_spec = importlib.util.spec_from_file_location('_op_ext', 'kernel/build/_op_ext.so')\n"
        "_ext = importlib.util.module_from_spec(_spec)\n_spec.loader.exec_module(_ext)",
    )
    + "class ModelNew(nn.Module):\n    def forward(self, x):\n        return _ext.run(x)\n",
    "registered operator": HEAD.replace("import _op_ext as _ext", "torch.ops.load_library('kernel/build/lib.so')")
    + "class ModelNew(nn.Module):\n    def forward(self, x):\n        return torch.ops.my_op.run(x)\n",
    "constants of the reference": forward("return _ext.run(x, TABLE[x.shape[0]])", head="from model import TABLE"),
    "base class of its own": HEAD
    + "class Base(nn.Module):\n    def forward(self, x):\n        return self.go(x)\n"
    + "class ModelNew(Base):\n    def go(self, x):\n        return _ext.run(x)\n",
    "tuple result": forward("y, r = _ext.run(x.reshape(-1, x.shape[-1]))\nreturn y.reshape(x.shape), r.view(-1, 1)"),
    "picked by name": forward(
        "suffix = 'fp16' if x.dtype == torch.float16 else 'fp32'\nreturn getattr(_ext, 'run_' + suffix)(x)"
    ),
    "in place on a copy": forward("y = x.clone()\n_ext.run_(y)\nreturn y"),
    "own submodule": forward(
        "return self.h(x)",
        head="class H(nn.Module):\n    def forward(self, t):\n        return _ext.run(t)",
        init="self.h = H()",
    ),
    "autograd function": forward(
        "return Fn.apply(x)",
        head="class Fn(torch.autograd.Function):\n    @staticmethod\n"
        "    def forward(ctx, t):\n        return _ext.run(t)",
    ),
    "no grad": forward("with torch.no_grad():\n    return _ext.run(x)"),
    "empty extension slot": forward("if _ext is None:\n    raise RuntimeError('not built')\nreturn _ext.run(x)"),
}
