"""Every example is a near-miss as intended: wrong exactly where its mistake explains it, right with the true fix."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from adapters.tasks import DirectTask
from tests.examples.conftest import LoadExample
from tests.examples.trial import EXAMPLES, Trial, Workshop, fixes_of, patched

Case = Mapping[str, Mapping[str, Any]]
ITEM_SIZE = {"float32": 4, "float16": 2, "bfloat16": 2}
LARGEST = {"float32": 3.4e38, "float16": 65504.0}


def partial_block(case: Case) -> bool:
    """The flat length is no multiple of 32 bytes: the last copy out loses its end."""
    return bool(math.prod(case["x"]["shape"]) * ITEM_SIZE[case["x"]["dtype"]] % 32 != 0)


def padded_negative_rows(case: Case) -> bool:
    """Rows are padded with zeros, and no element is above zero."""
    width = case["x"]["shape"][-1] * ITEM_SIZE[case["x"]["dtype"]]
    return width % 32 != 0 and bool(case["x"]["range_values"][1] < 0)


def product_overflows(case: Case) -> bool:
    """The product of the smallest magnitudes is beyond the dtype already."""
    return bool(case["x"]["range_values"][0] * case["w"]["range_values"][0] > LARGEST[case["x"]["dtype"]])


def beyond_16_bits(case: Case) -> bool:
    """Some tile starts at an element offset that does not fit into 16 bits."""
    return bool(math.prod(case["x"]["shape"]) > 1 << 16)


def rows_out_of_step(case: Case) -> bool:
    """More than one row, and a width that is no multiple of 64 elements."""
    shape = case["x"]["shape"]
    return bool(shape[-1] % 64 != 0 and math.prod(shape[:-1]) > 1)


def variance_near_eps(case: Case) -> bool:
    """Values so small that epsilon decides."""
    return bool(case["x"]["range_values"][1] < 0.1)


def several_tiles(case: Case) -> bool:
    """More sequence steps than one tile holds."""
    return bool(case["x"]["shape"][1] > 32)


@dataclass(frozen=True)
class Example:
    """What is known about an example: which cases fail, what the sanitizer says, how many compact cases pass."""

    name: str
    fails: Callable[[Case], bool]
    findings: frozenset[str]
    compact_passed: int


KNOWN = [
    Example("swish", partial_block, frozenset({"api-misuse"}), 4),
    Example("logits_shift", padded_negative_rows, frozenset(), 6),
    Example("weighted_l2_grad", product_overflows, frozenset(), 4),
    Example("swiglu", beyond_16_bits, frozenset(), 8),
    Example("head_rms_norm", lambda case: rows_out_of_step(case) or variance_near_eps(case), frozenset(), 4),
    Example("seq_cumsum", several_tiles, frozenset(), 4),
]
each_example = pytest.mark.parametrize("example", KNOWN, ids=[example.name for example in KNOWN])


def wrong_where(trial: Trial, fails: Callable[[Case], bool]) -> None:
    """Assert that exactly the cases for which `fails` holds failed, and that every case ran to its end."""
    for case, passed, reason in zip(trial.cases, trial.passed, trial.reasons, strict=True):
        assert passed is not fails(case), f"{dict(case)}: {reason or 'passed'}"
        assert not reason.startswith(("error", "crash", "timeout", "oom", "bad-output")), reason


def test_every_example_is_known_here() -> None:
    assert {path.parent.name for path in EXAMPLES.glob("*/model.py")} == {example.name for example in KNOWN}


@each_example
def test_near_miss_is_wrong_on_exactly_the_cases_its_mistake_explains(
    example: Example, workshop: Workshop, load_example: LoadExample
) -> None:
    task = load_example(example.name)
    trial = workshop.run(task, task.candidate)
    wrong_where(trial, example.fails)
    assert trial.findings == example.findings
    compact = len(task.descriptors("compact"))
    assert sum(trial.passed[:compact]) == example.compact_passed


@each_example
def test_true_fix_passes_every_case_without_a_finding(
    example: Example, workshop: Workshop, load_example: LoadExample
) -> None:
    task = load_example(example.name)
    trial = workshop.run(task, patched(task.candidate, fixes_of(example.name).values()))
    assert trial.count == len(trial.passed), [reason for reason in trial.reasons if reason]
    assert not trial.findings


@pytest.mark.parametrize(
    ("fix", "still_wrong"), [("row_stride", variance_near_eps), ("eps_under_root", rows_out_of_step)]
)
def test_either_of_two_fixes_makes_more_cases_pass(
    fix: str, still_wrong: Callable[[Case], bool], workshop: Workshop, load_example: LoadExample
) -> None:
    task = load_example("head_rms_norm")
    trial = workshop.run(task, patched(task.candidate, [fixes_of("head_rms_norm")[fix]]))
    wrong_where(trial, still_wrong)


@each_example
def test_case_sets_have_the_promised_form(example: Example, load_example: LoadExample) -> None:
    task = load_example(example.name)
    compact, full = list(task.descriptors("compact")), list(task.descriptors("full"))
    assert 4 <= len(compact) <= 10
    assert 20 <= len(full) <= 40
    assert full[: len(compact)] == compact
    assert not task.ref.warnings


@each_example
def test_sources_say_nothing_about_the_mistake(example: Example, load_example: LoadExample) -> None:
    words = ("bug", "fixme", "todo", "wrong", "near-miss", "mistake", "deliberate")
    task: DirectTask = load_example(example.name)
    for text in (*task.candidate.files.values(), task.wrapper_source, task.reference_source):
        assert not [word for word in words if word in text.lower()]
