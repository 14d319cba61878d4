"""References that call torch_npu: computed from the vendor's formula where there is one, refused by name otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from adapters import tensorfile
from adapters.tasks import load_task
from adapters.tasks.npu_standin import npu_dynamic_quant
from adapters.tensorfile import arrays_of
from statemachine.ports import UsageError
from tests.adapters.tasks.scale_task import MODEL, MakeTask, case, lines

CALLS = MODEL.replace("import torch\n", "import torch\nimport torch_npu\n", 1)


def test_rows_are_quantised_by_their_largest_magnitude_half_to_even() -> None:
    x = torch.tensor([[127.0, -63.5, 0.5, 1.5], [0.0, 0.0, 0.0, 0.0], [2.0, -4.0, 1.0, 0.0]], dtype=torch.float16)
    y, scale = npu_dynamic_quant(x)
    assert y.dtype == torch.int8 and scale.dtype == torch.float32
    assert scale.tolist() == [1.0, 0.0, pytest.approx(4 / 127)]
    assert y.tolist() == [[127, -64, 0, 2], [0, 0, 0, 0], [64, -127, 32, 0]]


def test_smooth_scales_multiply_the_columns_first() -> None:
    x = torch.tensor([[1.0, 2.0]], dtype=torch.bfloat16)
    y, scale = npu_dynamic_quant(x, smooth_scales=torch.tensor([2.0, 0.5], dtype=torch.bfloat16))
    assert (y.tolist(), scale.tolist()) == ([[127, 64]], [pytest.approx(2 / 127)])


@pytest.mark.parametrize(
    ("x", "options", "what"),
    [
        (torch.ones(2, 2, dtype=torch.float16), {"dst_type": torch.quint4x2}, "dst_type"),
        (torch.ones(2, 2, dtype=torch.float16), {"group_index": torch.tensor([2])}, "group_index"),
        (torch.ones(2, 2), {}, "float32"),
        (torch.ones(4, dtype=torch.float16), {}, "2 dimensions"),
    ],
)
def test_what_the_formula_does_not_cover_is_refused(
    x: torch.Tensor, options: dict[str, torch.Tensor], what: str
) -> None:
    with pytest.raises(ValueError, match=what):
        npu_dynamic_quant(x, **options)


def test_a_reference_may_call_it_and_loading_says_so(make_task: MakeTask, tmp_path: Path) -> None:
    model = CALLS.replace("return x * self.scale + bias", "return torch_npu.npu_dynamic_quant(x)[1]")
    small = lines(case([4, 8], "float16"))
    task = load_task(make_task(**{"model.py": model, "scale.json": small, "scale_all_case.json": None}), cache=tmp_path)
    try:
        (made,) = task.cases("compact", 7, [0])
        x = arrays_of(tensorfile.load(made.inputs, max_bytes=1 << 20))[0].astype("float32")
        assert made.expected[0] == pytest.approx(abs(x).max(axis=1) / 127)
        assert [w for w in task.health(7) if "torch_npu.npu_dynamic_quant" in w and "not compared with an NPU" in w]
    finally:
        task.close()


def test_a_function_without_a_formula_is_named(make_task: MakeTask, tmp_path: Path) -> None:
    model = CALLS.replace("return x * self.scale + bias", "return torch_npu.npu_rotary_mul(x, x, x)")
    task = load_task(make_task(**{"model.py": model}), cache=tmp_path)
    try:
        with pytest.raises(UsageError, match="npu_rotary_mul has no stand-in on a CPU"):
            list(task.cases("compact", 7, [0]))
    finally:
        task.close()
