"""Case files: what is accepted, what is refused and how it is said, and what makes two case sets the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapters.tasks.cases import Case, CaseFile, digest, disagreement, from_description, parse_file, with_scalars
from statemachine.ports import UsageError

TENSOR: dict[str, Any] = {"name": "x", "type": "tensor", "dtype": "float16", "shape": [2, 3]}


def parse(folder: Path, text: str) -> CaseFile:
    (folder / "op.json").write_text(text)
    return parse_file(folder / "op.json")


def one(folder: Path, *entries: dict[str, Any]) -> Case:
    return parse(folder, json.dumps({"inputs": list(entries)})).cases[0]


def test_lines_and_an_array_hold_the_same_cases(tmp_path: Path) -> None:
    raw = [{"inputs": [TENSOR]}, {"inputs": [{**TENSOR, "shape": []}]}]
    as_lines = parse(tmp_path, "\n\n".join(json.dumps(case) for case in raw))
    as_array = parse(tmp_path, json.dumps(raw, indent=1))
    assert (as_lines.form, as_array.form) == ("lines", "array")
    assert digest(as_lines.cases) == digest(as_array.cases)
    assert json.loads(as_lines.one(as_lines.cases[1])) == raw[1]
    assert json.loads(as_array.one(as_array.cases[1])) == [raw[1]]


def test_the_digest_ignores_spelling_and_unused_fields_but_not_content_or_order(tmp_path: Path) -> None:
    plain = one(tmp_path, TENSOR)
    spelled = one(tmp_path, {"shape": [2, 3], "dtype": "fp16", "type": "tensor", "name": "x", "align_32B": None})
    other = one(tmp_path, {**TENSOR, "shape": [3, 2]})
    assert digest([plain]) == digest([spelled])
    assert digest([plain]) != digest([other])
    assert digest([plain, other]) != digest([other, plain])


def test_the_value_of_a_tensor_counts_for_the_digest_and_is_not_shown(tmp_path: Path) -> None:
    first = one(tmp_path, {**TENSOR, "shape": [2], "value": [1, 2]})
    second = one(tmp_path, {**TENSOR, "shape": [2], "value": [1, 3]})
    assert digest([first]) != digest([second])
    assert first.shown() == {"inputs": [{**TENSOR, "shape": [2], "fixed": True}]}


def test_attributes_are_shown_and_non_finite_ones_as_strings(tmp_path: Path) -> None:
    case = parse(tmp_path, '{"inputs": [{"name": "a", "type": "attr", "dtype": "float", "value": -Infinity}]}').cases[0]
    assert case.shown() == {"inputs": [{"name": "a", "type": "attr", "dtype": "float", "value": "-inf"}]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"inputs": [}\n', r"op\.json:1: not JSON: .*column"),
        ('{"inputs": [{"value": 1}]}\n\n{"inputs"', r"op\.json:3: not JSON"),
        ('[{"inputs": [{"value": 1}]},\n oops]', r"op\.json:2: not JSON"),
        ("", r"op\.json: holds no case"),
        ("[]", r"op\.json: holds no case"),
        ("{}", r"op\.json:1: a case is an object with a non-empty list `inputs`"),
        ('{"inputs": []}', r"non-empty list `inputs`"),
        ("17", r"a case is an object"),
        ('{"inputs": [3]}', r"input 0 is not an object"),
        ('{"inputs": [{"name": "x", "type": "tensor", "dtype": "float12", "shape": []}]}',
         r"op\.json:1: input 0 \(x\): unknown dtype 'float12'; known: .*bfloat16"),
        ('{"inputs": [{"name": "x", "type": "tensor", "shape": []}]}', r"unknown dtype None"),
        ('{"inputs": [{"name": "x", "type": "tensor", "dtype": "int8", "shape": [-1]}]}', r"integers >= 0, got \[-1\]"),
        ('{"inputs": [{"name": "x", "type": "tensor", "dtype": "int8"}]}', r"integers >= 0, got None"),
        ('{"inputs": [{"name": "x", "type": "blob"}]}', r"unknown type 'blob'; known: tensor"),
        ('{"inputs": [{"name": "x", "type": "attr"}]}', r"needs a `value`"),
        ('{"inputs": [{"name": "x", "type": "tensor_list", "dtype": "int8"}]}', r"needs `shapes`"),
        ('{"inputs": [{"name": "x", "type": "tensor_list", "dtypes": ["int8"], "shapes": [[1], [2]]}]}', r"1 dtypes"),
    ],
)  # fmt: skip
def test_a_broken_case_file_is_refused_with_its_place(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse(tmp_path, text)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "op.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(UsageError, match="UTF-8"):
        parse_file(tmp_path / "op.json")


def test_an_absent_optional_tensor_asks_for_nothing(tmp_path: Path) -> None:
    case = one(tmp_path, TENSOR, {"name": "skip", "type": "tensor", "dtype": "fp16", "shape": None, "required": False})
    assert case.inputs[1]["shape"] is None
    assert disagreement(case.inputs, [dict(TENSOR)]) is None


def test_tensors_that_contradict_the_case_are_named(tmp_path: Path) -> None:
    case = one(tmp_path, TENSOR, {"name": "l", "type": "tensor_list", "dtype": "int8", "shapes": [[1], [1]]})
    made: list[dict[str, Any]] = [
        {**TENSOR},
        {"name": "l", "type": "tensor_list", "dtypes": ["int8", "int8"], "shapes": [[1], [1]]},
    ]
    assert disagreement(case.inputs, list(reversed(made))) is None
    assert disagreement(case.inputs, [*made, {**TENSOR, "shape": [9]}]) is None, "a model may add tensors of its own"
    short = disagreement(case.inputs, [made[0], {**made[1], "shapes": [[1], [2]]}])
    assert short == "the case asks for a tensor int8[1], model.py made int8[2]"
    wrong_dtype = disagreement(case.inputs, [{**TENSOR, "dtype": "float32"}])
    assert wrong_dtype == "the case asks for a tensor float16[2, 3], model.py made float32[2, 3]"


def test_scalars_with_a_range_get_a_value_from_the_seed(tmp_path: Path) -> None:
    case = one(
        tmp_path,
        {"name": "a", "type": "scalar", "dtype": "float32", "range_values": [-5, 5]},
        {"name": "n", "type": "scalar", "dtype": "int32", "range_values": [2, 4]},
        {"name": "b", "type": "scalar", "dtype": "bool", "range_values": [0, 1]},
        {"name": "c", "type": "scalar", "dtype": "float16", "range_values": "nan"},
        {"name": "f", "type": "attr", "dtype": "non_param", "range_values": "NZ"},
        {"name": "d", "type": "scalar", "dtype": "float32", "range_values": {"mean": [1, 2], "std": [0, 0]}},
        {"name": "given", "type": "scalar", "dtype": "float32", "value": 7},
    )
    drawn = with_scalars(case, 1)
    a, n, b, c, f, d, given = (entry["value"] for entry in drawn.inputs)
    assert -5 <= a <= 5 and n in (2, 3, 4) and isinstance(b, bool) and (c, f, given) == ("nan", "NZ", 7)
    assert 1 <= d <= 2
    assert [entry["value"] for entry in drawn.raw["inputs"]] == [a, n, b, c, f, d, given]
    assert with_scalars(case, 1) == drawn != with_scalars(case, 2)
    assert "value" not in case.inputs[0], "the case itself, and so its digest, stays as it was"


def test_described_groups_become_cases() -> None:
    (case,) = from_description([[dict(TENSOR), {"name": "eps", "type": "attr", "value": float("nan")}]])
    assert case.shown() == {"inputs": [TENSOR, {"name": "eps", "type": "attr", "value": "nan"}]}
