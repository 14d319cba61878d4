"""The hostile list: one module that tries everything a candidate must not do, one case each, honest cases between.

What a case tries is chosen by its size. Each attempt ends in a failing case that says what happened, nothing of it
outlives the case, and the next case runs as if nothing had been.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from adapters import sandbox
from adapters.ascendc.cpu.toolchain import CpuToolchain
from adapters.tasks import load_task
from statemachine.integrity.binding import read_binding
from statemachine.ports import CaseRun
from tests.tiny import COMPACT, case, host, write_task

ACTS = """
    static std::vector<char *> kept;
    auto denied = [](const char *what, bool worked) {
        std::string text = std::string(what) + (worked ? " worked" : " was refused");
        throw std::runtime_error(text);
    };
    volatile int ticks = 0;
    switch (count) {
        case 101: *reinterpret_cast<volatile int *>(8) = 1; break;
        case 102: for (;;) { ticks = ticks + 1; }
        case 103: for (;;) { if (fork() == 0) { setsid(); } }
        case 104: {
            size_t bytes = size_t{30} << 30;
            char *memory = new char[bytes];
            memset(memory, 1, bytes);
            break;
        }
        case 105: for (int i = 0; i < 5000000; ++i) { fputs("twenty bytes of text", stdout); } abort();
        case 106: denied("writing to the log", open("@LOG@", O_WRONLY | O_APPEND) >= 0);
        case 107: denied("reading the cases", open("@TASK@/plus.json", O_RDONLY) >= 0);
        case 108: denied("reading the references", opendir("@CACHE@/references") != nullptr);
        case 109: {
            int link = socket(AF_INET, SOCK_STREAM, 0);
            sockaddr_in to{};
            to.sin_family = AF_INET;
            to.sin_port = htons(@PORT@);
            to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
            denied("connecting", link >= 0 && connect(link, reinterpret_cast<sockaddr *>(&to), sizeof(to)) == 0);
        }
        case 110: denied("killing the server", kill(getppid(), SIGKILL) == 0);
        case 111: kill(-1, SIGSTOP); denied("killing the engine", kill(@ENGINE@, SIGKILL) == 0);
        case 112: std::thread([] { for (;;) { } }).detach(); denied("leaving a thread", false);
        case 113:
            if (fork() == 0) {
                setsid();
                if (fork() == 0) { for (;;) { pause(); } }
                _exit(0);
            }
            denied("leaving a process", false);
        case 114: {
            int from = 1, to = 0;  // its own memory: it is the call that must be closed
            iovec here{&to, sizeof(to)}, there{&from, sizeof(from)};
            denied("reading by process_vm_readv", process_vm_readv(getpid(), &here, 1, &there, 1, 0) >= 0);
        }
        case 115: denied("leaving a file", open("@TASK@/left", O_WRONLY | O_CREAT, 0600) >= 0);
        default: break;
    }
"""
HEADERS = [
    "arpa/inet.h",
    "dirent.h",
    "fcntl.h",
    "signal.h",
    "stdexcept",
    "string",
    "sys/socket.h",
    "sys/uio.h",
    "thread",
    "unistd.h",
]
HONEST = 8
EXPECTED = {
    101: ("crash", "segmentation fault"),
    102: ("timeout", "not finished"),
    103: ("timeout", "not finished"),
    104: ("oom", "bytes needed"),
    105: ("crash", "abort"),
    106: ("error", "writing to the log was refused"),
    107: ("error", "reading the cases was refused"),
    108: ("error", "reading the references was refused"),
    109: ("error", "connecting was refused"),
    110: ("error", "killing the server was refused"),
    111: ("error", "killing the engine was refused"),
    112: ("error", "leaving a thread"),
    113: ("error", "leaving a process"),
    114: ("error", "reading by process_vm_readv was refused"),
    115: ("error", "leaving a file was refused"),
}
#: What the machine must offer for an attempt to be refused rather than only noticed.
NEEDS = {106: "filesystem", 107: "filesystem", 108: "filesystem", 109: "network", 110: "signals", 111: "signals",
         114: "system-calls", 115: "filesystem"}  # fmt: skip


@dataclass
class Trial:
    """What came of each attempt, and of the honest case after it; and what was alive in the end."""

    runs: dict[int, CaseRun] = field(default_factory=dict)
    after: dict[int, CaseRun] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    log: bytes = b""
    files: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Iterator[Trial]:
    place = tmp_path_factory.mktemp("hostile")
    sizes = [size for act in EXPECTED for size in (act, HONEST)]
    log = place / "log.db"
    log.write_bytes(b"the log")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        words = {"LOG": log, "TASK": place / "t", "CACHE": place, "PORT": listening.getsockname()[1]}
        code = ACTS.replace("@ENGINE@", str(os.getpid()))
        for word, value in words.items():
            code = code.replace(f"@{word}@", str(value))
        includes = "".join(f"#include <{name}>\n" for name in HEADERS)
        write_task(
            place / "t",
            kernel=includes + host(code),
            **{"plus.json": "".join(case(n) for n in sizes), "plus_all_case.json": COMPACT},
        )
        task = load_task(place / "t", cache=place / "references")
        toolchain = CpuToolchain(cache, seed=1, seconds=2.0, memory_mb=1024)
        before = {p.pid for p in psutil.process_iter()}
        found = Trial(sources=dict(task.candidate.files))
        try:
            built = toolchain.build(task, task.candidate, 1)
            assert built.passed, built.log
            for size, run in zip(sizes, toolchain.run(task, built.handle, task.cases("compact", 1)), strict=True):
                if size == HONEST:
                    found.after[next(reversed(found.runs))] = run
                else:
                    found.runs[size] = run
        finally:
            toolchain.close()
            task.close()
        mine = psutil.Process()
        found.left = [
            f"{p.pid} {p.cmdline()}"
            for p in psutil.process_iter()
            if p.pid not in before and (p.uids().real >= 60_000 or p in mine.children(recursive=True))
        ]
    found.log = log.read_bytes()
    found.files = {p.name for p in (place / "t").iterdir()}
    yield found


@pytest.mark.parametrize("act", EXPECTED)
def test_each_attempt_is_a_failing_case_that_says_what_happened(trial: Trial, act: int) -> None:
    if act in NEEDS and (missing := sandbox.isolation()[NEEDS[act]]).startswith("none"):
        pytest.skip(missing)
    run = trial.runs[act]
    status, said = EXPECTED[act]
    assert run.status == status and said in run.detail, run.detail
    assert len(run.detail) < 3000


@pytest.mark.parametrize("act", EXPECTED)
def test_the_engine_goes_on_after_each(trial: Trial, act: int) -> None:
    run = trial.after[act]
    assert run.status == "ok" and run.outputs and run.launches == ("plus_custom",)


def test_nothing_is_left_behind(trial: Trial) -> None:
    assert trial.left == []
    assert trial.log == b"the log"
    assert "left" not in trial.files


def test_the_reader_names_what_no_launcher_needs(trial: Trial) -> None:
    found = {e.check for e in read_binding(trial.sources).evidence if e.outcome == "failed"}
    assert {"binding:process", "binding:file", "binding:network"} <= found


def test_a_session_says_what_is_missing() -> None:
    said = sandbox.isolation()
    assert set(said) >= {"network", "filesystem", "limits", "processes", "signals", "system-calls", "memory"}
    assert all(said.values())
