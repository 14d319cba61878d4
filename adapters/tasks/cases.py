"""Case files: what an operator is run on, read from JSON, checked, and made canonical.

A case is `{"inputs": [entry, ...]}`; a case file holds one case per line, or one JSON array of cases. An entry
describes one argument: a `tensor` (dtype, shape, optional range or value), a `tensor_list` (dtype, shapes), an `attr`
(value) or a `scalar` (dtype, value or range). The canonical form, and so the digest of a case set, does not depend on
spelling (`fp16` or `float16`), key order or fields that nobody uses. docs/tasks.md is the page for people.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from statemachine.candidate import digest_bytes
from statemachine.ports import UsageError

Form = Literal["lines", "array"]

#: Spellings of tensor dtypes, by the name torch has for them.
DTYPES: dict[str, str] = {
    "bool": "bool", "uint8": "uint8", "int8": "int8", "int16": "int16", "short": "int16", "int32": "int32",
    "int": "int32", "int64": "int64", "long": "int64", "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
    "float16": "float16", "fp16": "float16", "half": "float16", "bfloat16": "bfloat16", "bf16": "bfloat16",
    "float32": "float32", "fp32": "float32", "float": "float32", "float64": "float64", "fp64": "float64",
    "double": "float64", "complex64": "complex64", "complex128": "complex128",
}  # fmt: skip
_TYPES = ("tensor", "tensor_list", "attr", "scalar")


@dataclass(frozen=True)
class Case:
    """One case. `raw` is the JSON object as written (what model.py may read); `inputs` are the canonical entries."""

    raw: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...]

    def shown(self) -> dict[str, Any]:
        """What a worker may see: names, dtypes, shapes, attributes, ranges. The value of a tensor is replaced by a
        note that it is fixed."""
        return {"inputs": [_without_value(entry) for entry in self.inputs]}


@dataclass(frozen=True)
class CaseFile:
    """A parsed case file and the form it was written in, so that a part of it can be written in the same form."""

    form: Form
    cases: tuple[Case, ...]

    def one(self, case: Case) -> str:
        """The text of a case file that holds `case` alone."""
        return json.dumps([case.raw] if self.form == "array" else case.raw, ensure_ascii=False) + "\n"


def digest(cases: Sequence[Case]) -> str:
    """`sha256:` digest of a case set: canonical JSON of its canonical entries, in order."""
    return digest_bytes(orjson.dumps([list(case.inputs) for case in cases], option=orjson.OPT_SORT_KEYS))


def parse_file(path: Path) -> CaseFile:
    """Read and check a case file. Raises UsageError that names file, line and fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as UTF-8 text: {error}") from error
    form: Form = "array" if text.lstrip().startswith("[") else "lines"
    found = _parse_array(text, path) if form == "array" else _parse_lines(text, path)
    if not found:
        raise UsageError(f"{path}: holds no case; write one JSON object with `inputs` per line")
    return CaseFile(form, tuple(_case(raw, where) for where, raw in found))


def with_scalars(case: Case, seed: int) -> Case:
    """`case` with a value drawn from `seed` for each scalar (or attribute) that states only a range of values.

    Public full sets state scalars so, while the models that read them ask for a `value`.
    """
    source = random.Random(seed)
    drawn = {i: _draw(entry, source) for i, entry in enumerate(case.inputs) if _undrawn(entry)}
    if not drawn:
        return case
    raw = [{**entry, "value": drawn[i]} if i in drawn else entry for i, entry in enumerate(case.raw["inputs"])]
    inputs = tuple({**entry, "value": drawn[i]} if i in drawn else entry for i, entry in enumerate(case.inputs))
    return Case({**case.raw, "inputs": raw}, inputs)


def from_description(groups: Sequence[Sequence[Mapping[str, Any]]]) -> tuple[Case, ...]:
    """Cases read off the argument groups a model made itself (entries as `reference_main` describes them)."""
    return tuple(Case({}, tuple(_plain(entry) for entry in group)) for group in groups)


def disagreement(inputs: Sequence[Mapping[str, Any]], group: Sequence[Mapping[str, Any]]) -> str | None:
    """How the tensors a model made (`group`, as described by `reference_main`) contradict the case's entries `inputs`.

    Every (dtype, shape) that the case states must be there as often as stated; models may add tensors of their own and
    may reorder arguments or leave out optional ones. Returns None if they agree.
    """
    required = [t for entry in inputs if entry.get("required", True) for t in tensors(entry)]
    left = [t for entry in group for t in tensors(entry)]
    for tensor in required:
        if tensor in left:
            left.remove(tensor)
            continue
        made = ", ".join(f"{dtype}{list(shape)}" for dtype, shape in left) or "no further tensor"
        return f"the case asks for a tensor {tensor[0]}{list(tensor[1])}, model.py made {made}"
    return None


def tensors(entry: Mapping[str, Any]) -> list[tuple[str, tuple[int, ...]]]:
    """(dtype, shape) of every tensor an entry stands for."""
    if entry["type"] == "tensor" and entry.get("shape") is not None:
        return [(entry["dtype"], tuple(entry["shape"]))]
    if entry["type"] == "tensor_list":
        return list(zip(entry["dtypes"], map(tuple, entry["shapes"]), strict=True))
    if entry["type"] == "list":
        return [tensor for item in entry["items"] for tensor in tensors(item)]
    return []


# ---------------------------------------------------------------- drawing


def _undrawn(entry: Mapping[str, Any]) -> bool:
    return entry["type"] in ("scalar", "attr") and "value" not in entry and "range_values" in entry


def _draw(entry: Mapping[str, Any], source: random.Random) -> Any:
    """A plain value of the entry's dtype within its range; a range that is no interval of numbers is the value."""
    wanted, dtype = entry["range_values"], entry.get("dtype", "")
    if isinstance(wanted, Mapping):
        wanted = [source.gauss(*(source.uniform(*wanted.get(key, (0, 0))) for key in ("mean", "std")))]
    if not isinstance(wanted, list):
        return wanted
    if dtype == "bool":
        return source.random() < 0.5
    low, high = float(wanted[0]), float(wanted[-1])
    if low == high or not (math.isfinite(low) and math.isfinite(high)):
        return wanted[0]
    return source.randint(math.ceil(low), math.floor(high)) if "int" in dtype else source.uniform(low, high)


# ---------------------------------------------------------------- reading


def _parse_lines(text: str, path: Path) -> list[tuple[str, Any]]:
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append((f"{path}:{number}", json.loads(line)))
            except json.JSONDecodeError as error:
                raise UsageError(
                    f"{path}:{number}: not JSON: {error.msg} (column {error.colno}); each line is one case"
                ) from error
    return found


def _parse_array(text: str, path: Path) -> list[tuple[str, Any]]:
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: not JSON: {error.msg} (column {error.colno})") from error
    return [(f"{path}: case {index}", raw) for index, raw in enumerate(loaded)]


def _case(raw: Any, where: str) -> Case:
    if not isinstance(raw, dict) or not isinstance(raw.get("inputs"), list) or not raw["inputs"]:
        raise UsageError(f"{where}: a case is an object with a non-empty list `inputs`")
    return Case(raw, tuple(_entry(entry, i, where) for i, entry in enumerate(raw["inputs"])))


def _entry(raw: Any, position: int, where: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise UsageError(f"{where}: input {position} is not an object")
    name = str(raw.get("name", f"input{position}"))
    at = f"{where}: input {position} ({name})"
    kind = raw.get("type", "tensor" if "shape" in raw and "value" not in raw else "attr")
    if kind not in _TYPES:
        raise UsageError(f"{at}: unknown type {kind!r}; known: {', '.join(_TYPES)}")
    entry: dict[str, Any] = {"name": name, "type": kind}
    if raw.get("required") is False:
        entry["required"] = False
    if kind == "tensor":
        entry["dtype"] = _dtype(raw.get("dtype"), at)
        entry["shape"] = None if raw.get("shape") is None and "required" in entry else _shape(raw.get("shape"), at)
    elif kind == "tensor_list":
        entry["shapes"], entry["dtypes"] = _list_parts(raw, at)
    elif raw.get("dtype") is not None:
        entry["dtype"] = str(raw["dtype"])
    if kind == "scalar":
        entry["dtype"] = _dtype(raw.get("dtype"), at)
    if raw.get("range_values") is not None:
        entry["range_values"] = _plain(raw["range_values"])
    if "value" in raw:
        entry["value"] = _plain(raw["value"])
    elif kind in ("attr", "scalar") and "range_values" not in entry and "required" not in entry:
        raise UsageError(f"{at}: it needs a `value`" + (" or `range_values`" if kind == "scalar" else ""))
    return entry


def _list_parts(raw: Mapping[str, Any], at: str) -> tuple[list[list[int]], list[str]]:
    shapes = raw.get("shapes", raw.get("shape"))
    if not isinstance(shapes, list):
        raise UsageError(f"{at}: a tensor_list needs `shapes`, a list of shapes")
    given = raw.get("dtypes", raw.get("dtype"))
    dtypes = given if isinstance(given, list) else [given] * len(shapes)
    if len(dtypes) != len(shapes):
        raise UsageError(f"{at}: {len(dtypes)} dtypes for {len(shapes)} shapes")
    return [_shape(shape, at) for shape in shapes], [_dtype(dtype, at) for dtype in dtypes]


def _dtype(raw: Any, at: str) -> str:
    known = DTYPES.get(str(raw).removeprefix("torch.").lower())
    if known is None:
        raise UsageError(f"{at}: unknown dtype {raw!r}; known: {', '.join(sorted(set(DTYPES.values())))}")
    return known


def _shape(raw: Any, at: str) -> list[int]:
    if isinstance(raw, list) and all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in raw):
        return list(raw)
    raise UsageError(f"{at}: `shape` must be a list of integers >= 0, got {raw!r}")


def _plain(value: Any) -> Any:
    """JSON that every JSON library can write: non-finite floats and integers beyond 64 bits become strings."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if (isinstance(value, float) and not math.isfinite(value)) or (isinstance(value, int) and abs(value) >= 2**63):
        return str(value)
    return value


def _without_value(entry: Mapping[str, Any]) -> dict[str, Any]:
    if entry["type"] in ("tensor", "tensor_list") and "value" in entry:
        return {**{key: item for key, item in entry.items() if key != "value"}, "fixed": True}
    return dict(entry)
