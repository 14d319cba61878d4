"""RMS norm over a head dimension: y = x / sqrt(mean(x * x, last axis) + eps) * gamma, output dtype as the input."""

import json
from pathlib import Path

import torch
import torch.nn as nn


class Model(nn.Module):
    """x [..., hidden] and gamma [hidden], float32, float16 or bfloat16; computed in float32, rounded once."""

    def __init__(self, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps

    def forward(self, x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
        x_fp32 = x.to(torch.float32)
        inv_rms = torch.rsqrt(torch.mean(x_fp32 * x_fp32, dim=-1, keepdim=True) + self.eps)
        return (x_fp32 * inv_rms * gamma.to(torch.float32)).to(x.dtype)


DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


def _make(info):
    low, high = info["range_values"]
    return (torch.rand(info["shape"], dtype=torch.float32) * (high - low) + low).to(DTYPES[info["dtype"]])


def get_input_groups():
    with (Path(__file__).resolve().parent / "head_rms_norm.json").open() as f:
        cases = [json.loads(line) for line in f if line.strip()]
    return [[_make(info) for info in case["inputs"]] for case in cases]


def get_init_inputs():
    return [1e-5]
