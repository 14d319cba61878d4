"""Scratch folders that say whose they are, so that what a killed engine left is removed by the next one.

The name carries the process, its start time and its process namespace: a folder is an orphan only when exactly that
process is gone, and folders of another container that shares the place are left alone.
"""

from __future__ import annotations

import os
import re
import shutil
from functools import cache
from pathlib import Path

__all__ = ["prefix", "remove_orphans"]

_NAME = re.compile(r"opmend-[a-z]+-(?P<namespace>\d+)-(?P<pid>\d+)-(?P<start>\d+)-")


def prefix(kind: str) -> str:
    """For ``tempfile``: ``opmend-<kind>-<namespace>-<pid>-<start>-``; ``kind`` is lower-case letters."""
    return f"opmend-{kind}-{_namespace()}-{os.getpid()}-{_start(os.getpid())}-"


def remove_orphans(place: Path) -> list[str]:
    """Remove this user's scratch folders in ``place`` whose process has ended; the names of those removed."""
    removed = []
    for path in place.iterdir() if place.is_dir() else ():
        match = _NAME.match(path.name)
        if match is None or int(match["namespace"]) != _namespace() or path.is_symlink():
            continue
        try:
            mine = path.stat().st_uid == os.geteuid()
        except OSError:
            continue
        if mine and _start(int(match["pid"])) != int(match["start"]):
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path.name)
    return removed


@cache
def _namespace() -> int:
    try:
        return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        return 0


def _start(pid: int) -> int:
    """When a process started, in clock ticks since boot; -1 where there is none. Without /proc: 0 while it lives."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        pass
    if Path("/proc/self/stat").exists():
        return -1
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return -1
    except PermissionError:
        return 0
    return 0
