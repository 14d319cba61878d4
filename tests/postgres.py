"""The one PostgreSQL server of a test run (`.ci/postgres` starts it), and having it to oneself.

Tests run in several processes. Those on the server change its triggers, or stop it: one of them at a time.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from events.canonical import digest_of

URL = os.environ.get("OPMEND_TEST_POSTGRES", "")
#: `pg_ctl` with its arguments but for the last; empty: the server cannot be stopped.
CTL = os.environ.get("OPMEND_TEST_POSTGRES_CTL", "")


@contextmanager
def alone() -> Iterator[None]:
    """No other test of this machine is on the server within the block."""
    with (Path(tempfile.gettempdir()) / f"opmend-test-{digest_of(URL.encode())[-16:]}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
