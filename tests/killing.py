"""A driver for the crash tests: lead a session and SIGKILL this very process after N events have become durable.

usage: python killing.py LOG CACHE TASK SESSION N   (opens SESSION if the log does not have it, else resumes it)
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from adapters.session import Settings, open_session, resume_session
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


def main() -> None:
    where, cache, task, session, after = sys.argv[1:]
    log, killer = SqlLog(where), Killer(int(after))
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
