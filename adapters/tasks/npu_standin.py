"""`torch_npu` for references that run without an NPU: the few of its functions that have a published formula, in torch.

A reference is the task author's; one that calls a vendor function cannot run on a CPU. Where the vendor's page gives
the function's formula, this module computes it, and loading the task says so (`warnings`): expected values then rest
on opmend's reading of that page, and nothing was compared with an NPU. Everything else raises, naming what is missing.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

_NAME = "torch_npu"
_CALL = re.compile(r"\btorch_npu\s*\.\s*(\w+)\s*\(")


def npu_dynamic_quant(
    x: torch.Tensor,
    *,
    smooth_scales: torch.Tensor | None = None,
    group_index: torch.Tensor | None = None,
    dst_type: torch.dtype | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Symmetric quantisation per row: `scale = max(|row|) / 127`, `y = round(row / scale)`, half to even.

    `x`: float16 or bfloat16 of at least two dimensions. `smooth_scales`: one factor per element of a row, of x's dtype.
    Returns y (int8, x's shape) and scale (float32, x's shape without the last dimension). Computed in float32; a row
    of zeros gives zeros (its scale is 0, which the page does not speak of). ValueError for what is not covered: groups
    and four-bit results. Source: the vendor's page "torch_npu.npu_dynamic_quant".
    """
    if group_index is not None or dst_type not in (None, torch.int8):
        raise ValueError(
            "npu_dynamic_quant: group_index and a dst_type other than torch.int8 have no stand-in on a CPU"
        )
    if x.dim() < 2 or x.dtype not in (torch.float16, torch.bfloat16):
        raise ValueError(
            f"npu_dynamic_quant takes float16 or bfloat16 of 2 dimensions or more, not {x.dtype}, {x.dim()}"
        )
    rows = x.float() if smooth_scales is None else x.float() * smooth_scales.float()
    scale = rows.abs().amax(dim=-1) / 127
    divisor = torch.where(scale > 0, scale, torch.ones_like(scale)).unsqueeze(-1)
    return torch.round(rows / divisor).clamp(-128, 127).to(torch.int8), scale


_FUNCTIONS: dict[str, Callable[..., Any]] = {"npu_dynamic_quant": npu_dynamic_quant}


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name in _FUNCTIONS:
            return _FUNCTIONS[name]
        if name.startswith("__"):
            raise AttributeError(name)
        known = ", ".join(sorted(_FUNCTIONS))
        raise AttributeError(
            f"torch_npu.{name} has no stand-in on a CPU (only {known}): write it with plain torch operations"
        )


def install() -> None:
    """Make `import torch_npu` give the stand-in in this process."""
    for name in (_NAME, f"{_NAME}.contrib", f"{_NAME}.contrib.transfer_to_npu"):
        if name not in sys.modules:
            module = _StandIn(name) if name == _NAME else ModuleType(name)
            module.__path__ = []
            sys.modules[name] = module
            parent, _, child = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], child, module)


def warnings(source: str) -> tuple[str, ...]:
    """What to say of a reference whose text calls vendor functions that are stood in for."""
    called = sorted({name for name in _CALL.findall(source) if name in _FUNCTIONS})
    return tuple(
        f"the reference calls torch_npu.{name}: on a CPU opmend computes the vendor's published formula in its place; "
        "that was not compared with an NPU"
        for name in called
    )
