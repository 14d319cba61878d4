"""Holes that a sceptical reviewer found, each closed and kept closed. All on the real device."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import Opmend
from tests.tiny import ALIGNED_ONLY, COMPACT, FULL, KERNEL, MODEL, WRAPPER, host, write_task

HOST_LOOP = """
    using real = float;
    const real *from = (const real *)x;
    real *to = (real *)y;
    for (uint32_t i = 0; i < count; ++i) to[i] = from[i] + 1;
"""
#: A launch that does nothing: its body is cut out.
EMPTY = KERNEL[: KERNEL.index("    TPipe pipe;")] + "}\n" + KERNEL[KERNEL.index('extern "C" void plus_do') :]


def wrapped(line: str) -> str:
    """The wrapper with another body of forward."""
    return WRAPPER.replace("return _ext.run_plus(x.contiguous())", line)


def test_an_empty_kernel_with_a_host_loop_is_not_accepted_even_if_the_wrapper_copies(
    opmend: Opmend, tmp_path: Path
) -> None:
    padded = "p = torch.nn.functional.pad(x, (0, 8))"
    lines = f"n = x.shape[0]\n        {padded}\n        return _ext.run_plus(p)[:n].contiguous()"
    kernel = EMPTY.replace("    // HOST", HOST_LOOP)
    task = write_task(tmp_path / "plus", kernel=kernel, **{"model_new_ascendc.py": wrapped(lines)})
    done = opmend("check", task, "--json")
    assert done.last["full"]["passed"] == 8, "the cheat gives the right numbers"
    assert (done.code, done.last["accepted"], done.last["integrity"]["verdict"]) == (1, False, "tainted")


def test_a_candidate_cannot_erase_or_forge_the_devices_record(opmend: Opmend, tmp_path: Path) -> None:
    small = host("").replace("pipe.InitBuffer(outQueue, 1, 4096);", "pipe.InitBuffer(outQueue, 1, 2048);")
    honest = opmend("check", write_task(tmp_path / "honest", kernel=small), "--json").last
    assert "ub-out-of-bounds" in honest["blocking"]
    erased = small.replace("stream>>>(x, y, count);", "stream>>>(x, y, count);\n    opmend_reset();")
    erased = erased.replace("using namespace AscendC;", 'using namespace AscendC;\nextern "C" void opmend_reset(void);')
    report = opmend("check", write_task(tmp_path / "erased", kernel=erased), "--json").last
    assert (report["accepted"], report["integrity"]["verdict"]) == (False, "tainted")


@pytest.mark.parametrize(
    "line",
    [
        "return _ext.run_plus(x.to(torch.float32)).to(x.dtype)",
        "return _ext.run_plus(x.to(torch.float32)).clone().to(x.dtype)",
    ],
)
def test_casts_and_copies_around_the_launch_are_honest(opmend: Opmend, tmp_path: Path, line: str) -> None:
    half = {
        "plus.json": COMPACT.replace("float32", "float16"),
        "plus_all_case.json": FULL.replace("float32", "float16"),
    }
    task = write_task(tmp_path / "plus", **{"model_new_ascendc.py": wrapped(line), **half})
    report = opmend("check", task, "--json").last
    assert report["full"] == {"passed": 8, "total": 8}
    assert (report["integrity"]["verdict"], report["accepted"]) == ("clean", True)


def test_out_never_loses_anything_and_is_checked_before_the_work(opmend: Opmend, tmp_path: Path) -> None:
    task = write_task(tmp_path / "plus", kernel=KERNEL.replace(*ALIGNED_ONLY))
    (tmp_path / "file").write_text("mine")
    full = tmp_path / "full"
    full.mkdir()
    (full / "note").write_text("mine")
    twin = write_task(tmp_path / "other" / "plus")
    for arguments in (
        [task, "--out", tmp_path / "file"],
        [task, "--out", full],
        [task, "--out", task],
        [task, "--out", task / "fixed"],
        [task, twin, "--out", tmp_path / "out"],
    ):
        done = opmend("repair", *arguments)
        assert (done.code, "--out" in done.err) == (2, True), arguments
    assert opmend("sessions", "--json").out == ""
    assert (full / "note").read_text() == "mine"
    assert (task / "kernel" / "plus.cpp").read_text() == KERNEL.replace(*ALIGNED_ONLY)


def test_odd_files_in_a_task_are_named_and_nothing_hangs(opmend: Opmend, tmp_path: Path) -> None:
    linked = write_task(tmp_path / "linked")
    (linked / "kernel" / "far.h").symlink_to("/etc/hostname")
    done = opmend("check", linked)
    assert (done.code, "a link is not accepted" in done.err) == (2, True)
    piped = write_task(tmp_path / "piped", **{"model.py": None})
    os.mkfifo(piped / "model.py")
    done = opmend("check", piped)
    assert (done.code, "not a file" in done.err) == (2, True)
    nul = opmend("check", write_task(tmp_path / "nul", **{"model.py": MODEL + "\0"}))
    assert (nul.code, "None" in nul.err) == (2, False)


def test_configuration_errors_and_long_names_are_no_tracebacks(opmend: Opmend, tmp_path: Path) -> None:
    (tmp_path / "opmend.toml").write_text("opmend = 3\n")
    done = opmend("sessions")
    assert (done.code, "no table of options" in done.err) == (2, True)
    (tmp_path / "opmend.toml").unlink()
    assert opmend("check", write_task(tmp_path / "plus"), "--seed", 2**80).code == 2
    done = opmend("repair", write_task(tmp_path / ("n" * 200)), "--json")
    assert (done.code, done.last["outcome"]) == (0, "accepted")
    (tmp_path / "occupied").write_text("")
    done = opmend("check", tmp_path / "plus", "--cache", tmp_path / "occupied")
    assert done.code == 5
    assert "Traceback" not in done.err
