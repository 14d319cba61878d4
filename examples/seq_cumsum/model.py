"""Running sum along the sequence axis: y[b, s, d] = sum of x[b, 0..s, d], output dtype as the input."""

import json
from pathlib import Path

import torch
import torch.nn as nn


class Model(nn.Module):
    """x [batch, seq, dim] float32 or float16; summed in float32, rounded once."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cumsum(x.to(torch.float32), dim=1).to(x.dtype)


def _positive(info):
    dtype = {"float32": torch.float32, "float16": torch.float16}[info["dtype"]]
    low, high = info["range_values"]
    return (torch.rand(info["shape"], dtype=torch.float32) * (high - low) + low).to(dtype)


def get_input_groups():
    with (Path(__file__).resolve().parent / "seq_cumsum.json").open() as f:
        return [[_positive(info) for info in json.loads(line)["inputs"]] for line in f if line.strip()]


def get_init_inputs():
    return []
