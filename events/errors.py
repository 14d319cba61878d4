"""What can go wrong with a log, as typed errors. Each says what happened, where, and what to do next.

`exit_code` is the exit code of a command that ends in such an error. The classes live here and not in
`statemachine.ports` because `events` imports nothing above it; a caller that catches both kinds reads `exit_code`.
"""

from __future__ import annotations


class LogError(Exception):
    """Base of every error of this folder."""

    exit_code = 5


class LogBusy(LogError):
    """Another engine works on the session. Nothing was written (5)."""

    exit_code = 5


class LogUnavailable(LogError):
    """The database is locked, full, gone or cannot be reached. Safe to retry (5)."""

    exit_code = 5


class LogReadOnly(LogUnavailable):
    """The log can be read but not appended to (5)."""


class LogDriverMissing(LogError):
    """The Python driver of the database named by the URL is not installed (4)."""

    exit_code = 4


class LogTooNew(LogError):
    """The log, or an event in it, was written by a newer version of opmend (2)."""

    exit_code = 2


class LogCorrupt(LogError):
    """What is stored is not what was written, or is not an opmend log at all (3)."""

    exit_code = 3


class EventUndecodable(LogCorrupt):
    """A stored payload is not an event of the catalogue (3)."""


class BlobMissing(LogError):
    """An event names a blob that the log does not hold (3)."""

    exit_code = 3


class BlobWithheld(BlobMissing):
    """The blob was left out of an export on purpose; the receipt that came with the session says so (3)."""


class LogConflict(LogError):
    """Two different histories bear the name of one session; nothing was taken over (3)."""

    exit_code = 3


class ReceiptUnusable(LogError):
    """A file is no receipt, or no key that receipts are signed with (2)."""

    exit_code = 2


class NoSuchSession(LogError):
    """The log holds no event of that session (2)."""

    exit_code = 2


class NoLogYet(NoSuchSession):
    """There is no log at that place: nothing has been recorded there (2)."""


class NotCanonical(LogError, ValueError):
    """A value has no canonical form: non-string key, foreign type, unpaired surrogate, integer beyond 64 bits (2)."""

    exit_code = 2
