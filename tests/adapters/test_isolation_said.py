"""What holds a candidate in is said before anybody needs it: by `opmend doctor` and by the first event of a session.

Also: the server that runs candidates outlives their crashes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from adapters import sandbox
from adapters.runner.client import CaseRun, ForkServer
from events.log import SqlLog
from events.types import SessionOpened
from tests.adapters.runner.conftest import built, inputs, run_wrapper, server  # noqa: F401
from tests.conftest import Opmend
from tests.tiny import write_task


def test_doctor_names_each_means_and_whether_it_is_limited(opmend: Opmend) -> None:
    rows = {row["what"]: row for row in opmend("doctor", "--json").lines}
    for what, how in sandbox.isolation().items():
        row = rows[f"hold:{what}"]
        assert row["detail"] == how
        assert (row["state"] == "limited") == how.startswith("none")


def test_the_first_event_of_a_session_holds_the_same(opmend: Opmend, tmp_path: Path) -> None:
    opmend("repair", write_task(tmp_path / "plus"), "--quiet")
    with SqlLog(str(tmp_path / "log.db")) as log:
        [session] = log.sessions()
        first = next(iter(log.read(session))).event()
    assert isinstance(first, SessionOpened)
    assert first.isolation == sandbox.isolation()


def test_one_server_outlives_candidates_that_crash(
    run_wrapper: Callable[..., CaseRun],  # noqa: F811
    server: ForkServer,  # noqa: F811
) -> None:
    honest = "        return _ext.run_add(x.contiguous(), y.contiguous())"
    first = run_wrapper(honest)
    pid = server.pid
    assert first.status == "ok" and pid is not None
    for body in (
        "        import os; os.abort()",
        "        import ctypes; ctypes.string_at(8)",
        "        import os; os._exit(7)",
        "        import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    ):
        assert run_wrapper(body).status == "crash"
        again = run_wrapper(honest)
        assert again.status == "ok" and server.pid == pid
