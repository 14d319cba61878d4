"""Bad input gets a clear message, the right exit code, and nothing is lost."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from tests.conftest import Opmend
from tests.tiny import ALIGNED_ONLY, COMPACT, KERNEL, MODEL, WRAPPER, case, host, write_task


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model.py": None}, "model.py: missing"),
        ({"model_new_ascendc.py": None}, "model_new_ascendc.py: missing"),
        ({"kernel/plus.cpp": None, "kernel/pybind11.cpp": None}, "kernel: missing"),
        ({"plus.json": COMPACT + "{oops\n"}, "plus.json:5"),
        ({"plus.json": case(8, dtype="float17")}, "float17"),
        ({"plus.json": "[]"}, "plus.json"),
        ({"model.py": "class Model(:\n"}, "model.py:1"),
        ({"model_new_ascendc.py": "class ModelNew(:\n"}, "model_new_ascendc.py:1"),
    ],
)
def test_a_broken_task_is_named_and_exits_2(
    opmend: Opmend, tmp_path: Path, changes: dict[str, str | None], words: str
) -> None:
    task = write_task(tmp_path / "plus", **changes)
    for command in ("check", "repair"):
        done = opmend(command, task)
        assert done.code == 2
        assert words in done.err
        assert "Traceback" not in done.err


def test_a_broken_task_among_several_does_not_stop_the_others(opmend: Opmend, tmp_path: Path) -> None:
    right = write_task(tmp_path / "right")
    done = opmend("repair", tmp_path / "nowhere", right, "--json", "--out", tmp_path / "out")
    assert (done.code, done.last["outcome"]) == (2, "accepted")
    assert (tmp_path / "out" / "right" / "kernel" / "plus.cpp").is_file()


def test_no_such_task_exits_2(opmend: Opmend, tmp_path: Path) -> None:
    done = opmend("repair", tmp_path / "nowhere")
    assert (done.code, "no such task" in done.err) == (2, True)


@pytest.mark.parametrize("option", [["--tolerance", "lenient"], ["--check-level", "9"], ["--worker", "oracle"]])
def test_a_bad_option_exits_2_and_begins_no_session(opmend: Opmend, tmp_path: Path, option: list[str]) -> None:
    done = opmend("repair", write_task(tmp_path / "plus"), *option)
    assert done.code == 2
    assert opmend("sessions", "--json").out == ""


def test_a_reference_that_raises_ends_the_session_as_aborted_and_exits_2(opmend: Opmend, tmp_path: Path) -> None:
    broken = MODEL.replace("return x + 1.0", 'raise ValueError("no such mode")')
    done = opmend("repair", write_task(tmp_path / "plus", **{"model.py": broken}), "--json")
    assert done.code == 2
    assert "no such mode" in done.err
    assert (done.last["type"], done.last["outcome"]) == ("summary", "aborted")
    assert opmend("sessions", "--json").last["outcome"] == "aborted"
    assert opmend("verify").code == 0


def test_a_candidate_that_does_not_compile_is_no_near_miss(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus", kernel=KERNEL.replace("1.0f, n);", "1.0f, n)"))
    done = opmend("repair", task)
    line = KERNEL[: KERNEL.index("1.0f, n);")].count("\n") + 1
    assert done.code == 1
    assert "not-a-near-miss" in done.out
    assert f"plus.cpp:{line}:" in done.out
    assert opmend("replay", "last", "--explain").out.count("does not compile") >= 1


def test_a_candidate_that_is_right_already_is_accepted_at_attempt_0(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus")
    before = tree(task)
    done = opmend("repair", task, "--json", "--out", tmp_path / "out")
    assert (done.code, done.last["outcome"], done.last["attempts"]) == (0, "accepted", 0)
    assert tree(task) == before
    assert (tmp_path / "out" / "kernel" / "plus.cpp").read_text() == KERNEL
    assert (tmp_path / "out" / "repair.diff").read_text() == ""


HOSTILE = {
    "segfault": ("    *(volatile int *)8 = 1;", "crash", "signal 11"),
    "infinite loop": ("    for (volatile int i = 0;; ++i) {}", "timeout", "3 s"),
    "memory": ("    for (;;) std::memset(std::malloc(64 << 20), 1, 64 << 20);", "", ""),
    "exit": ("    std::_Exit(0);", "bad-output", "without writing"),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_kernel_fails_its_cases_and_the_engine_goes_on(opmend: Opmend, tmp_path: Path, kind: str) -> None:
    code, status, words = HOSTILE[kind]
    task = write_task(
        tmp_path / "plus", kernel=host(code), **{"plus.json": case(8), "plus_all_case.json": case(8) + case(9)}
    )
    done = opmend("check", task, "--json", "--case-seconds", "3", "--case-memory-mb", "512")
    report = done.last
    assert done.code == 1
    assert report["compact"] == {"passed": 0, "total": 1}
    assert report["accepted"] is False
    assert report["integrity"]["verdict"] != "clean"
    first = report["cases"][0]
    assert first["status"] == status or (kind == "memory" and first["status"] in ("oom", "crash", "error"))
    assert words in first["reason"]


def test_megabytes_of_prints_do_not_harm_a_right_kernel(opmend: Opmend, tmp_path: Path) -> None:
    noisy = host('    for (int i = 0; i < 200000; ++i) std::printf("%050d\\n", i);')
    report = opmend("check", write_task(tmp_path / "plus", kernel=noisy), "--json").last
    assert report["full"] == {"passed": 8, "total": 8}
    assert report["passed"] is True


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("return _ext.run_plus(x.contiguous()).half()", "float16"),
        ("return _ext.run_plus(x.contiguous()).reshape(-1, 1)", "shape"),
        ('return "done"', ""),
    ],
)
def test_a_wrong_dtype_shape_or_type_is_a_failing_case_with_its_reason(
    opmend: Opmend, tmp_path: Path, line: str, words: str
) -> None:
    wrapper = WRAPPER.replace("return _ext.run_plus(x.contiguous())", line)
    report = opmend("check", write_task(tmp_path / "plus", **{"model_new_ascendc.py": wrapper}), "--json").last
    assert report["full"]["passed"] == 0
    assert words in report["cases"][0]["reason"]


def test_a_wrapper_that_computes_in_torch_is_tainted_and_repair_is_refused(opmend: Opmend, tmp_path: Path) -> None:
    wrapper = WRAPPER.replace(
        "return _ext.run_plus(x.contiguous())", "_ext.run_plus(x.contiguous())\n        return x + 1.0"
    )
    task = write_task(tmp_path / "plus", **{"model_new_ascendc.py": wrapper})
    report = opmend("check", task, "--json").last
    assert report["integrity"]["verdict"] == "tainted"
    assert report["accepted"] is False
    done = opmend("repair", task)
    assert done.code == 1
    assert "tainted-wrapper" in done.out


def test_a_log_of_a_newer_schema_or_no_log_at_all_is_said_and_left_alone(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus")
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"not a database, not at all" * 100)
    done = opmend("repair", task, "--log", garbage)
    assert done.code == 3
    assert garbage.read_bytes() == b"not a database, not at all" * 100
    assert opmend("repair", task).code == 0
    with sqlite3.connect(tmp_path / "log.db") as raw:
        raw.execute("DROP TRIGGER IF EXISTS meta_no_update")
        names = [n for (n,) in raw.execute("SELECT name FROM sqlite_master WHERE type='trigger' AND tbl_name='meta'")]
        for name in names:
            raw.execute(f"DROP TRIGGER {name}")
        raw.execute("UPDATE meta SET value = '999' WHERE key LIKE '%schema%'")
    done = opmend("sessions")
    assert done.code == 2
    assert "newer" in done.err


def test_a_locked_log_is_infrastructure_and_nothing_is_lost(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus")
    assert opmend("repair", task).code == 0
    holder = sqlite3.connect(tmp_path / "log.db")
    holder.execute("BEGIN EXCLUSIVE")
    done = opmend("repair", task)
    holder.rollback()
    holder.close()
    assert done.code == 5
    assert opmend("verify").code == 0
    assert len(opmend("sessions", "--json").lines) == 1


def test_an_unknown_session_exits_2(opmend: Opmend, tmp_path: Path) -> None:
    assert opmend("replay", "nobody").code == 2
    assert opmend("repair", write_task(tmp_path / "plus")).code == 0
    for command in ("replay", "resume", "diff", "verify"):
        assert opmend(command, "nobody").code == 2


def test_the_candidate_option_judges_other_sources_and_modifies_nothing(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY))
    other = tmp_path / "other"
    shutil.copytree(task / "kernel", other)
    (other / "plus.cpp").write_text(KERNEL)
    before = tree(task)
    assert opmend("check", task).code == 1
    assert opmend("check", task, "--candidate", other).code == 0
    assert tree(task) == before
    assert opmend("check", task, "--candidate", tmp_path / "missing").code == 2
