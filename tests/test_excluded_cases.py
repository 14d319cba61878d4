"""A case that the reference itself cannot do is left out with its reason: no pass, and no fault of the candidate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from events import types as t
from statemachine.scoring import coverage, score, tally
from statemachine.state import IllegalTransition, fold
from tests.conftest import Opmend
from tests.statemachine.streams import compact, compiled, full, opened, timed
from tests.tiny import ALIGNED_ONLY, KERNEL, MODEL, write_task

CHOOSY = MODEL.replace(
    "return x + 1.0",
    """if x.numel() in (33, 7):
            raise NotImplementedError("no odd sizes here")
        return x + 1.0""",
)


def _excluding(event: t.CompactEvaluated | t.FullEvaluated, *indices: int, passed: bool) -> Any:
    cases = tuple(
        c.model_copy(update={"status": "excluded", "passed": False, "reason": "the reference fails"})
        if c.index in indices
        else c
        for c in event.cases
    )
    return event.model_copy(update={"cases": cases, "passed": passed})


def test_a_near_miss_is_repaired_on_the_cases_that_are_left(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY), **{"model.py": CHOOSY})
    done = opmend("repair", task, "--json", "--seed", "5")
    assert (done.code, done.last["outcome"]) == (0, "accepted"), done.err
    told = opmend("replay", "last", "--explain").out
    assert "all 6 cases of the full set (2 cases excluded: the reference fails on full case 3 of plus" in told
    assert "NotImplementedError: no odd sizes here" in told
    assert opmend("verify").code == 0

    checked = opmend("check", task, "--json", "--seed", "5").last
    assert checked["compact"] == {"passed": 3, "total": 3, "excluded": 1}
    assert [c["index"] for c in checked["cases"] if c["set"] == "full" and c["status"] == "excluded"] == [3, 4]


def test_a_set_of_which_no_case_is_left_is_a_broken_task(opmend: Opmend, tmp_path: Path) -> None:
    none_left = MODEL.replace("return x + 1.0", 'raise NotImplementedError("not on a CPU")')
    done = opmend("check", write_task(tmp_path / "plus", **{"model.py": none_left}))
    assert done.code == 2
    assert "no compact case is left to judge by" in done.err
    assert "not on a CPU" in done.err


def test_a_set_of_which_more_than_half_is_left_out_is_a_broken_task(opmend: Opmend, tmp_path: Path) -> None:
    few_left = MODEL.replace(
        "return x + 1.0",
        """if x.numel() != 33:
            raise NotImplementedError("only 33 here")
        return x + 1.0""",
    )
    task = write_task(tmp_path / "plus", **{"model.py": few_left})
    for command in ("check", "repair"):
        done = opmend(command, task, "--seed", "5")
        assert done.code == 2, done.err
        assert "the reference fails on 3 of 4 compact cases, more than the share of 0.5" in done.err
        assert "NotImplementedError: only 33 here" in done.err


def test_excluded_cases_count_neither_for_nor_against() -> None:
    few, all_of = full(0, 1.0, 1.0, 0.5, 0.5), full(0, 1.0)
    left = _excluding(few, 2, 3, passed=True)
    assert coverage(left) == coverage(all_of) == 1.0
    assert score(None, left).match_ratio == 1.0
    assert tally(left) == "2/2 (2 cases excluded: the reference fails)"


@pytest.mark.parametrize(
    ("indices", "claimed"),
    [((0, 1, 2, 3), True), ((2,), False)],
)
def test_a_log_that_miscounts_excluded_cases_is_corrupted(indices: tuple[int, ...], claimed: bool) -> None:
    event = _excluding(compact(0, 1.0), *indices, passed=claimed)
    with pytest.raises(IllegalTransition, match="contradicts its own cases"):
        fold(timed([opened(), compiled(0), event]))
