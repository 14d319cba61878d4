"""A log of rehearsed sessions in a file, for tests of the commands: real engine, no compiler."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from events.log import SqlLog
from events.types import Bounds, Configuration
from statemachine.engine import Engine, Ports
from statemachine.state import SessionState
from tests.statemachine.rehearsal import World, read_once
from tests.statemachine.streams import START


class Ticking:
    """A second passes at every look."""

    def __init__(self) -> None:
        self.looks = 0

    def now(self) -> datetime:
        self.looks += 1
        return START + timedelta(seconds=self.looks)


def lead(log: SqlLog, session: str, world: World, monkeypatch: pytest.MonkeyPatch, **bounds: float) -> SessionState:
    """Run `world` as `session` of `log` to its end."""
    monkeypatch.setattr("statemachine.engine.read_statically", read_once)
    configuration = Configuration(
        tolerance="cann-ecosystem/1", seed=7, bounds=Bounds(**bounds), blocking_findings=("gm-race",)
    )
    with log.writer(session):
        return Engine.open(session, Ports(world, world, world, log, log, Ticking(), "test"), configuration).run()


def found(path: Path, monkeypatch: pytest.MonkeyPatch, count: int = 6) -> SqlLog:
    """A log of `count` sessions, from worlds 0, 1, ...."""
    log = SqlLog(path)
    for seed in range(count):
        lead(log, f"world{seed}", World(seed), monkeypatch)
    return log
