"""The `scale` task, small enough to load and run in a test, and a way to vary its files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

MODEL = """
import json, os
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = scale

    def forward(self, x, bias, mode):
        return x * self.scale + bias


def get_input_groups():
    path = os.path.join(os.path.dirname(__file__), "scale.json")
    with open(path) as lines:
        cases = [json.loads(line) for line in lines if line.strip()]
    groups = []
    for case in cases:
        x, bias, mode = case["inputs"]
        dtype = getattr(torch, x["dtype"])
        groups.append([torch.randn(x["shape"], dtype=dtype), float(bias["value"]), mode["value"]])
    return groups


def get_init_inputs():
    return [2.0]
"""


def case(shape: Sequence[int], dtype: str = "float32", mode: str = "plain", bias: float = 0.5) -> dict[str, Any]:
    """One case of the `scale` task."""
    return {
        "inputs": [
            {"name": "x", "type": "tensor", "required": True, "dtype": dtype, "shape": list(shape)},
            {"name": "bias", "type": "attr", "dtype": "float", "value": bias},
            {"name": "mode", "type": "attr", "dtype": "str", "value": mode},
        ]
    }


def lines(*cases: Mapping[str, Any]) -> str:
    """A case file, one case per line."""
    return "".join(json.dumps(each) + "\n" for each in cases)


MakeTask = Callable[..., Path]


def write_task(folder: Path, changes: Mapping[str, str | None]) -> Path:
    """The `scale` task in `folder`, with `changes` over its files (None leaves a file out)."""
    files: dict[str, str | None] = {
        "model.py": MODEL,
        "model_new_ascendc.py": "class ModelNew:\n    pass\n",
        "scale.json": lines(case([4, 8]), case([17])),
        "scale_all_case.json": lines(case([4, 8]), case([17]), case([3, 3, 3], "float16")),
        "kernel/scale.cpp": "// kernel\n",
        "kernel/pybind11.cpp": "// binding\n",
        **changes,
    }
    for name, text in files.items():
        if text is not None:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
    return folder
