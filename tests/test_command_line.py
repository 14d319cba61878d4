"""What the command line promises: JSON contracts, configuration precedence, help."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Opmend
from tests.tiny import ALIGNED_ONLY, KERNEL, write_task

CHECK = {"task", "candidate", "compact", "full", "cases", "sanitizer", "integrity", "accepted"}
CASE = {"set", "index", "passed", "dtype", "shape", "mere", "mare", "match_ratio", "reason"}


@pytest.fixture
def near_miss(tmp_path: Path) -> Path:
    return write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY))


def test_check_json_is_one_object_with_the_documented_fields(opmend: Opmend, near_miss: Path) -> None:
    done = opmend("check", near_miss, "--json")
    (report,) = done.lines
    assert done.code == 1
    assert set(report) >= CHECK
    assert all(set(case) >= CASE for case in report["cases"])
    assert {case["set"] for case in report["cases"]} == {"compact", "full"}
    assert set(report["integrity"]) >= {"verdict", "evidence"}
    assert all(set(e) == {"check", "outcome", "detail", "where"} for e in report["integrity"]["evidence"])
    assert all({"kind", "file", "line", "message", "count"} <= set(f) for f in report["sanitizer"])
    assert report["accepted"] is False


def test_check_of_the_compact_set_alone_accepts_nothing(opmend: Opmend, tmp_path: Path) -> None:
    done = opmend("check", write_task(tmp_path / "right"), "--cases", "compact", "--json")
    assert (done.code, done.last["full"], done.last["passed"], done.last["accepted"]) == (0, None, True, False)


def test_repair_json_is_one_event_per_line_and_a_summary(opmend: Opmend, near_miss: Path) -> None:
    done = opmend("repair", near_miss, "--json")
    *events, last = done.lines
    assert done.code == 0
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert events[0]["type"] == "SessionOpened"
    assert set(last) >= {"type", "session", "outcome", "attempts", "turns", "tokens", "head"}
    assert (last["type"], last["outcome"], last["attempts"], last["tokens"]) == ("summary", "accepted", 1, 0)
    assert opmend("sessions", "--json").last["head"] == last["head"]


def test_the_worker_never_sees_the_seed_or_expected_values(opmend: Opmend, near_miss: Path) -> None:
    """Everything written for a worker (briefs) is free of the seed; the log holds it in SessionOpened alone."""
    seed = 918273645
    done = opmend("repair", near_miss, "--json", "--seed", seed)
    holders = [event["type"] for event in done.lines if str(seed) in str(event)]
    assert holders == ["SessionOpened"]


def test_two_runs_with_one_seed_give_the_same_verdicts(opmend: Opmend, near_miss: Path) -> None:
    runs = [opmend("repair", near_miss, "--json", "--seed", 7).lines for _ in range(2)]
    evaluations = [
        [
            {k: v for k, v in case.items() if k != "seconds"}
            for e in run
            if e["type"] == "FullEvaluated"
            for case in e["cases"]
        ]
        for run in runs
    ]
    assert evaluations[0]
    assert evaluations[0] == evaluations[1]


def test_the_bound_on_attempts_ends_a_session_as_exhausted(opmend: Opmend, near_miss: Path) -> None:
    done = opmend("repair", near_miss, "--attempts", "0", "--json")
    assert (done.code, done.last["outcome"]) == (1, "exhausted")
    assert [e["type"] for e in done.lines if e["type"] in ("BudgetExhausted", "PatchProposed")] == ["BudgetExhausted"]


def test_configuration_is_command_line_then_environment_then_file(
    opmend: Opmend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def source(option: str) -> tuple[str, str]:
        rows = opmend("config", "--json").lines
        row = next(r for r in rows if (r["command"], r["option"]) == ("repair", option))
        return str(row["value"]), row["source"]

    assert source("--attempts") == ("5", "default")
    (tmp_path / "opmend.toml").write_text("[repair]\nattempts = 3\n")
    assert source("--attempts") == ("3", "opmend.toml")
    monkeypatch.setenv("OPMEND_REPAIR_ATTEMPTS", "2")
    assert source("--attempts") == ("2", "OPMEND_REPAIR_ATTEMPTS")
    (tmp_path / "opmend.toml").write_text("[repair\n")
    assert opmend("sessions").code == 2


def test_help_names_every_command_and_doctor_says_what_holds_a_candidate_in(opmend: Opmend) -> None:
    shown = opmend("--help").out
    commands = [
        "repair",
        "resume",
        "check",
        "sessions",
        "replay",
        "cost",
        "shadow",
        "verify",
        "diff",
        "doctor",
        "config",
    ]
    assert [name for name in commands if name not in shown] == []
    rows = {row["what"]: row["state"] for row in opmend("doctor", "--json").lines}
    assert {"compiler", "device", "torch", "hold:network", "hold:filesystem", "hold:limits", "log"} <= set(rows)
    assert rows["device"] == "ok"
