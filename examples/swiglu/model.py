"""SwiGLU: the last axis holds gate and value halves, y = silu(gate) * value, output dtype as the input."""

import json
from pathlib import Path

import torch
import torch.nn as nn

TORCH_DTYPE = {"float32": torch.float32, "float16": torch.float16}


class Model(nn.Module):
    """x [..., 2 * hidden] float32 or float16 -> [..., hidden]; computed in float32, rounded once."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate, value = x.to(torch.float32).chunk(2, dim=-1)
        return (nn.functional.silu(gate) * value).to(x.dtype)


def get_input_groups():
    with (Path(__file__).resolve().parent / "swiglu.json").open() as f:
        infos = [json.loads(line)["inputs"][0] for line in f if line.strip()]
    return [[torch.randn(info["shape"], dtype=torch.float32).to(TORCH_DTYPE[info["dtype"]])] for info in infos]


def get_init_inputs():
    return []
