"""The envelope: one stored event with its place in the chain, and the arithmetic of the chain.

    head = canonical({recorded_at, seq, session, type, version})
    hash = "sha256:" + sha256(previous + "\\n" + head + "\\n" + payload)

The first event of a session has seq 0 and `previous` = GENESIS. Pure: nothing here knows about the database.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from events.canonical import canonical, digest_of, payload_of
from events.errors import EventUndecodable, LogCorrupt, LogError, NotCanonical
from events.types import Event, adapter, exact_types, version_of
from events.upcast import upcast

#: The form of `recorded_at`; `fromisoformat` then checks the ranges.
_FORM = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")

_SORTED = orjson.OPT_SORT_KEYS

Row = tuple[Any, ...]
_TYPES = (str, int, str, str, int, bytes, str, str)

#: `previous` of the first event of every session.
GENESIS = "sha256:" + "0" * 64

#: `seq` of the first event of every session.
FIRST = 0


class Envelope(NamedTuple):
    """One event as it is stored. `payload` is canonical JSON; `recorded_at` is UTC, ISO-8601, microseconds, `Z`."""

    session: str
    seq: int
    recorded_at: str
    type: str
    version: int
    payload: bytes
    previous: str
    hash: str

    def event(self) -> Event:
        """The event itself, old versions upcast. Raises EventUndecodable or LogTooNew, naming session, seq and type."""
        return decode(
            self.payload, self.type, self.version, f"event {self.seq} ({self.type}) of session {self.session}"
        )

    def event_as_written(self) -> tuple[Event, bool]:
        """The event, and whether the payload is what opmend writes of it. Raises as `event` does."""
        if self.type in exact_types() and self.version == version_of(self.type):
            try:
                event: Event = adapter().validator.validate_json(self.payload, strict=True)
                if event.type == self.type and orjson.dumps(orjson.loads(self.payload), option=_SORTED) == self.payload:
                    return event, True
            except ValueError:  # of pydantic or of orjson: the long way says what it is
                pass
        event = self.event()
        try:
            if self.version != version_of(self.type):  # old versions as JSON
                return event, canonical(orjson.loads(self.payload)) == self.payload
            return event, payload_of(event, only_set=True) == self.payload  # a value that pydantic converts shows
        except (LogError, ValueError):
            return event, False

    def verify_hash(self) -> bool:
        """Whether `hash` is what the other fields give."""
        try:
            return self.hash == chain_hash(
                self.session, self.seq, self.recorded_at, self.type, self.version, self.payload, self.previous
            )
        except (NotCanonical, UnicodeEncodeError):  # text that cannot be hashed was not written by opmend
            return False

    @property
    def time(self) -> datetime:
        """`recorded_at` as an aware datetime in UTC. Raises LogCorrupt when it is not in the form of the log."""
        try:
            if _FORM.fullmatch(self.recorded_at):
                return datetime.fromisoformat(self.recorded_at)
        except (ValueError, OverflowError):
            pass
        raise LogCorrupt(
            f"event {self.seq} ({self.type}) of session {self.session} has a recording time that is not in the form of "
            f"the log: {self.recorded_at!r}"
        )


def envelope_of(row: Row) -> Envelope:
    """A raw row as an Envelope. Raises LogCorrupt when a column has a value of the wrong type."""
    if tuple(map(type, row)) != _TYPES:
        row = tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
        for name, value, kind in zip(Envelope._fields, row, _TYPES, strict=True):
            if type(value) is not kind:
                raise LogCorrupt(
                    f"event {row[1]} of session {row[0]}: column {name} holds a {type(value).__name__}, "
                    f"not a {kind.__name__}"
                )
    return Envelope._make(row)


def seal(session: str, seq: int, event: Event, recorded_at: datetime, previous: str) -> Envelope:
    """Wrap `event` as number `seq` of `session` after the event whose hash is `previous`.

    Raises NotCanonical for a value that has no canonical form, ValueError for a naive `recorded_at`.
    """
    when, payload, version = timestamp(recorded_at), payload_of(event), version_of(event.type)
    digest = chain_hash(session, seq, when, event.type, version, payload, previous)
    return Envelope(session, seq, when, event.type, version, payload, previous, digest)


def chain_hash(
    session: str, seq: int, recorded_at: str, event_type: str, version: int, payload: bytes, previous: str
) -> str:
    """The hash of one event, see the head of this module."""
    fields = {"recorded_at": recorded_at, "seq": seq, "session": session, "type": event_type, "version": version}
    try:
        head = orjson.dumps(fields)  # the keys are in order, the values plain: what `canonical` gives, sooner
    except TypeError:
        head = canonical(fields)  # says what is wrong
    return digest_of(b"%b\n%b\n%b" % (previous.encode(), head, payload))


def timestamp(moment: datetime) -> str:
    """`moment` in the form of the log, e.g. `2026-01-31T08:05:00.000000Z`. Raises ValueError if it has no time zone."""
    if moment.tzinfo is None:
        raise ValueError(f"recorded_at {moment.isoformat()} has no time zone: use datetime.now(UTC)")
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def decode(payload: bytes, event_type: str, version: int, where: str = "the event") -> Event:
    """An event from stored bytes. `where` begins the message of the EventUndecodable that is raised when it is none."""
    try:
        if version == version_of(event_type):
            event: Event = adapter().validator.validate_json(payload)
        else:
            fields = orjson.loads(payload)
            if not isinstance(fields, dict):
                raise EventUndecodable(f"{where} does not decode: its payload is not a JSON object")
            event = adapter().validate_python(upcast(fields, event_type, version))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"][1:]) or "the payload"
        raise EventUndecodable(f"{where} does not decode: {place}: {first['msg']}") from error
    except orjson.JSONDecodeError as error:
        raise EventUndecodable(f"{where} does not decode: {error}") from error
    if event.type != event_type:
        raise EventUndecodable(f"{where} does not decode: its payload says it is a {event.type}")
    return event
