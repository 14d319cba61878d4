"""Sealing: what a session is now, as a receipt to be kept elsewhere; and later, whether a log still agrees with it.

Only a receipt can show that the end of a session was cut off, that its chain was computed anew, or that all of it is
gone: nothing that is left in the log speaks of it (events.receipts).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from events import receipts
from events.errors import LogCorrupt, NoLogYet, ReceiptUnusable
from events.log import SqlLog
from events.receipts import Receipt, receipt_of
from events.types import Event
from replay.verify import Finding, verify
from statemachine.posthoc import is_posthoc
from statemachine.state import IllegalTransition, fold


def seal(
    log: SqlLog, session: str, at: datetime, *, key: Path | None = None, withheld: tuple[str, ...] = ()
) -> tuple[Receipt | None, list[Finding]]:
    """A receipt of `session` as it is now; or None with the findings for which it is not sealed.

    Raises NoSuchSession; ReceiptUnusable for a `key` that is none.
    """
    findings = verify(log, session)
    if findings:
        return None, findings
    head, (outcome, candidate) = log.head(session), _end(log, session, None)
    made = receipt_of(
        session, head.seq + 1, head.hash, at, outcome=outcome, candidate=candidate, withheld=withheld, key=key
    )
    return made, []


def check(log: SqlLog, receipt: Receipt, public: str | None = None) -> list[Finding]:
    """Findings of one receipt against the log. `public`: the key that it has to be signed with."""
    session, wanted = receipt.session, receipt.length
    message = receipts.fault(receipt, public)
    if message is not None:
        return [Finding(session, None, "receipt", message)]
    sealed = f"the receipt of {receipt.sealed_at}"
    try:
        hashes = [row[7] for row in log.rows(session)]
    except NoLogYet:
        hashes = []
    except LogCorrupt as error:
        return [Finding(session, None, "receipt", f"{sealed} cannot be checked: {error}")]
    if not hashes:
        message = f"the session is not in the log: {sealed} says that it had {wanted} events"
    elif len(hashes) < wanted:
        message = f"the end was cut off: {len(hashes)} events are left of the {wanted} that {sealed} speaks of"
    elif hashes[wanted - 1] != receipt.head:
        message = f"event {wanted - 1} is not the one that was sealed: the chain was computed anew after {sealed}"
    else:
        message = _story(log, receipt)
    return [] if message is None else [Finding(session, None, "receipt", message)]


def check_stored(log: SqlLog, public: str | None = None, session: str | None = None) -> list[Finding]:
    """Findings of the receipts that the sessions of this log came with. With `public` each has to be signed with it."""
    findings: list[Finding] = []
    try:
        rows = log.receipts(session)
    except LogCorrupt:
        return []  # `verify` says that the log is unreadable
    for named, length, document in rows:
        try:
            receipt = receipts.parse(bytes(document), "what is stored")
            if (receipt.session, receipt.length, receipt.document) != (named, length, bytes(document)):
                raise ReceiptUnusable("what is stored is a receipt, but not the one that was stored")
        except (ReceiptUnusable, TypeError) as error:
            findings.append(Finding(str(named), None, "receipt", str(error)))
        else:
            findings += check(log, receipt, public)
    return findings


def check_covered(log: SqlLog, public: str, given: Iterable[Receipt] = ()) -> list[Finding]:
    """Findings of what no receipt signed with `public` speaks of: streams without one, events after its end."""
    sealed: dict[str, int] = {}
    stored: list[Receipt] = []
    for _, _, document in log.receipts():
        with suppress(ReceiptUnusable, TypeError):  # `check_stored` names it
            stored.append(receipts.parse(bytes(document), "what is stored"))
    for receipt in (*stored, *given):
        if receipts.fault(receipt, public) is None:
            sealed[receipt.session] = max(receipt.length, sealed.get(receipt.session, 0))
    findings: list[Finding] = []
    for session, rows in groupby(log.rows(), key=itemgetter(0)):
        length = sum(1 for _ in rows)
        if session not in sealed:
            findings.append(Finding(str(session), None, "receipt", f"no receipt signed with {public} speaks of it"))
        elif length > sealed[session]:
            message = f"from here on not sealed: the receipt signed with {public} speaks of {sealed[session]} events"
            findings.append(Finding(str(session), sealed[session], "receipt", message))
    return findings


def read_receipt(path: Path) -> Receipt:
    """The receipt in a file. Raises ReceiptUnusable."""
    try:
        return receipts.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise ReceiptUnusable(f"{path} cannot be read: {error}") from error


def _story(log: SqlLog, receipt: Receipt) -> str | None:
    """Whether the sealed events say what the receipt says of outcome and candidate."""
    try:
        outcome, candidate = _end(log, receipt.session, receipt.length)
    except (LogCorrupt, IllegalTransition):
        return None  # `verify` names it
    if (outcome, candidate) == (receipt.outcome, receipt.candidate):
        return None
    return f"the receipt says {receipt.outcome} ({receipt.candidate}), the events say {outcome} ({candidate})"


def _end(log: SqlLog, session: str, length: int | None) -> tuple[str | None, str | None]:
    """Outcome and accepted candidate after `length` events. A stream beside a session has neither."""
    if is_posthoc(session):
        return None, None
    events: list[tuple[datetime, Event]] = []
    for envelope in log.read(session):
        events.append((envelope.time, envelope.event()))
        if len(events) == length:
            break
    state = fold(events)
    return state.outcome, state.current.candidate if state.outcome == "accepted" else None
