"""From evidence to a verdict: what taints, what stays open, what settles, and that unchecked things are named."""

from __future__ import annotations

import pytest

from events.types import CaseResult
from statemachine.integrity import dynamic as seen
from statemachine.integrity.judge import NOT_BUILT, judge
from statemachine.integrity.static import read_sources
from tests.statemachine.integrity.binding_corpus import GOOD, folder
from tests.statemachine.integrity.wrapper_corpus import CHEATS, HONEST, forward

STATIC = read_sources(HONEST["plain"], folder(GOOD), {})
GOOD_DYNAMIC = (seen.aten_evidence({"aten::empty.memory_format": 1}), seen.provenance_evidence(1.0))


def case(
    index: int = 0, *, shape: tuple[int, ...] = (4, 8), launches: tuple[str, ...] = ("op_custom",), ok: bool = True
) -> CaseResult:
    return CaseResult(
        index=index, passed=ok, dtype="float32", shape=shape, launches=launches, status="ok" if ok else "crash"
    )


def test_an_honest_candidate_that_launched_everywhere_is_clean() -> None:
    verdict, evidence, settled_by = judge(STATIC, GOOD_DYNAMIC, [case(0), case(1)])
    assert verdict == "clean"
    assert "launch" in settled_by
    assert any(e.check == "launch" and e.outcome == "passed" for e in evidence)


def test_checks_that_do_not_exist_yet_are_named_as_skipped() -> None:
    _, evidence, _ = judge(STATIC, (), [case()])
    skipped = {e.check: e.detail for e in evidence if e.outcome == "skipped"}
    assert set(NOT_BUILT) <= set(skipped)
    assert {"aten-spy", "write-provenance"} <= set(skipped)
    assert all(skipped.values())


def test_a_given_check_is_not_also_skipped() -> None:
    _, evidence, _ = judge(STATIC, GOOD_DYNAMIC, [case()])
    assert not [e for e in evidence if e.outcome == "skipped" and e.check in ("aten-spy", "write-provenance")]


@pytest.mark.parametrize("name", [n for n, (_, _, outcome) in CHEATS.items() if outcome == "failed"])
def test_a_failed_static_finding_taints_whatever_the_run_showed(name: str) -> None:
    static = read_sources(CHEATS[name][0], folder(GOOD), {})
    assert judge(static, GOOD_DYNAMIC, [case()])[0] == "tainted"


def test_a_silent_forward_taints_and_names_the_case() -> None:
    verdict, evidence, _ = judge(STATIC, GOOD_DYNAMIC, [case(0), case(7, launches=())])
    assert verdict == "tainted"
    assert any(e.check == "launch" and "case 7" in e.detail for e in evidence)


def test_only_an_empty_output_excuses_a_silent_forward() -> None:
    assert judge(STATIC, (), [case(0), case(1, shape=(0, 8), launches=())])[0] == "clean"
    assert judge(STATIC, (), [case(0, shape=(0, 8), launches=())])[0] == "undetermined"


def test_nothing_completed_is_undetermined() -> None:
    assert judge(STATIC, (), [])[0] == "undetermined"
    assert judge(STATIC, (), [case(ok=False, launches=())])[0] == "undetermined"


def test_a_kernel_of_another_name_is_not_the_candidates() -> None:
    assert judge(STATIC, GOOD_DYNAMIC, [case(launches=("aclnnSoftmax",))])[0] == "undetermined"


def test_a_template_kernel_is_recognised_by_its_bare_name() -> None:
    assert judge(STATIC, GOOD_DYNAMIC, [case(launches=("ns::op_custom<half>",))])[0] == "clean"


def test_a_flag_is_open_until_the_named_dynamic_check_passed() -> None:
    source = forward("return _ext.run(x, a + b)", signature="self, x, a, b")
    static = read_sources(source, folder(GOOD), {})
    assert judge(static, (), [case()])[0] == "undetermined"
    verdict, evidence, _ = judge(static, GOOD_DYNAMIC, [case()])
    assert verdict == "clean"
    assert any(e.check == "settled" and "aten-spy" in e.detail for e in evidence)


def test_a_flag_that_nothing_settles_keeps_the_verdict_open() -> None:
    static = read_sources(CHEATS["memo on self"][0], folder(GOOD), {})
    assert judge(static, GOOD_DYNAMIC, [case()])[0] == "undetermined"


def test_one_failed_observation_among_passed_ones_taints() -> None:
    dynamic = [seen.provenance_evidence(1.0), seen.provenance_evidence(0.0), seen.inputs_evidence(True)]
    assert judge(STATIC, dynamic, [case()])[0] == "tainted"


def test_a_partial_provenance_is_undetermined() -> None:
    partial = seen.provenance_evidence(0.5, uncovered=[(0, 64)])
    assert "[0, 64)" in partial.detail
    assert judge(STATIC, [partial], [case()])[0] == "undetermined"


@pytest.mark.parametrize(
    ("ops", "outcome"),
    [
        ({}, "passed"),
        (
            {"aten::empty.memory_format": 1, "aten._to_copy.default": 2, "view.default": 1, "constant_pad_nd": 1},
            "passed",
        ),
        ({"my_op::run": 3}, "passed"),
        ({"aten::softmax.int": 1}, "failed"),
        ({"aten::cat.default": 1}, "failed"),
        ({"aten::_local_scalar_dense.default": 1}, "failed"),
        ({"npu::npu_rms_norm": 1}, "failed"),
        ({"aten::add.Tensor@int": 4}, "flagged"),
        ({"aten::add.Tensor@int": 4, "aten::mul.Tensor": 1}, "failed"),
    ],
)
def test_operators_seen_in_forward(ops: dict[str, int], outcome: str) -> None:
    assert seen.aten_evidence(ops).outcome == outcome


def test_a_share_outside_zero_to_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="share"):
        seen.provenance_evidence(1.5)


def test_changed_inputs_and_aliases_fail() -> None:
    assert seen.inputs_evidence(False).outcome == "failed"
    assert seen.alias_evidence(True).outcome == "failed"


def test_an_output_the_kernel_did_not_store_taints_only_where_the_numbers_are_right() -> None:
    unstored = (seen.provenance_evidence(0.0), seen.inputs_evidence(False))
    right, wrong = seen.in_light_of(unstored, True), seen.in_light_of(unstored, False)
    assert [e.outcome for e in right] == ["failed", "failed"]
    assert [e.outcome for e in wrong] == ["flagged", "failed"], "changing an input is never excused"
    assert judge(STATIC, seen.in_light_of((seen.provenance_evidence(0.0),), False), [case()])[0] == "undetermined"
    assert judge(STATIC, (seen.provenance_evidence(0.0),), [case()])[0] == "tainted"
