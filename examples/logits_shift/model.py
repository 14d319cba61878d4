"""Row shift used before a softmax: y = x - max(x, last axis), output dtype as the input."""

import json
from pathlib import Path

import torch
import torch.nn as nn


class Model(nn.Module):
    """x [..., cols] float32 or float16; every row is shifted so that its largest element becomes zero."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x - torch.amax(x, dim=-1, keepdim=True)


DTYPES = {"float32": torch.float32, "float16": torch.float16}


def _make_logits(info):
    low, high = info["range_values"]
    values = torch.rand(info["shape"], dtype=torch.float32) * (high - low) + low
    return values.to(DTYPES[info["dtype"]])


def get_input_groups():
    lines = (Path(__file__).resolve().parent / "logits_shift.json").read_text().splitlines()
    cases = [json.loads(line) for line in lines if line.strip()]
    return [[_make_logits(case["inputs"][0])] for case in cases]


def get_init_inputs():
    return []
