"""The stand-in for torch's C++ API against Python torch, in a process of its own (a real extension is imported)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from adapters.ascendc.cpu.build import build

PROGRAM = """
import sys, torch
sys.path.insert(0, sys.argv[1])
import _binding_ext as ext

x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
assert ext.describe(x) == "[2, 3][3, 1]2 6 4 24 0 1 Float Float 3", ext.describe(x)
assert ext.describe(x.t()[1:].bfloat16()) .startswith("[2, 2]")
made = ext.make(x, 4)
want = [(torch.float32, (2, 4)), (torch.int32, (4, 3)), (torch.float16, (4,)), (torch.bfloat16, (2,)),
        (torch.int64, (2, 3)), (torch.uint8, (2, 3)), (torch.float32, (0,)), (torch.float32, (2, 2)),
        (torch.float32, (2, 3)), (torch.int32, (4,))]
assert [(t.dtype, tuple(t.shape)) for t in made] == want, made
assert not made[1].any() and (made[2] == 1.5).all() and (made[8] == 3).all() and made[9].tolist() == [0, 1, 2, 3]
want = [x.view(-1), x.reshape(3, 2), x.t(), x.permute(1, 0), x, x.flatten(), x[:, 1:], x[:, 1:-1], x[1],
        x.expand(2, 2, 3), x.half(), x.double(), x, x, torch.cat([x, x], 1), torch.stack([x, x]),
        torch.nn.functional.pad(x, (0, 5), value=1)]
for got, expected in zip(ext.shape(x), want, strict=True):
    assert got.dtype == expected.dtype and torch.equal(got, expected), (got, expected)
want = [torch.tensor([2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 63], dtype=torch.uint8),
        torch.tensor([[2, 3]], dtype=torch.int32),
        torch.empty(0, dtype=torch.half), torch.tensor([2, 3], dtype=torch.int32), torch.tensor([1.5, 2.5]),
        torch.tensor(7), torch.tensor(2.0), torch.tensor([1.0]), torch.tensor([2.0])]
for got, expected in zip(ext.from_host(x), want, strict=True):
    assert got.dtype == expected.dtype and torch.equal(got, expected), (got, expected)
assert torch.equal(ext.scale(x, x, 2, 1.0, [3, 2]), (x * 3 + 1).view(3, 2))
assert torch.equal(ext.scale(x, factor=0.5), x.view(-1) / 2)
y = x.clone(); ext.scale(y, factor=2, in_place=True); assert torch.equal(y, 2 * x)
for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
    assert ext.first(torch.tensor([-1.5], dtype=dtype)) == -1.5
assert ext.device(x)
assert ext.spans(x.t()) == [3, 2, 1, 3, 3, 2]
for call, kind, text in ((lambda: ext.fail(x), RuntimeError, "Expected x.dim() == 7 to be true"),
                         (lambda: ext.first(x.int()), RuntimeError, "not implemented for 'Int'"),
                         (lambda: ext.describe([1]), TypeError, "incompatible function arguments"),
                         (lambda: ext.scale(x, shape=[7]), RuntimeError, "invalid for input of size 6")):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(text)
print("all right")
"""


def test_the_stand_in_agrees_with_python_torch(cache: Path) -> None:
    result = build(Path(__file__).parent / "binding", level=2, cache=cache / "builds", module_hint="_binding_ext")
    assert result.ok and result.so_path, result.log
    argv = [sys.executable, "-c", PROGRAM, str(result.so_path.parent)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0 and done.stdout.strip() == "all right", done.stderr
