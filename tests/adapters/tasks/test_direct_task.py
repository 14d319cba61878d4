"""Cases made by a real reference process: reproducible from the seed, independent of each other, honest on failure.

Importing torch takes seconds, so each kind of model has one task and one process for the whole module.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from adapters import tensorfile
from adapters.tasks import DirectTask, ReferenceLimits, ReferenceRunError, load_task
from events.types import CaseSet
from statemachine.ports import Array, CaseData, ReferenceFails, UsageError
from tests.adapters.tasks.scale_task import MODEL, case, lines, write_task

COMPACT = [case([4, 8]), case([17], "bfloat16"), case([0, 3]), case([], "float16"), case([4, 8])]
MODES = ("raise", "shape", "number", "exit", "two", "dtype", "pair", "draw", "kill", "sleep", "memory", "bytes")

# The reference of the shared task misbehaves where a case's `mode` says so.
TRICKY = MODEL.replace(
    "        return x * self.scale + bias\n",
    """
        print("noise on stdout")
        if mode == "raise":
            raise ValueError("the reference's own words")
        if mode == "number":
            return (x, 3)
        if mode == "memory":
            return torch.ones(1 << 50)
        if mode == "bytes":
            return x + len(bytearray(1 << 50))
        if mode == "exit":
            raise SystemExit(1)
        if mode == "pair":
            return x, [x + 1, x.to(torch.int8)]
        if mode == "draw":
            return torch.rand(4)
        if mode == "kill":
            os.kill(os.getpid(), 9)
        if mode == "sleep":
            while True:
                pass
        x.mul_(self.scale)
        return x + bias
""",
).replace(
    "    return groups\n",
    """
        if mode["value"] == "shape":
            groups[-1][0] = groups[-1][0][1:]
        if mode["value"] == "dtype":
            groups[-1][0] = groups[-1][0].double()
        if mode["value"] == "two":
            groups.append(groups[-1])
    return groups
""",
)

OWN_CASES = """
import random
import numpy
import torch
from torch import nn
from helper import OFFSET


class Model(nn.Module):
    def __init__(self, offset, gain=3.0):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(1) * gain)
        self.offset = offset

    def forward(self, x, rows=2):
        return x[:rows] * 0 + self.offset


def get_init_inputs():
    return {"offset": OFFSET}


def get_input_groups():
    fixed = torch.Generator().manual_seed(5)
    return [
        [torch.rand(8, 8, generator=fixed), 4],
        [torch.rand(2, 3) + random.random() + numpy.random.rand(), 1],
        [[torch.zeros(2), torch.ones(3).half()]],
    ]
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tasks")


@pytest.fixture(scope="module")
def scale(root: Path) -> Iterator[DirectTask]:
    full = lines(*COMPACT, *(case([4, 8], mode=mode) for mode in MODES))
    changes = {"model.py": TRICKY, "scale.json": lines(*COMPACT), "scale_all_case.json": full}
    task = load_task(write_task(root / "scale", changes), cache=root / "cache")
    yield task
    task.close()


@pytest.fixture(scope="module")
def own(root: Path) -> Iterator[DirectTask]:
    changes = {"model.py": OWN_CASES, "helper.py": "OFFSET = 1.5\n", "scale.json": None, "scale_all_case.json": None}
    task = load_task(write_task(root / "own", changes), cache=root / "cache")
    yield task
    task.close()


def failing(task: DirectTask, mode: str) -> str:
    with pytest.raises(ReferenceRunError) as caught:
        list(task.cases("full", 1, [len(COMPACT) + MODES.index(mode)]))
    return str(caught.value)


def first_input(made: CaseData) -> Array:
    value = tensorfile.load(made.inputs, max_bytes=1 << 30)[0]
    assert isinstance(value, np.ndarray)
    return value


def one(task: DirectTask, index: int, seed: int = 1, which: CaseSet = "full") -> CaseData:
    return next(task.cases(which, seed, [index]))


def test_each_case_has_its_inputs_and_expected_outputs(scale: DirectTask) -> None:
    made = list(scale.cases("compact", 1))
    assert [each.index for each in made] == [0, 1, 2, 3, 4]
    x, bias, mode = tensorfile.load(made[0].inputs, max_bytes=1 << 20)
    assert isinstance(x, np.ndarray) and x.shape == (4, 8) and x.dtype == np.float32
    assert (bias, mode) == (0.5, "plain")
    assert np.array_equal(made[0].expected[0], x * np.float32(2) + np.float32(0.5)), "inputs are those before forward"
    assert [each.expected[0].dtype for each in made[1:4]] == [ml_dtypes.bfloat16, np.float32, np.float16]
    assert [each.expected[0].shape for each in made[1:4]] == [(17,), (0, 3), ()]
    assert made[0].descriptor == scale.descriptors("compact")[0]


def test_seed_set_and_index_each_give_other_values_of_the_same_description(scale: DirectTask) -> None:
    values = [
        first_input(next(scale.cases("compact", 1, [0]))),
        first_input(next(scale.cases("compact", 2, [0]))),
        first_input(next(scale.cases("full", 1, [0]))),
        first_input(next(scale.cases("compact", 1, [4]))),
    ]
    assert len({value.tobytes() for value in values}) == 4
    assert {value.shape for value in values} == {(4, 8)}


def test_made_cases_come_from_the_cache_and_a_lost_one_is_made_again_alone_and_the_same(
    scale: DirectTask, root: Path
) -> None:
    made = list(scale.cases("compact", 1))[4]
    before = made.inputs.read_bytes()
    scale.close()
    assert one(scale, 0, which="compact").expected and made.inputs.read_bytes() == before
    assert not list((root / "cache" / "work").iterdir()), "no process, no working copy"
    made.inputs.unlink()
    again = one(scale, 4, which="compact")
    assert again.inputs == made.inputs and again.inputs.read_bytes() == before
    assert np.array_equal(again.expected[0], made.expected[0])


def test_inputs_lie_apart_from_expected_outputs_under_a_name_that_tells_nothing(scale: DirectTask, root: Path) -> None:
    made = one(scale, 0)
    assert made.inputs.parent == (root / "cache" / "inputs").resolve()
    assert not {path.name for path in (root / "cache" / "expected").iterdir()} & {made.inputs.name}
    assert len(made.inputs.stem) == 64


def test_the_users_task_is_never_written_to(scale: DirectTask) -> None:
    list(scale.cases("compact", 3))
    files = sorted(str(path.relative_to(scale.directory)) for path in scale.directory.rglob("*") if path.is_file())
    assert files == [
        "kernel/pybind11.cpp", "kernel/scale.cpp", "model.py", "model_new_ascendc.py", "scale.json",
        "scale_all_case.json",
    ]  # fmt: skip
    assert (scale.directory / "scale.json").read_text() == lines(*COMPACT)


@pytest.mark.parametrize(("mode", "excludes"), [("raise", True), ("memory", False), ("bytes", False)])
def test_a_reference_out_of_memory_is_broken_and_leaves_no_case_out(
    scale: DirectTask, mode: str, excludes: bool
) -> None:
    with pytest.raises(ReferenceRunError) as caught:
        one(scale, len(COMPACT) + MODES.index(mode))
    assert isinstance(caught.value, ReferenceFails) is excludes


@pytest.mark.parametrize(
    ("mode", "parts"),
    [
        ("raise", ("full case 5 of scale", "Model.forward() at model.py:", "ValueError: the reference's own words")),
        ("shape", ("full case 6 of scale", "asks for a tensor float32[4, 8], model.py made float32[3, 8]")),
        ("dtype", ("asks for a tensor float32[4, 8], model.py made float64[4, 8]",)),
        ("number", ("reference's output[1] is not a tensor but int",)),
        ("exit", ("Model.forward()", "SystemExit")),
        ("two", ("made 2 groups from a case file with one case",)),
    ],
)
def test_a_reference_that_fails_is_shown_with_case_and_place(
    scale: DirectTask, mode: str, parts: tuple[str, ...]
) -> None:
    message = failing(scale, mode)
    for part in parts:
        assert part in message
    assert one(scale, 1).expected, "the next case is served"


def test_a_failed_case_is_asked_again_and_not_taken_from_the_cache(scale: DirectTask) -> None:
    assert failing(scale, "shape") == failing(scale, "shape")


def test_nested_outputs_are_flattened_in_order(scale: DirectTask) -> None:
    made = one(scale, len(COMPACT) + MODES.index("pair"))
    assert [array.dtype.name for array in made.expected] == ["float32", "float32", "int8"]


def test_a_reference_that_draws_numbers_draws_the_same_ones_for_the_same_seed(scale: DirectTask, root: Path) -> None:
    index = len(COMPACT) + MODES.index("draw")
    first = one(scale, index).expected[0]
    for path in (root / "cache" / "expected").iterdir():
        path.unlink()
    assert np.array_equal(one(scale, index).expected[0], first)


def test_a_reference_whose_process_dies_or_hangs_is_a_clear_error(scale: DirectTask, root: Path) -> None:
    assert "process broke on full case 13 of scale: it was killed by signal 9" in failing(scale, "kill")
    impatient = load_task(scale.directory, cache=root / "cache", limits=ReferenceLimits(case_seconds=0.3))
    next(impatient.cases("full", 77, [0]))
    assert "it took more than 0.3 s" in failing(impatient, "sleep")
    impatient.close()


def test_constructor_arguments_come_from_the_task(scale: DirectTask, own: DirectTask) -> None:
    assert tensorfile.load(scale.init_inputs(1), max_bytes=1 << 20) == [2.0]
    assert tensorfile.load(own.init_inputs(1), max_bytes=1 << 20) == [1.5, 3.0]


def test_a_model_that_lists_its_own_cases_is_described_by_them(own: DirectTask) -> None:
    assert own.ref.compact.count == 3 and own.ref.coverage_equivalent
    assert [case["inputs"] for case in own.descriptors("compact")] == [
        [
            {"name": "x", "type": "tensor", "dtype": "float32", "shape": [8, 8]},
            {"name": "rows", "type": "attr", "dtype": "int", "value": 4},
        ],
        [
            {"name": "x", "type": "tensor", "dtype": "float32", "shape": [2, 3]},
            {"name": "rows", "type": "attr", "dtype": "int", "value": 1},
        ],
        [{"name": "x", "type": "tensor_list", "dtypes": ["float32", "float16"], "shapes": [[2], [3]]}],
    ]


def test_its_groups_follow_the_seed_as_far_as_they_use_the_global_generators(own: DirectTask) -> None:
    one_, two = (next(own.cases("compact", seed, [1])) for seed in (1, 2))
    assert not np.array_equal(first_input(one_), first_input(two))
    assert one_.expected[0].shape == (1, 3)


def test_a_poor_test_is_warned_about(own: DirectTask, scale: DirectTask) -> None:
    fixed, parameters = own.health(1)
    assert "the inputs do not change with the seed" in fixed
    assert "1 parameter tensors" in parameters
    assert scale.health(1) == ()


def test_inputs_are_generated_from_the_case_when_the_model_makes_none(root: Path) -> None:
    model = "from torch import nn\nclass Model(nn.Module):\n    def forward(self, x, bias, mode): return x * 0 + bias\n"
    ints = {"name": "x", "dtype": "int32", "shape": [30], "range_values": [5, 6]}
    ones = {"inputs": [ints, *case([1])["inputs"][1:]]}
    changes = {"model.py": model, "scale.json": lines(case([40], "float16"), ones), "scale_all_case.json": None}
    task = load_task(write_task(root / "entries", changes), cache=root / "cache")
    made = list(task.cases("compact", 1))
    assert first_input(made[0]).dtype == np.float16 and 0.3 < float(np.std(first_input(made[0]).astype(float))) < 2
    assert set(first_input(made[1]).tolist()) == {5, 6}
    assert np.array_equal(made[0].expected[0], np.full(40, 0.5, np.float16))
    assert "(nearly) the same for different inputs" in task.health(1)[0]
    task.close()


def test_a_model_may_read_its_cases_at_import_from_an_array_called_after_itself(root: Path) -> None:
    model = MODEL.replace('"scale.json")', "os.path.splitext(os.path.basename(__file__))[0] + '.json')")
    model = model.replace("[json.loads(line) for line in lines if line.strip()]", "json.load(lines)")
    model += "\nGROUPS = get_input_groups()\ndef get_input_groups():\n    return GROUPS\n"
    changes = {"model.py": model, "scale.json": json.dumps(COMPACT), "scale_all_case.json": None}
    task = load_task(write_task(root / "array", changes), cache=root / "cache")
    assert [made.expected[0].shape for made in task.cases("compact", 1, [4, 1])] == [(4, 8), (17,)]
    task.close()


def test_get_inputs_alone_is_one_case(root: Path) -> None:
    model = (
        OWN_CASES[: OWN_CASES.index("def get_input_groups")] + "def get_inputs():\n    return [torch.rand(3, 2), 1]\n"
    )
    changes = {"model.py": model, "helper.py": "OFFSET = 1.5\n", "scale.json": None, "scale_all_case.json": None}
    task = load_task(write_task(root / "single", changes), cache=root / "cache")
    assert [made.expected[0].tolist() for made in task.cases("full", 1)] == [[[1.5, 1.5]]]
    task.close()


def test_own_groups_that_do_not_match_the_case_file_are_refused(root: Path) -> None:
    changes = {"model.py": OWN_CASES, "helper.py": "OFFSET = 1.5\n", "scale.json": lines(case([8, 8]), case([2, 3]))}
    task = load_task(write_task(root / "mismatch", {**changes, "scale_all_case.json": None}), cache=root / "cache")
    with pytest.raises(UsageError, match=r"made 3 groups without reading the case file, which lists 2 cases"):
        list(task.cases("compact", 1))
    task.close()
