"""The runtime library and the test kernels, compiled with the host's g++ where they are not in the tests' cache."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.adapters.ascendc.device.harness import Device


@pytest.fixture(scope="session")
def device_session(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Device:
    if shutil.which("g++") is None:
        pytest.skip("the embedded device needs g++")
    return Device(cache / "device", tmp_path_factory.mktemp("device"))


@pytest.fixture
def device(device_session: Device) -> Device:
    """The device with no launches, findings or registered tensors."""
    device_session.reset()
    return device_session
