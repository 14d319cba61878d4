"""Gradient of a weighted mean-square penalty over the last axis: d/dx mean(w * x * x) = (2 / cols) * x * w."""

import json
from pathlib import Path

import torch
import torch.nn as nn


class Model(nn.Module):
    """x and w have the same shape [..., cols] and dtype (float32 or float16); the result has the dtype of x."""

    def forward(self, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        scale = 2.0 / x.shape[-1]
        return (x.to(torch.float32) * scale * w.to(torch.float32)).to(x.dtype)


def _signed(info):
    """Random signs, magnitudes uniform in range_values: small and large inputs without values near zero."""
    low, high = info["range_values"]
    magnitude = torch.rand(info["shape"], dtype=torch.float32) * (high - low) + low
    sign = torch.randint(0, 2, info["shape"]).to(torch.float32) * 2.0 - 1.0
    dtype = {"float32": torch.float32, "float16": torch.float16}[info["dtype"]]
    return (magnitude * sign).to(dtype)


def get_input_groups():
    groups = []
    with (Path(__file__).resolve().parent / "weighted_l2_grad.json").open() as f:
        for line in f:
            if line.strip():
                x_info, w_info = json.loads(line)["inputs"]
                groups.append([_signed(x_info), _signed(w_info)])
    return groups


def get_init_inputs():
    return []
