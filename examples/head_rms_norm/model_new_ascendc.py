import sys
from pathlib import Path

import torch
import torch.nn as nn

_KERNEL_BUILD = Path(__file__).resolve().parent / "kernel" / "build"
if _KERNEL_BUILD.is_dir() and str(_KERNEL_BUILD) not in sys.path:
    sys.path.insert(0, str(_KERNEL_BUILD))

import _head_rms_norm_ext as _ext  # noqa: E402


class ModelNew(nn.Module):
    def __init__(self, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
        assert x.shape[-1] == gamma.shape[0], "gamma shape mismatch"
        assert x.dtype == gamma.dtype, "x and gamma dtype must match"
        rows = x.contiguous().reshape(-1, x.shape[-1])
        out = _ext.run_head_rms_norm(rows, gamma.contiguous(), self.eps)
        return out.reshape(x.shape)
