"""A driver for the crash tests: lead a session and SIGKILL this very process before or after its N-th append.

usage: python killing.py LOG CACHE TASK SESSION N before|after
(opens SESSION if the log does not have it, else resumes it)
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import datetime
from pathlib import Path

from adapters.session import Settings, open_session, resume_session
from events.envelope import Envelope
from events.log import SqlLog
from events.types import Event
from replay.history import read_history
from statemachine.engine import Silent
from statemachine.sources import load
from statemachine.state import SessionState


class Killer(Silent):
    """Ends the process the hard way, right after the N-th append."""

    def __init__(self, after: int) -> None:
        self.left = after

    def event(self, state: SessionState, event: Event) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Doomed(SqlLog):
    """Ends the process before the N-th append: its effect is done, its event is not there."""

    left = 0

    def append(self, session: str, event: Event, recorded_at: datetime) -> Envelope:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().append(session, event, recorded_at)


def main() -> None:
    where, cache, task, session, count, when = sys.argv[1:]
    log, killer = Doomed(where), Killer(int(count) if when == "after" else 0)
    log.left = int(count) if when == "before" else 0
    if session in log.sessions():
        opened = read_history(log, session).state.opened
        first = load(log, opened.candidate)
        with resume_session(session, opened, first, Path(cache), log, killer) as engine:
            engine.run()
    else:
        options = {
            "tolerance": "cann-ecosystem",
            "seed": 2026,
            "check_level": 3,
            "case_seconds": 60.0,
            "case_memory_mb": 4096,
        }
        settings = Settings.of({**options, "cache": Path(cache)})
        with open_session(session, Path(task), settings, log, killer) as engine:
            engine.run()


if __name__ == "__main__":
    main()
