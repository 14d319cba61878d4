"""Old events read as new ones: one function per (type, version), applied until the version is today's.

An upcaster takes the JSON object of version n and returns that of version n + 1; it never sees a model, so the models
may change freely. The stored bytes are not touched: what is hashed stays what was written. How to add one:
docs/events.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from events.errors import EventUndecodable, LogTooNew
from events.types import version_of

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

#: `(event type, version) -> function to version + 1`. Empty while every type is at version 1.
UPCASTERS: dict[tuple[str, int], Upcaster] = {}


def upcast(
    fields: dict[str, Any],
    event_type: str,
    version: int,
    *,
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS,
    current: Callable[[str], int] = version_of,
) -> dict[str, Any]:
    """The object of `event_type` as its current version. Raises LogTooNew or EventUndecodable."""
    target = current(event_type)
    if version > target:
        raise LogTooNew(
            f"a {event_type} of version {version} was written by a newer opmend (this one knows version {target}): "
            "upgrade opmend to read this log"
        )
    for step in range(version, target):
        try:
            upcaster = upcasters[event_type, step]
        except KeyError:
            raise EventUndecodable(
                f"no upcaster from version {step} of {event_type}: the stored version is wrong, "
                "or events/upcast.py lacks an entry"
            ) from None
        fields = upcaster(fields)
    return fields
