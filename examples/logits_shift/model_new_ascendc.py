import sys
from pathlib import Path

import torch
import torch.nn as nn

_KERNEL_BUILD = Path(__file__).resolve().parent / "kernel" / "build"
if str(_KERNEL_BUILD) not in sys.path:
    sys.path.insert(0, str(_KERNEL_BUILD))

import _logits_shift_ext as _ext  # noqa: E402


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        assert x.ndim >= 1, "x must have at least one dimension"
        cols = x.shape[-1]
        x_2d = x.contiguous().reshape(-1, cols)
        y_2d = _ext.logits_shift(x_2d)
        return y_2d.reshape(x.shape)
