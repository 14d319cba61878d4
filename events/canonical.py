"""Canonical bytes: the one JSON form of an event, which is what gets hashed. A fixed contract (docs/log-format.md).

UTF-8 JSON as orjson writes it, keys sorted by their UTF-8 bytes at every level, no white space. JSON has no word for
the non-finite floats, so they are the strings "NaN", "Infinity" and "-Infinity" wherever they occur. Reading turns
them back into floats where the catalogue says `float`; in `dict[str, Any]` fields they stay strings, because there a
string that spells NaN cannot be told from a NaN.

Nothing is converted in silence: a key that is not a string, or a value that is not JSON, is refused with its place.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, get_args

import orjson
from pydantic import BaseModel

from events.errors import NotCanonical


def digest_of(data: bytes) -> str:
    """`sha256:<hex>` of `data`: the name of a blob and the form of every hash in the log."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical(value: Any) -> bytes:
    """Canonical bytes of plain data (None, bool, int, float, str, lists or tuples, mappings with string keys).

    Raises NotCanonical, naming the place of the offending value.
    """
    plain = _plain(value, "")
    try:
        return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)
    except TypeError as error:
        raise NotCanonical(
            f"a value cannot be written as canonical JSON: {error}. "
            "Text must be valid Unicode (decode bytes with errors='replace') and integers must fit in 64 bits."
        ) from error


def payload_of(event: BaseModel, *, only_set: bool = False) -> bytes:
    """Canonical bytes of an event. `only_set` leaves out fields that the event got from defaults when it was read.

    They are those of `canonical(event.model_dump())` (a test holds the two equal), written by pydantic and ordered by
    orjson wherever that is sure to give the same: only free fields (`Any`) are looked at value by value. Whatever is
    not sure goes the plain way, which also says where a value is that has no canonical form.
    """
    try:
        if not _free_fields(type(event)) or all(_plain(value, "") == value for value in _free_values(event)):
            written = event.__pydantic_serializer__.to_json(event, exclude_unset=only_set, warnings="error")
            ordered = orjson.dumps(orjson.loads(written), option=orjson.OPT_SORT_KEYS)
            # An integer beyond 64 bits comes out of orjson as a float, with an exponent.
            if len(ordered) == len(written) and ordered.count(b"e") == written.count(b"e"):
                return ordered
    except ValueError:  # NotCanonical, and what pydantic cannot write
        pass
    return canonical(event.model_dump(mode="python", exclude_unset=only_set))


def _free_values(event: BaseModel) -> Iterator[Any]:
    """The values of fields that may hold any JSON."""
    for name, free in _free_fields(type(event)):
        value = getattr(event, name)
        if free:
            yield value
        elif value is not None:
            for part in value if isinstance(value, tuple) else (value,):
                yield from _free_values(part)


@cache
def _free_fields(kind: type[BaseModel]) -> tuple[tuple[str, bool], ...]:
    """Names of the fields that are free (True), or hold models that have such fields (False)."""
    found = ((name, _parts(info.annotation)) for name, info in kind.model_fields.items())
    return tuple(
        (name, Any in parts)
        for name, parts in found
        if Any in parts or any(isinstance(p, type) and issubclass(p, BaseModel) and _free_fields(p) for p in parts)
    )


def _parts(annotation: Any) -> set[Any]:
    return {annotation}.union(*(_parts(part) for part in get_args(annotation)))


def _plain(value: Any, place: str) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, float):
        return _number(float(value))
    if kind is list or kind is tuple:
        return [_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if type(key) is not str:
                raise NotCanonical(
                    f"key {key!r} at {place or 'the top'} is a {type(key).__name__}: keys in events must be strings"
                )
        return {key: _plain(item, f"{place}.{key}") for key, item in value.items()}
    raise NotCanonical(
        f"value at {place or 'the top'} is a {kind.__module__}.{kind.__qualname__}: "
        "events hold JSON values only, convert it before recording"
    )


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
