"""Builds the runtime library and the test kernels once per session with the host's g++."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.adapters.ascendc.device.harness import Device


@pytest.fixture(scope="session")
def build_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("the embedded device needs g++")
    return tmp_path_factory.mktemp("device")


@pytest.fixture(scope="session")
def device_session(build_dir: Path) -> Device:
    return Device(build_dir)


@pytest.fixture
def device(device_session: Device) -> Device:
    """The device with no launches, findings or registered tensors."""
    device_session.reset()
    return device_session
