import sys
from pathlib import Path

import torch
import torch.nn as nn
from current_task.model import SCALES

_BUILD = Path(__file__).resolve().parent / "kernel" / "build"
sys.path.insert(0, str(_BUILD))

import _add_ext as _ext  # noqa: E402


class ModelNew(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        assert len(SCALES) == 2
        return _ext.run_add(x.contiguous(), y.contiguous())
