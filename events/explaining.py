"""What SQLite's errors mean to people: what happened, where, and what to do next."""

from __future__ import annotations

from events.errors import LogCorrupt, LogError, LogUnavailable


def of_sqlite(name: str, cause: BaseException | None, where: str) -> LogError:
    """The error for SQLite's result code `name` (SQLITE_...) on the log `where`."""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LogUnavailable(
            f"the log {where} is locked by another process and did not become free: "
            "close whatever has it open, then run the command again"
        )
    if name.startswith("SQLITE_FULL"):
        return LogUnavailable(f"the disk of the log {where} is full: make room, then resume the session")
    if name.startswith("SQLITE_IOERR"):
        return LogUnavailable(
            f"the log {where} cannot be read or written ({cause}): check the disk, its free space and limits on file "
            "size, then resume the session"
        )
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_PERM")):
        return LogUnavailable(f"the log {where} cannot be opened ({cause}): check the path and the disk")
    if name.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT", "SQLITE_FORMAT")):
        return LogCorrupt(
            f"{where} is not a readable opmend log ({cause}): "
            "name another file with --log, or restore this one from a copy"
        )
    return LogCorrupt(f"the log {where} failed ({name}: {cause}); nothing was written")
