"""A finding fails a candidate where its data reach an output, and warns where they stay in scratch memory.

One operator, `y = x + 1` over two cores with a scratch buffer, whose cores do something more at the marked place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from events.types import Configuration, SanitizerFinding
from statemachine.evaluate import merge_findings
from statemachine.findings import POLICIES, findings_policy
from tests.conftest import Opmend
from tests.tiny import BINDING, case, write_task

SCRATCH_BINDING = BINDING.replace("uint8_t *y, uint32_t count);", "uint8_t *y, uint8_t *scratch, uint32_t count);")
SCRATCH_BINDING = SCRATCH_BINDING.replace(
    "    plus_do(1,", "    at::Tensor scratch = at::empty({4096}, x.options());\n    plus_do(2,"
).replace("static_cast<uint8_t *>(y.data_ptr()), ", "YS, ")
SCRATCH_BINDING = SCRATCH_BINDING.replace(
    "YS", "static_cast<uint8_t *>(y.data_ptr()), static_cast<uint8_t *>(scratch.data_ptr())"
)

KERNEL = """
#include "kernel_operator.h"

using namespace AscendC;

constexpr uint32_t N = 128;  // of each core

extern "C" __global__ __aicore__ void plus_custom(GM_ADDR x, GM_ADDR y, GM_ADDR scratch, uint32_t count)
{
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer, other;
    GlobalTensor<float> xGm, yGm, sGm;
    xGm.SetGlobalBuffer((__gm__ float *)x, count);
    yGm.SetGlobalBuffer((__gm__ float *)y, count);
    sGm.SetGlobalBuffer((__gm__ float *)scratch, 4096);
    pipe.InitBuffer(buffer, 4096);
    pipe.InitBuffer(other, 4096);
    LocalTensor<float> tile = buffer.Get<float>(), more = other.Get<float>();
    const uint32_t core = GetBlockIdx(), mine = core * N;
    auto wait = [] { PipeBarrier<PIPE_ALL>(); };
    DataCopy(tile, xGm[mine], N);
    wait();
    Adds(tile, tile, 1.0f, N);
    wait();
    // BEFORE
    DataCopy(yGm[mine], tile, N);
    wait();
    // AFTER
}

extern "C" void plus_do(uint32_t blockDim, void *stream, uint8_t *x, uint8_t *y, uint8_t *scratch, uint32_t count)
{
    plus_custom<<<blockDim, nullptr, stream>>>(x, y, scratch, count);
}
"""
#: A tile of which the last 8 floats were never written goes to scratch and comes back.
ROUND_TRIP = """
    DataCopy(sGm[core * 1024], tile, N + 8);
    wait();
    DataCopy(more, sGm[core * 1024], N + 8);
    wait();
"""
BOTH_STORE_TO_SCRATCH = "DataCopy(sGm, tile, N);"
FIRST_STORES_WHERE_THE_SECOND_DOES = "if (core == 0) { DataCopy(yGm[N], tile, N); wait(); }"
SECOND_OUTPUT_THROUGH_SCRATCH = """
    if (core == 0) {
        DataCopy(more, xGm[N], N);
        wait();
        Adds(more, more, 1.0f, N);
        wait();
        DataCopy(sGm, more, N);
        wait();
    } else {
        DataCopy(tile, sGm, N);
        wait();
    }
"""
#: More warnings than the device keeps: every call is a place of its own.
WARNINGS = "\n".join(["DataCopy(more, xGm, 9);"] * 210) + "wait();"


def check(opmend: Opmend, folder: Path, before: str, after: str = "", *options: str) -> dict[str, Any]:
    kernel = KERNEL.replace("// BEFORE", before).replace("// AFTER", after)
    files = {"kernel/pybind11.cpp": SCRATCH_BINDING, "plus.json": case(256), "plus_all_case.json": None}
    report = opmend("check", write_task(folder, kernel=kernel, **files), "--json", "--seed", "3", *options).last
    assert report["built"], report["first_error"]
    return report


def found(report: dict[str, Any]) -> set[tuple[str, str, bool]]:
    return {(f["kind"], f["reaches_output"], f["blocks"]) for f in report["sanitizer"]}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        pytest.param(
            ROUND_TRIP + "DataCopy(tile, sGm[core * 1024], N); wait();", "", "ub-uninitialised", id="unwritten-padding"
        ),
        pytest.param("", "DataCopy(more, sGm[4096 - 64], 128);", "gm-out-of-bounds", id="reads-past-the-end"),
    ],
)
def test_data_that_stay_in_scratch_memory_warn(
    opmend: Opmend, tmp_path: Path, before: str, after: str, kind: str
) -> None:
    report = check(opmend, tmp_path / "plus", before, after)
    assert found(report) == {(kind, "no", False)}
    assert (report["blocking"], report["passed"]) == ([], True)


@pytest.mark.parametrize(
    ("before", "after", "kind", "reaches", "right"),
    [
        pytest.param(FIRST_STORES_WHERE_THE_SECOND_DOES, "", "gm-race", "unknown", True, id="both-store-to-the-output"),
        pytest.param(SECOND_OUTPUT_THROUGH_SCRATCH, "", "gm-race", "unknown", True, id="read-in-a-race-and-stored"),
        pytest.param("", BOTH_STORE_TO_SCRATCH, "gm-race", "unknown", True, id="two-cores-store-to-scratch"),
        pytest.param(
            "", WARNINGS + FIRST_STORES_WHERE_THE_SECOND_DOES, "gm-race", "unknown", True, id="race-after-200-warnings"
        ),
        pytest.param(
            ROUND_TRIP + "Adds(tile[N - 8], more[N], 0.0f, 8); wait();", "", "ub-uninitialised", "yes", False,
            id="unwritten-bytes-through-scratch",
        ),
        pytest.param(
            "", "DataCopy(sGm[4096 - 64], tile, 128);", "gm-out-of-bounds", "unknown", True, id="stores-past-the-end"
        ),
        pytest.param(
            "if (core == 0) { DataCopy(more, sGm, N); } else { DataCopy(sGm, tile, N); } wait();", "", "gm-race",
            "unknown", True, id="stored-after-another-core-read-it",
        ),
    ],
)  # fmt: skip
def test_data_that_reach_an_output_or_may_fail(
    opmend: Opmend, tmp_path: Path, before: str, after: str, kind: str, reaches: str, right: bool
) -> None:
    report = check(opmend, tmp_path / "plus", before, after)
    assert (kind, reaches, True) in found(report)
    assert kind in report["blocking"]
    assert not report["passed"]
    assert report["cases"][0]["passed"] == right


def test_strict_blocks_what_stays_in_scratch_and_none_blocks_nothing(opmend: Opmend, tmp_path: Path) -> None:
    strict = check(opmend, tmp_path / "plus", "", "DataCopy(more, sGm[4096 - 64], 128);", "--findings", "strict")
    assert (strict["findings_policy"], strict["blocking"], strict["passed"]) == (
        "strict/1",
        ["gm-out-of-bounds"],
        False,
    )
    none = check(opmend, tmp_path / "plus", FIRST_STORES_WHERE_THE_SECOND_DOES, "", "--findings", "none")
    assert (none["findings_policy"], none["blocking"], none["passed"]) == ("none/1", [], True)


def test_an_old_session_is_judged_by_the_kinds_it_recorded() -> None:
    old = Configuration(tolerance="cann-ecosystem/1", seed=1, blocking_findings=("gm-race",))
    kept = Configuration(tolerance="cann-ecosystem/1", seed=1, blocking_findings=("ub-uninitialised",))
    assert findings_policy(old).blocks(SanitizerFinding(kind="gm-race", message="m", reaches_output="no"))
    scratch = SanitizerFinding(kind="ub-uninitialised", message="m", reaches_output="no")
    assert findings_policy(kept).blocks(scratch) and not POLICIES["default"].blocks(scratch)


def test_cases_that_differ_count_as_the_worst() -> None:
    races = [SanitizerFinding(kind="gm-race", message="m", reaches_output=r) for r in ("no", "yes", "unknown")]
    assert [f.reaches_output for f in merge_findings(races)] == ["yes"]
