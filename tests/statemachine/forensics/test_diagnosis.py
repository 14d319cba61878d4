"""Diagnosis: passing neighbours tell the fault, the brief names three failing cases at most and no value."""

from __future__ import annotations

from typing import Any

import pytest

from events.types import CaseResult, Feature, SanitizerFinding
from statemachine.forensics import Diagnosis, brief_text, diagnose
from statemachine.forensics.diagnosis import shown_failures
from statemachine.forensics.vocabulary import finding_features


def case(index: int, shape: tuple[int, ...], ok: bool, dtype: str = "float32", **extra: Any) -> CaseResult:
    return CaseResult(index=index, passed=ok, dtype=dtype, shape=shape, match_ratio=1.0 if ok else 0.5, **extra)


def names(diagnosis: Diagnosis) -> dict[str, Feature]:
    return {feature.name: feature for feature in diagnosis.features}


def test_failing_exactly_when_unaligned_is_seen_per_dtype() -> None:
    shapes = [
        (4, 8, "float32"),
        (4, 12, "float32"),
        (4, 16, "float16"),
        (4, 8, "float16"),
        (2, 40, "float32"),
        (2, 7, "float32"),
    ]
    sizes = {"float32": 4, "float16": 2}
    cases = [case(i, (r, c), c * sizes[d] % 32 == 0, d) for i, (r, c, d) in enumerate(shapes)]
    found = names(diagnose(cases))
    assert found["fails-unaligned"].strength == 1.0
    assert "fails-aligned" not in found


def test_failing_exactly_when_aligned_is_the_opposite() -> None:
    cases = [case(i, (n,), n % 8 != 0) for i, n in enumerate((8, 9, 16, 17, 64, 65, 128, 131))]
    found = names(diagnose(cases))
    assert found["fails-aligned"].strength == 1.0
    assert "fails-unaligned" not in found


def test_a_modulus_above_the_block_is_found() -> None:
    cases = [case(i, (3, n), n % 64 == 0) for i, n in enumerate((64, 96, 128, 192, 200, 256, 72))]
    assert names(diagnose(cases))["modulo-fails"].facts["modulus"] == 64


def test_a_size_bound_is_bracketed_and_named() -> None:
    cases = [case(i, (n,), n < 65536) for i, n in enumerate((64, 1024, 40000, 65536, 70000, 131072))]
    found = names(diagnose(cases))["size-threshold"]
    assert found.facts["low"] == 40000
    assert found.facts["high"] == 65536
    assert found.facts["crosses_65536"] == 1


def test_overlapping_sizes_are_no_bound() -> None:
    cases = [case(i, (n,), i % 2 == 0) for i, n in enumerate((8, 16, 32, 64, 128, 256))]
    found = names(diagnose(cases))
    assert "size-threshold" not in found
    assert "fails-small" not in found


def test_single_rows_that_pass_are_told_from_several_that_fail() -> None:
    cases = [case(0, (1, 24), True), case(1, (1, 40), True), case(2, (2, 24), False), case(3, (5, 40), False)]
    assert "multi-row-fails" in names(diagnose(cases))


def test_dtypes_that_never_pass_are_contrasted() -> None:
    cases = [case(i, (8 * (i + 1),), dtype == "float32", dtype) for i, dtype in enumerate(["float32", "float16"] * 3)]
    assert names(diagnose(cases))["dtype-contrast"].facts["narrow_fails"] == 1


def test_the_geometry_of_the_input_counts_for_a_reduction() -> None:
    def reduction(index: int, cols: int) -> CaseResult:
        descriptor = {"inputs": [{"name": "x", "type": "tensor", "dtype": "float32", "shape": [16, cols]}]}
        return case(index, (16,), cols % 8 == 0, descriptor=descriptor)

    found = names(diagnose([reduction(i, n) for i, n in enumerate((8, 9, 24, 30, 64, 65))]))
    assert "of the input" in found["fails-unaligned"].detail


def test_an_attribute_that_decides_is_named() -> None:
    def ranged(index: int, value: int) -> CaseResult:
        descriptor = {"inputs": [{"name": "spread", "type": "attr", "value": value}]}
        return case(index, (64,), value < 10, descriptor=descriptor)

    found = names(diagnose([ranged(i, v) for i, v in enumerate((1, 2, 1, 50, 60))]))
    assert "spread" in found["attribute-contrast"].detail


def test_growth_with_length_is_measured() -> None:
    cases = [case(i, (4, n), n < 128, mere=1e-4 * n) for i, n in enumerate((16, 64, 256, 1024, 4096))]
    assert names(diagnose(cases))["length-trend"].facts["slope"] == pytest.approx(1.0, abs=0.01)


def test_case_features_are_averaged_over_failing_cases() -> None:
    tail = Feature(name="tail-only", strength=1.0, facts={"tail": 3})
    cases = [case(0, (9,), False, features=(tail,)), case(1, (17,), False), case(2, (8,), True)]
    found = names(diagnose(cases))["tail-only"]
    assert found.strength == 0.5
    assert found.facts["support"] == 0.5


def test_findings_and_statuses_become_features_and_mechanisms() -> None:
    finding = SanitizerFinding(
        kind="pipe-hazard", api="DataCopy", file="k.h", line=3, message="read before written", count=4
    )
    diagnosis = diagnose([case(0, (9,), False, status="timeout")], [finding])
    found = names(diagnosis)
    assert found["finding:pipe-hazard"].facts["count"] == 4
    assert found["finding:pipe-hazard:DataCopy"].facts["count"] == 4
    assert found["status:timeout"].strength == 1.0
    assert diagnosis.mechanisms[0].name == "a pipeline does not wait for another"


def test_what_the_evidence_excludes_is_said() -> None:
    cases = [
        case(i, (n,), i % 2 == 0, d)
        for i, (n, d) in enumerate([(16, "half"), (32, "float32"), (48, "half"), (64, "half")])
    ]
    text = " ".join(diagnose(cases).ruled_out)
    assert "not one element type: float32, half" in text
    assert "not alignment alone" in text


def test_the_brief_shows_three_failing_cases_and_aggregates_only() -> None:
    cases = [case(i, (100 + i,), i < 4) for i in range(20)]
    diagnosis = diagnose(cases)
    text = brief_text(diagnosis, cases)
    assert len(shown_failures(cases)) == 3
    assert sum(f"[{100 + i}]" in text for i in range(20)) == 3
    assert "16 fail" in text


def test_diagnosis_is_deterministic_and_independent_of_nothing_else() -> None:
    cases = [case(i, (n,), n % 8 == 0) for i, n in enumerate((8, 9, 16, 17))]
    assert diagnose(cases) == diagnose(list(cases))


def test_a_right_candidate_without_findings_has_nothing_to_say() -> None:
    diagnosis = diagnose([case(0, (8,), True)])
    assert diagnosis == Diagnosis((), (), ())
    assert "0 fail" in brief_text(diagnosis, [case(0, (8,), True)])


def test_a_filler_that_was_used_is_evidence_for_what_unset_bytes_are_evidence_for() -> None:
    assert finding_features("ub-filler", "DataCopyPad") == [
        "finding:ub-filler",
        "finding:ub-filler:DataCopyPad",
        "finding:ub-uninitialised",
        "finding:ub-uninitialised:DataCopyPad",
    ]
    assert finding_features("deadlock", "") == ["finding:deadlock"]
