"""Who works on a session: an operating system lock per session, so that a second engine is told who has it.

The lock lives in `<log>.locks/<session>` and is held by the kernel on an open file, so it ends with the process however
that ends; the text in the file (pid, host, since) is only there for the message. Optimistic concurrency on the log
itself (events.log) is what protects the chain; this protects the engine's time.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import orjson

from events.errors import LogBusy, LogReadOnly, LogUnavailable

_TAKEN: set[str] = set()  # sessions of logs in memory that have a writer
_TAKING = threading.Lock()


@contextmanager
def owned(folder: Path, session: str) -> Iterator[None]:
    """Hold `session` for the length of the block. Raises LogBusy (who has it), LogReadOnly or LogUnavailable."""
    path = folder / _file_name(session)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = _lock(path, session)
    except PermissionError as error:
        raise LogReadOnly(
            f"session {session} cannot be taken for writing: {error}. Make {folder.parent} writable, "
            "or name another log with --log"
        ) from error
    except OSError as error:
        raise LogUnavailable(f"session {session} cannot be locked in {folder}: {error}") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def sole(name: str) -> Iterator[bool]:
    """Among the threads of this process: whether `name` was free, and it is this block's until its end."""
    with _TAKING:
        free = name not in _TAKEN
        _TAKEN.add(name)
    try:
        yield free
    finally:
        if free:
            _TAKEN.discard(name)


def _lock(path: Path, session: str) -> int:
    """An open, locked file descriptor of the file that is at `path` now (a finished owner may unlink it meanwhile)."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same_file(handle, path):
                os.ftruncate(handle, 0)
                os.pwrite(handle, _card(), 0)
                return handle
        except BlockingIOError:
            owner = _owner(os.pread(handle, 4096, 0))
            os.close(handle)
            raise LogBusy(
                f"session {session} is being worked on by {owner}: wait for it to end, or stop it and then resume"
            ) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _card() -> bytes:
    since = datetime.now(UTC).isoformat(timespec="seconds")
    return orjson.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})


def _owner(card: bytes) -> str:
    try:
        fields = orjson.loads(card)
        return f"pid {fields['pid']} on {fields['host']} since {fields['since']}"
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "another process"


def _file_name(session: str) -> str:
    name = quote(session, safe="")
    return name if len(name) <= 200 and not name.startswith(".") else hashlib.sha256(session.encode()).hexdigest()
