"""A driver for the crash tests: lead a session whose log fails after N events, in one of several ways.

usage: python breaking.py LOG CACHE TASK SESSION N FAULT   (opens SESSION if the log does not have it, else resumes it)
FAULT: full, read-only, gone, server-stopped, or none. Ends as `opmend` would: message on stderr, the error's exit code.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from adapters.session import Settings, open_session, resume_session
from events.errors import LogError
from events.log import SqlLog
from events.types import Event
from replay.history import read_history
from statemachine.engine import Silent
from statemachine.sources import load
from statemachine.state import SessionState


class Breaker(Silent):
    """Breaks the log's database, really, right after the N-th append."""

    def __init__(self, log: SqlLog, after: int, fault: str) -> None:
        self.log, self.left, self.fault = log, after, fault

    def event(self, state: SessionState, event: Event) -> None:
        self.left -= 1
        if self.left == 0:
            getattr(self, self.fault.replace("-", "_"))()

    def none(self) -> None:
        pass

    def full(self) -> None:
        """As on a full disk: SQLite may take no further page."""
        with self.log._database.reading() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        self._set(f"max_page_count = {pages}")

    def read_only(self) -> None:
        self._set("query_only = ON")

    def _set(self, pragma: str) -> None:
        """On both connections of the log: that of `append`, and the pooled one that reads and keeps blobs."""
        with self.log._database.reading() as connection:
            connection.exec_driver_sql(f"PRAGMA {pragma}")
        pooled = self.log._database._raw
        assert pooled is not None
        raw: Any = pooled.driver_connection
        raw.execute(f"PRAGMA {pragma}")

    def gone(self) -> None:
        path = self.log._database.path
        assert path is not None
        path.rename(path.with_suffix(".away"))

    def server_stopped(self) -> None:
        command = shlex.split(os.environ["OPMEND_TEST_POSTGRES_CTL"])
        subprocess.run([*command, "-m", "immediate", "stop"], cwd="/", check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    where, cache, task, session, after, fault = sys.argv[1:]
    log = SqlLog(where)
    breaker: Any = Breaker(log, int(after), fault)
    options = {"tolerance": "cann-ecosystem", "seed": 2026, "check_level": 3, "case_seconds": 60.0}
    try:
        if session in log.sessions():
            opened = read_history(log, session).state.opened
            first = load(log, opened.candidate)
            with resume_session(session, opened, first, Path(cache), log, breaker) as engine:
                engine.run()
        else:
            settings = Settings.of({**options, "case_memory_mb": 4096, "cache": Path(cache)})
            with open_session(session, Path(task), settings, log, breaker) as engine:
                engine.run()
    except LogError as error:
        print(f"opmend: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
