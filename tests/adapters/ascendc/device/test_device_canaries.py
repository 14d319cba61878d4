"""No kind of finding without a canary: a mutant that fires it, and an original of the same kernel that is silent.

Kinds are read from the device's own sources, so a new check without a canary fails here. What each mutant's finding
points at is in test_device_findings.py and test_device_cube.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from statemachine.findings import POLICIES
from tests.adapters.ascendc.device.harness import CPU, ROOT, Device
from tests.adapters.ascendc.device.test_device_cube import cross
from tests.adapters.ascendc.device.test_device_findings import add3, totals

Run = Callable[[Device, int], object]
ORIGINAL = 0


def flags(device: Device, mutant: int) -> None:
    x, y = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    device.kernels("canaries").run_flags(device.register(x), device.register(y), mutant)


def twice(device: Device, mutant: int) -> None:
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    device.kernels("misuse").run_twice(device.register(x), device.register(y), mutant)


def race(device: Device, mutant: int) -> None:
    y = np.zeros(64, np.float32)
    device.kernels("canaries").run_race(2, device.register(y), int(not mutant))


def overwrite(device: Device, mutant: int) -> None:
    x, y = np.ones(64, np.float32), np.zeros(3 * 64, np.float32)
    device.kernels("canaries").run_overwrite(3 if mutant else 1, device.register(x), device.register(y))


#: (kind, what the message says, the kernel, its mutant)
CANARIES: list[tuple[str, str, Run, int]] = [
    ("gm-out-of-bounds", "write of", add3, 1),
    ("gm-out-of-bounds", "read of", add3, 2),
    ("gm-padding", "inside the last 32-byte granule", add3, 3),
    ("ub-out-of-bounds", "", add3, 4),
    ("ub-out-of-bounds", "", add3, 14),
    ("ub-out-of-bounds", "", twice, 11),
    ("ub-misaligned", "multiple of 32", add3, 5),
    ("ub-misaligned", "multiple of 32", twice, 12),
    ("ub-capacity", "", add3, 6),
    ("ub-capacity", "", twice, 5),
    ("ub-uninitialised", "was never written", add3, 7),
    ("ub-filler", "first element of its block once more", twice, 9),
    ("ub-uninitialised", "was never written", twice, 10),
    ("queue-misuse", "FreeTensor is missing", add3, 8),
    ("queue-misuse", "EnQue is missing", add3, 9),
    ("queue-misuse", "free already", add3, 10),
    ("queue-misuse", "given back by FreeTensor", add3, 12),
    ("queue-misuse", "does not come from this queue", twice, 1),
    ("queue-misuse", "does not come from this queue's AllocTensor", twice, 2),
    ("queue-misuse", "DeQue is missing", twice, 3),
    ("queue-misuse", "in a queue of depth 1", twice, 4),
    ("queue-misuse", "before TPipe::InitBuffer", twice, 7),
    ("queue-leak", "", add3, 11),
    ("pipe-hazard", "V reads", flags, 1),
    ("pipe-hazard", "MTE3 reads", flags, 2),
    ("pipe-hazard", "MTE2 writes", flags, 3),
    ("gm-race", "conflicts with a write", race, 1),
    ("gm-race", "conflicts with a read", overwrite, 1),
    ("gm-race", "", cross, 1),
    ("gm-race", "no SyncAll separates", totals, 2),
    ("cross-granule", "same 64-byte cache line", totals, 3),
    ("deadlock", "39 cores wait in SyncAll", totals, 1),
    ("deadlock", "no SetFlag before it sets", flags, 4),
    ("deadlock", "CrossCoreWaitFlag for ever", cross, 2),
    ("api-misuse", "no multiple of 32", add3, 13),
    ("api-misuse", "still set when the kernel ends", flags, 5),
    ("api-misuse", "still set", cross, 1),
    ("api-misuse", "set again before it was waited for", twice, 6),
    ("api-misuse", "more than the 1024-byte buffer holds", twice, 8),
    ("api-misuse", "", twice, 13),
]


@pytest.mark.parametrize(("kind", "said", "run", "mutant"), CANARIES)
def test_the_mutant_fires_and_the_original_is_silent(
    device: Device, kind: str, said: str, run: Run, mutant: int
) -> None:
    run(device, ORIGINAL)
    assert device.report().findings == [] and device.report().error is None
    device.reset()
    run(device, mutant)
    assert any(f.kind == kind and said in f.message for f in device.report().findings), device.report().findings


def declared() -> set[str]:
    """Every kind that some source of the device reports: a literal where a finding is made."""
    text = "\n".join(path.read_text() for path in sorted(CPU.rglob("*.h")) if "compat" not in path.parts)
    made = re.findall(
        r'(?:"([a-z]+-[a-z-]+)" : )?"((?:[a-z]+-[a-z-]+)|deadlock)",\s*(?:api\b|which\b|"[A-Z]|"kernel end")', text
    )
    return {kind for kinds in made for kind in kinds if kind}


def documented() -> set[str]:
    table = (ROOT / "docs" / "device.md").read_text().split("## Findings")[1].split("\n\n")[1]
    return {line.split("|")[1].strip() for line in table.splitlines()[2:]}


def test_every_kind_of_the_device_is_documented_and_has_a_canary() -> None:
    assert len(declared()) >= 13
    assert declared() == documented() == {kind for kind, _, _, _ in CANARIES}


def test_the_strict_policy_fails_every_kind_and_the_default_only_some_of_them() -> None:
    assert set(POLICIES["strict"].blocking) == documented()
    assert set(POLICIES["default"].reaching) < set(POLICIES["default"].blocking) < documented()
