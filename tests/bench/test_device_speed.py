"""Vector kernels of 2^20 elements on the embedded device, without checks and with all of them, beside torch.

The kernel's own time: the modules are called in this process, on one thread, as torch is.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from adapters.tasks import load_task
from tests import tiny
from tests.bench import exchange
from tests.bench.conftest import CHECK_LEVEL, Timed
from tests.bench.native import Native
from tests.examples.trial import EXAMPLES, fixes_of, patched

COUNT = 1 << 20
PLUS = "x + 1 on 2^20 float32: one vector instruction in a queue of one buffer"
NORM = "RMS norm of 1,024 rows of 1,024 float32: row sums, repeats with masks, 40 cores"
EXCHANGE = "16 SyncAll of 40 cores, 64 bytes of each to its neighbour between two"
SWISH = "x * sigmoid(x) on 2^20 float32: four vector instructions, double buffers, 40 cores"


@pytest.fixture(scope="module")
def x() -> torch.Tensor:
    return torch.randn(COUNT, generator=torch.Generator().manual_seed(7))


def test_plus_in_torch(timed: Timed, x: torch.Tensor) -> None:
    timed(PLUS, "torch, one thread", lambda: x + 1.0, rounds=50, floor=True)


@pytest.mark.parametrize("level", [0, CHECK_LEVEL])
def test_plus_on_the_device(timed: Timed, x: torch.Tensor, builds: Path, tmp_path: Path, level: int) -> None:
    kernel = {"plus.cpp": tiny.KERNEL, "pybind11.cpp": tiny.BINDING}
    native = Native(kernel, level, builds, tmp_path)
    result = timed(
        PLUS, f"device, check level {level}", lambda: native.module.run_plus(x), rounds=20, setup=native.reset
    )
    assert torch.equal(result, x + 1.0)
    assert native.report["findings"] == []


def test_swish_in_torch(timed: Timed, x: torch.Tensor) -> None:
    timed(SWISH, "torch, one thread", lambda: x * torch.sigmoid(x), rounds=50, floor=True)


@pytest.mark.parametrize("level", [0, CHECK_LEVEL])
def test_swish_on_the_device(timed: Timed, x: torch.Tensor, builds: Path, tmp_path: Path, level: int) -> None:
    task = load_task(EXAMPLES / "swish", cache=tmp_path / "cache")
    kernel = patched(task.candidate, fixes_of("swish").values()).files
    (tmp_path / "kernel").mkdir()
    native = Native(kernel, level, builds, tmp_path / "kernel")
    what = f"device, check level {level}"
    result = timed(SWISH, what, lambda: native.module.run_swish(x, 1.0), rounds=20, setup=native.reset)
    assert torch.allclose(result, x * torch.sigmoid(x), rtol=1e-5, atol=1e-6)
    assert native.report["findings"] == []


@pytest.fixture(scope="module")
def gamma() -> torch.Tensor:
    return torch.randn(1024, generator=torch.Generator().manual_seed(8))


def rms_norm(x: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    """As the example's reference has it."""
    return x * torch.rsqrt(torch.mean(x * x, dim=-1, keepdim=True) + 1e-5) * gamma


def test_norm_in_torch(timed: Timed, x: torch.Tensor, gamma: torch.Tensor) -> None:
    timed(NORM, "torch, one thread", lambda: rms_norm(x.view(1024, 1024), gamma), rounds=50, floor=True)


@pytest.mark.parametrize("level", [0, CHECK_LEVEL])
def test_norm_on_the_device(
    timed: Timed, x: torch.Tensor, gamma: torch.Tensor, builds: Path, tmp_path: Path, level: int
) -> None:
    task = load_task(EXAMPLES / "head_rms_norm", cache=tmp_path / "cache")
    kernel = patched(task.candidate, fixes_of("head_rms_norm").values()).files
    (tmp_path / "kernel").mkdir()
    native = Native(kernel, level, builds, tmp_path / "kernel")
    rows = x.view(1024, 1024)
    work = lambda: native.module.run_head_rms_norm(rows, gamma, 1e-5)  # noqa: E731
    result = timed(NORM, f"device, check level {level}", work, rounds=20, setup=native.reset)
    assert torch.allclose(result, rms_norm(rows, gamma), rtol=1e-5, atol=1e-5)
    assert native.report["findings"] == []


def test_exchange_in_torch(timed: Timed, x: torch.Tensor) -> None:
    cells = x[: exchange.CORES * exchange.LANES].view(exchange.CORES, exchange.LANES)
    timed(EXCHANGE, "torch, one thread", lambda: exchange.in_torch(cells), rounds=50, floor=True)


@pytest.mark.parametrize("level", [0, CHECK_LEVEL])
def test_exchange_on_the_device(timed: Timed, x: torch.Tensor, builds: Path, tmp_path: Path, level: int) -> None:
    kernel = {"exchange.cpp": exchange.KERNEL, "pybind11.cpp": exchange.BINDING}
    native = Native(kernel, level, builds, tmp_path)
    before = x[: exchange.CORES * exchange.LANES].view(exchange.CORES, exchange.LANES)

    def run(cells: torch.Tensor) -> torch.Tensor:
        native.module.run_exchange(cells)
        return cells

    def fresh() -> tuple[tuple[torch.Tensor], dict[str, object]]:
        native.reset()
        return (before.clone(),), {}

    result = timed(EXCHANGE, f"device, check level {level}", run, rounds=20, setup=fresh)
    assert torch.equal(result, exchange.in_torch(before))
    assert native.report["findings"] == []
