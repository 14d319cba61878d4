"""Canonical bytes and envelopes: what is hashed, and that reading gives back what was written."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events import types as t
from events.blobs import CANDIDATE_FIELDS, candidates_of
from events.canonical import canonical, payload_of
from events.envelope import GENESIS, Envelope, decode, seal
from events.errors import EventUndecodable, LogTooNew, NotCanonical
from events.upcast import upcast
from tests.events.samples import CANDIDATE, CASE, START, every_event, opened

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
NUMBERS = st.integers(-(2**63), 2**64 - 1)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


def test_the_samples_cover_the_catalogue() -> None:
    assert {event.type for event in every_event()} == t.event_types()


@pytest.mark.parametrize("event", every_event(), ids=lambda event: event.type)
def test_every_event_type_comes_back_as_it_was(event: t.Event) -> None:
    envelope = seal("s", 0, event, START, GENESIS)
    back = envelope.event()
    assert type(back) is type(event)
    assert payload_of(back) == envelope.payload
    assert envelope.verify_hash()


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_any_json_in_a_free_field_comes_back_with_the_same_bytes(request_: dict[str, Any]) -> None:
    payload = payload_of(t.ProbePlanned(attempt=1, request=request_))
    assert payload_of(decode(payload, "ProbePlanned", 1)) == payload
    assert canonical(orjson.loads(payload)) == payload


@given(st.dictionaries(TEXT, JSON, max_size=4), st.floats(), st.integers(-(2**63), 2**64 - 1), TEXT)
def test_the_quick_way_writes_what_the_plain_way_writes(
    free: dict[str, Any], number: float, seed: int, text: str
) -> None:
    first = opened().model_copy(update={"configuration": t.Configuration(tolerance=text, seed=seed)})
    case = CASE.model_copy(update={"descriptor": free, "mere": number, "reason": text, "seconds": abs(number)})
    facts = t.Feature(name=text, strength=0.5, facts={text: number, "a": -number})
    case = case.model_copy(update={"features": (facts,)})
    body = {"attempt": 0, "candidate": CANDIDATE, "tolerance": "", "passed": False, "cases": (case, CASE)}
    for event in (first, t.ProbePlanned(attempt=1, request=free), t.FullEvaluated(**body), *every_event()):
        assert payload_of(event) == canonical(event.model_dump())
        assert payload_of(event, only_set=True) == canonical(event.model_dump(exclude_unset=True))


@pytest.mark.parametrize(
    "value", [uuid.UUID(int=0), b"", {1}, datetime(2026, 1, 1), 2**64, {1: 2}, "\ud800", Path("x")]
)
def test_what_has_no_canonical_form_is_refused_within_events(value: Any) -> None:
    with pytest.raises(NotCanonical, match=r"\.request|64 bits|valid Unicode"):
        payload_of(t.ProbePlanned(attempt=1, request={"a": [value]}))
    with pytest.raises(NotCanonical, match="64 bits"):
        payload_of(t.Configuration(tolerance="t", seed=2**64))


@given(st.floats(), st.dictionaries(TEXT, st.floats(), max_size=3))
def test_floats_come_back_as_floats(value: float, facts: dict[str, float]) -> None:
    event = CASE.model_copy(
        update={"mere": value, "descriptor": {}, "features": (t.Feature(name="f", strength=0, facts=facts),)}
    )
    back = t.CaseResult.model_validate_json(canonical(event.model_dump(mode="python")))
    assert back.mere is not None
    assert _same(back.mere, value)
    assert all(_same(back.features[0].facts[key], number) for key, number in facts.items())


def test_non_finite_floats_are_words_in_typed_and_in_free_fields() -> None:
    stored = orjson.loads(payload_of(every_event()[12]))["cases"][0]
    assert (stored["mere"], stored["mare"]) == ("NaN", "Infinity")
    assert stored["descriptor"]["limit"] == "Infinity"
    assert stored["features"][0]["facts"]["min"] == "-Infinity"


def test_keys_are_sorted_at_every_level_and_no_space_is_written() -> None:
    assert canonical({"b": {"z": 1, "a": (2.0, None)}, "a": True, "é": "ü"}) == (
        '{"a":true,"b":{"a":[2.0,null],"z":1},"é":"ü"}'.encode()
    )


def test_for_finite_events_it_is_the_json_dump_of_pydantic() -> None:
    for event in every_event():
        if b"Infinity" not in payload_of(event):
            assert payload_of(event) == orjson.dumps(event.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"a": [{"b": {1: 2}}]}, r"key 1 at \.a\[0\]\.b is a int"),
        ({"a": {None: 1}}, "NoneType"),
        ({"a": b"bytes"}, r"\.a is a builtins.bytes"),
        ({"a": {1, 2}}, "builtins.set"),
        ({"a": datetime(2026, 1, 1, tzinfo=UTC)}, "datetime.datetime"),
        ({"a": "\ud800"}, "valid Unicode"),
        ({"a": 2**64}, "64 bits"),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_place(value: Any, says: str) -> None:
    with pytest.raises(NotCanonical, match=says):
        canonical(value)


def test_the_hash_is_the_documented_one() -> None:
    first = seal("s", 0, every_event()[-1], datetime(2026, 1, 31, 9, 5, tzinfo=timezone(timedelta(hours=1))), GENESIS)
    head = b'{"recorded_at":"2026-01-31T08:05:00.000000Z","seq":0,"session":"s","type":"SessionAborted","version":1}'
    payload = b'{"detail":"Ctrl-C","reason":"interrupted","type":"SessionAborted"}'
    assert first.previous == "sha256:" + "0" * 64
    assert first.payload == payload
    expected = hashlib.sha256(first.previous.encode() + b"\n" + head + b"\n" + payload).hexdigest()
    assert first.hash == "sha256:" + expected
    assert first.time == START


@pytest.mark.parametrize("field", ["session", "recorded_at", "type", "previous", "hash"])
def test_a_change_of_any_field_breaks_the_hash(field: str) -> None:
    good = seal("s", 0, every_event()[-1], START, GENESIS)
    fields = good._asdict()
    assert not Envelope(**{**fields, field: fields[field] + "x"}).verify_hash()
    assert not Envelope(**{**fields, "seq": 1}).verify_hash()
    assert not Envelope(**{**fields, "version": 2}).verify_hash()


def test_a_time_without_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        seal("s", 0, every_event()[-1], datetime(2026, 1, 31), GENESIS)


@pytest.mark.parametrize(
    ("payload", "event_type", "says"),
    [
        (b"{}", "SessionAborted", "event 4"),
        (b"not json", "SessionAborted", "Invalid JSON"),
        (b'{"type":"SessionAborted","reason":"r","more":1}', "SessionAborted", "more: Extra inputs"),
        (b'{"type":"SessionAborted","reason":"r"}', "RolledBack", "says it is a SessionAborted"),
        (b'{"type":"Wrong"}', "Wrong", "Wrong"),
    ],
)
def test_what_does_not_decode_names_the_event_and_the_place(payload: bytes, event_type: str, says: str) -> None:
    with pytest.raises(EventUndecodable, match=says) as caught:
        decode(payload, event_type, 1, f"event 4 ({event_type})")
    assert f"event 4 ({event_type})" in str(caught.value)


def test_old_versions_are_upcast_step_by_step() -> None:
    steps = {
        ("Thing", 1): lambda old: {"size": old["width"]},
        ("Thing", 2): lambda old: {**old, "unit": "bytes"},
    }
    new = upcast({"width": 4}, "Thing", 1, upcasters=steps, current=lambda _: 3)
    assert new == {"size": 4, "unit": "bytes"}
    with pytest.raises(LogTooNew, match="upgrade opmend"):
        upcast({}, "Thing", 4, upcasters=steps, current=lambda _: 3)
    with pytest.raises(EventUndecodable, match="no upcaster from version 0"):
        upcast({}, "Thing", 0, upcasters=steps, current=lambda _: 3)


def test_every_past_version_has_an_upcaster() -> None:
    from events.upcast import UPCASTERS

    missing = [
        (name, step) for name, now in t.VERSIONS.items() for step in range(1, now) if (name, step) not in UPCASTERS
    ]
    assert missing == []


def test_candidates_are_found_under_every_name_the_catalogue_uses() -> None:
    by_sample = {event.type for event in every_event() if CANDIDATE in t.blob_refs(event)}
    assert by_sample == {event.type for event in every_event() if CANDIDATE in candidates_of(event)}
    assert {name for event in every_event() for name in CANDIDATE_FIELDS if hasattr(event, name)} == {*CANDIDATE_FIELDS}


def _same(left: float, right: float) -> bool:
    return (math.isnan(left) and math.isnan(right)) or (
        left == right and math.copysign(1, left) == math.copysign(1, right)
    )


# ---------------------------------------------------------------- the short way to the same answer


def _twisted(payload: bytes) -> Iterator[bytes]:
    """The payload, and what a writer that is not opmend might have made of it."""
    fields = orjson.loads(payload)
    yield payload
    yield payload + b" "
    yield payload.replace(b'","', b'", "', 1)
    yield orjson.dumps(dict(reversed(fields.items())))
    yield orjson.dumps({**fields, "surplus": 1}, option=orjson.OPT_SORT_KEYS)
    yield b'{"type":"' + fields["type"].encode() + b'",' + payload[1:]
    yield from (payload[:at] + payload[at + 1 :] for at in range(0, len(payload), 7))
    for name, value in fields.items():
        yield orjson.dumps({key: fields[key] for key in fields if key != name}, option=orjson.OPT_SORT_KEYS)
        for other in (None, True, 1, 1.0, -0.0, 2**63, "1", "true", "NaN", "", [], {}, [value], str(value), "\x7fé"):
            yield orjson.dumps({**fields, name: other}, option=orjson.OPT_SORT_KEYS)
        number = orjson.dumps({**fields, name: 1}, option=orjson.OPT_SORT_KEYS)
        for text in (b"1.0", b"1e0", b"-0", b"01", b"1" + b"0" * 30, b'"\\u0031"', b'"\\ud800"', b'"\xff"', b"1 "):
            yield number.replace(b'"%b":1' % name.encode(), b'"%b":%b' % (name.encode(), text), 1)


@pytest.mark.parametrize("event", every_event(), ids=lambda event: event.type)
def test_what_is_read_as_it_was_written_is_what_would_be_written_of_it(event: t.Event) -> None:
    good = seal("s", 0, event, START, GENESIS)
    seen = set()
    for payload in _twisted(good.payload):
        envelope = good._replace(payload=payload)
        try:
            wanted: Any = envelope.event()
        except EventUndecodable:
            with pytest.raises(EventUndecodable):
                envelope.event_as_written()
            continue
        try:
            same = payload_of(wanted, only_set=True) == payload
        except NotCanonical:
            same = False
        read, as_written = envelope.event_as_written()
        assert (repr(read), as_written) == (repr(wanted), same), payload
        seen.add(as_written)
    assert seen == {True, False}


def test_no_type_with_a_number_that_may_have_two_forms_is_read_the_short_way() -> None:
    short = t.exact_types()
    assert short >= {"TurnStarted", "TurnTaken", "PatchProposed", "IntegrityJudged"}
    assert not short & {"SessionOpened", "FullEvaluated", "CompileFinished", "ProbePlanned", "ForensicsRecorded"}
