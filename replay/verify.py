"""Does a log still say what was recorded? Everything is derived again from what is read back; nothing is trusted.

Per session: numbers without gap or repetition, every link to the previous hash, every hash, the envelope's own form,
every payload decodes to an event of the catalogue in canonical form, every blob an event names is there and is what its
name says (through a candidate's manifest down to its files), and the machine allows the sequence of events. What a
stream of evaluations made afterwards speaks of is the session of its name, as this log has it.

Of the whole log besides: its tables, triggers and facts, every blob, named or not, and the receipts that imported
sessions came with.

A plain chain cannot show that its end was cut off, that it was computed anew, or that a whole session is gone:
check the log against receipts (replay.sealing), or give `expected_head`, a hash that was published.
Corrupt data never raises, it is a finding. What raises is what says nothing about the data: LogUnavailable (locked, no
disk), LogTooNew, NoSuchSession.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal

from events.blobs import candidates_of, files_of
from events.canonical import digest_of
from events.envelope import FIRST, GENESIS, Envelope, envelope_of
from events.errors import BlobMissing, BlobWithheld, LogCorrupt, LogError, LogTooNew, NoSuchSession
from events.types import Event, PostHocEvaluated, SessionOpened, blob_refs
from replay.bulk import no_collection
from statemachine.posthoc import covers, legal, session_of, stream_of

if TYPE_CHECKING:
    from events.log import SqlLog

Kind = Literal[
    "unreadable",
    "schema",
    "row",
    "sequence",
    "link",
    "hash",
    "time",
    "payload",
    "canonical",
    "blob",
    "illegal",
    "head",
    "receipt",
]

#: Folds a stream of (time, event); raises an exception with `seq` and `message` at what the machine does not allow.
Legality = Callable[[Iterable[tuple[datetime, Event]]], object]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong. `seq` is the event's number in `session`; None where it is not about one event."""

    session: str
    seq: int | None
    kind: Kind
    message: str

    def __str__(self) -> str:
        place = f"session {self.session}" if self.session else "log"
        return f"{place}{'' if self.seq is None else f', event {self.seq}'}: {self.kind}: {self.message}"


def verify(
    log: SqlLog, session: str | None = None, *, legality: Legality | None = None, expected_head: str | None = None
) -> list[Finding]:
    """Findings of one session or of the whole log, in reading order; empty when all is well.

    `legality` defaults to `statemachine.posthoc.legal`. `expected_head` is compared with the hash of the last event of
    `session`. Raises NoSuchSession (also when there is no log), LogTooNew, LogUnavailable; ValueError for an
    `expected_head` without a session.
    """
    if expected_head is not None and session is None:
        raise ValueError("expected_head belongs to one session: name it")
    fold, blobs, found = legality or legal, _Blobs(log), 0
    findings: list[Finding] = []
    try:
        if session is None:
            findings += (Finding("", None, "schema", message) for message in log.faults())
            findings += (Finding("", None, "blob", message) for message in blobs.all())
        with no_collection():
            for name, rows in groupby(log.rows(session), key=itemgetter(0)):
                found += 1
                _Session(log, str(name), blobs, fold, expected_head, findings).read(rows)
    except LogCorrupt as error:
        findings.append(Finding(session or "", None, "unreadable", str(error)))
        return findings
    if session is not None and not found:
        raise NoSuchSession(f"the log {log.where} has no session {session}: `opmend sessions` lists what it has")
    return findings


class _Session:
    """One pass over the rows of one session, which adds to `findings` as it goes."""

    def __init__(
        self, log: SqlLog, session: str, blobs: _Blobs, legality: Legality, head: str | None, findings: list[Finding]
    ) -> None:
        self._session, self._blobs, self._legality, self._expected_head = session, blobs, legality, head
        self._log, self._findings = log, findings
        self._stream: list[tuple[datetime, Event]] = []
        self._whole = True

    def read(self, rows: Iterable[tuple[Any, ...]]) -> None:
        number, previous = FIRST, GENESIS
        for row in rows:
            seq, stored_hash = row[1], row[7]
            at = seq if type(seq) is int else number
            if seq != number:
                self._whole = False
                self._sequence(seq, at, number)
            if row[6] != previous:
                expected = "the genesis value" if at == FIRST else "the hash of the event before it"
                self._add(at, "link", f"{_word(row)} does not link to {expected}: something before it was changed")
            envelope = self._envelope(row, at)
            if envelope is not None:
                self._check(envelope)
            number, previous = at + 1, stored_hash
        if self._expected_head is not None and previous != self._expected_head:
            self._add(None, "head", f"the log ends with {previous}, not with the expected head {self._expected_head}")
        self._check_legality()
        self._check_beside()

    def _add(self, seq: int | None, kind: Kind, message: str) -> None:
        self._findings.append(Finding(self._session, seq, kind, message))

    def _sequence(self, seq: object, at: int, expected: int) -> None:
        if type(seq) is not int:
            self._add(at, "sequence", f"its number is {seq!r}, expected {expected}")
        elif at < expected:
            self._add(at, "sequence", f"event {at} is there more than once, or its number is not possible")
        else:
            lost = f"event {expected} is" if at == expected + 1 else f"events {expected} to {at - 1} are"
            self._add(expected, "sequence", f"{lost} missing: the next one stored is event {at}")

    def _envelope(self, row: tuple[Any, ...], at: int) -> Envelope | None:
        try:
            return envelope_of(row)
        except LogCorrupt as error:
            self._whole = False
            self._add(at, "row", str(error))
            return None

    def _check(self, envelope: Envelope) -> None:
        seq, word = envelope.seq, envelope.type
        if not envelope.verify_hash():
            self._add(seq, "hash", f"{word} is not what was recorded: its hash does not match its content")
        at: datetime | None = None
        try:
            at = envelope.time
        except LogCorrupt as error:
            self._add(seq, "time", str(error))
        try:
            event, as_written = envelope.event_as_written()
        except (LogTooNew, LogCorrupt) as error:
            self._whole = False
            self._add(seq, "payload", str(error))
            return
        if not as_written:
            self._add(seq, "canonical", f"the payload of {word} is not in canonical form: opmend did not write it so")
        for message in self._blobs.missing_of(event, self._session):
            self._add(seq, "blob", f"{word}: {message}")
        if self._whole and at is not None:
            self._stream.append((at, event))
        else:
            self._whole = False

    def _check_legality(self) -> None:
        if not self._stream:
            return
        try:
            self._legality(self._stream)
        except Exception as error:  # whatever a fold raises on a corrupt stream is a finding
            seq = getattr(error, "seq", None)
            self._add(seq, "illegal", str(getattr(error, "message", None) or error or type(error).__name__))

    def _check_beside(self) -> None:
        """Evaluations made afterwards: of the session that the stream is named after, at a point that it was at."""
        if self._legality is not legal:
            return  # whoever brings another rule judges by that alone
        made = [(seq, event) for seq, (_, event) in enumerate(self._stream) if isinstance(event, PostHocEvaluated)]
        if not made:
            return
        opened, known = self._told_of(session_of(self._session))
        for seq, event in made:
            if stream_of(event.of) != self._session:
                self._add(seq, "illegal", f"{event.type} speaks of session {event.of} in the stream of another")
            elif event.head not in known:
                message = f"{event.type} speaks of another past of session {event.of}, or that one is not in the log"
                self._add(seq, "illegal", message)
            elif opened is not None and not covers(event, opened):
                message = f"{event.type} does not cover the cases of the {event.which} set of session {event.of}"
                self._add(seq, "illegal", message)

    def _told_of(self, session: str) -> tuple[SessionOpened | None, set[Any]]:
        """How `session` began, where that can be read, and the hashes of its events."""
        opened: SessionOpened | None = None
        known: set[Any] = set()
        for row in self._log.rows(session):
            if not known:
                with suppress(LogError):  # the pass over that session names it
                    event = envelope_of(row).event()
                    opened = event if isinstance(event, SessionOpened) else None
            known.add(row[7])
        return opened, known


class _Blobs:
    """Looks each blob up once, however many events name it."""

    def __init__(self, log: SqlLog) -> None:
        self._log = log
        self.withheld: set[str] = set()
        self._faults: dict[str, str | None] = {}
        self._candidates: dict[str, dict[str, str] | str] = {}
        self._excused: dict[str, frozenset[str]] = {}

    def all(self) -> Iterator[str]:
        """Read the whole store once; a message for every blob that is not what its name says."""
        for digest, data in self._log.blobs():
            whole = (
                isinstance(data, bytes | memoryview) and isinstance(digest, str) and digest_of(bytes(data)) == digest
            )
            self._faults[str(digest)] = None if whole else f"blob {digest} is not what its name says: it was changed"
            if not whole:
                yield f"blob {digest} is not what its name says: it was changed after recording"

    def missing_of(self, event: Event, session: str) -> Iterable[str]:
        refs, faults = blob_refs(event), self._faults
        candidates = candidates_of(event) if refs else ()
        if not candidates and not any(faults.get(digest, digest) for digest in refs):
            return ()  # all of them were looked up before, and none is a candidate with files of its own
        return self._missing(refs, candidates, session)

    def _missing(self, refs: tuple[str, ...], candidates: tuple[str, ...], session: str) -> Iterator[str]:
        for digest in refs:
            fault = self._fault(digest, session)
            if fault is not None:
                yield fault
            elif digest in candidates and digest not in self.withheld:
                yield from self._candidate(digest, session)

    def _fault(self, digest: str, session: str) -> str | None:
        if digest not in self._faults:
            self._faults[digest] = self._look_up(digest)
        return None if digest in self.withheld and digest in self._excuses(session) else self._faults[digest]

    def _excuses(self, session: str) -> frozenset[str]:
        """What the receipts of `session` and of the stream beside it leave out; other receipts excuse nothing here."""
        if session not in self._excused:
            of = session_of(session)
            self._excused[session] = self._log.withheld(of) | self._log.withheld(stream_of(of))
        return self._excused[session]

    def _look_up(self, digest: str) -> str | None:
        try:
            self._log.get(digest)
        except BlobWithheld:
            self.withheld.add(digest)
            return f"blob {digest} is not there, and only a receipt of another session says that it was withheld"
        except (BlobMissing, LogCorrupt) as error:
            return str(error)
        return None

    def _candidate(self, digest: str, session: str) -> Iterator[str]:
        if digest not in self._candidates:
            try:
                self._candidates[digest] = dict(files_of(self._log.get(digest)))
            except (ValueError, LogError) as error:
                self._candidates[digest] = f"candidate {digest} has no readable manifest: {error}"
        files = self._candidates[digest]
        if isinstance(files, str):
            yield files
            return
        for path, name in files.items():
            if fault := self._fault(name, session):
                yield f"file {path}: {fault}"


def _word(row: tuple[Any, ...]) -> str:
    return str(row[3])
