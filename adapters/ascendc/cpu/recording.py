"""What the device's flight recorder kept of a run, with places in the user's kernel instead of addresses.

One row per output of an instruction, in the order they ran: statistics of the values it left. The record comes from the
candidate's process, so it is read as hostile input, and it never holds an expected value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from adapters.ascendc.cpu.symbolise import Location

__all__ = ["Recorded", "Recording", "read_recording"]


class Places(Protocol):
    def locate_all(self, stacks: list[list[list[str]]], /) -> list[Location | None]: ...


@dataclass(frozen=True, slots=True)
class Recorded:
    """What one instruction wrote to an on-chip memory.

    ``order`` counts the instructions of a launch, ``iteration`` (from 1) those of this place on this core. ``least``,
    ``most`` and ``mean`` are over finite values (None: there are none); ``first`` are the first values in memory.
    ``file`` is relative to the kernel folder; None when the place is not in the candidate's sources.
    """

    launch: int
    kernel: str
    order: int
    api: str
    file: str | None
    line: int | None
    core: int
    iteration: int
    dtype: str
    count: int
    least: float | None
    most: float | None
    mean: float | None
    nans: int
    infinities: int
    first: tuple[float, ...]

    @property
    def finite(self) -> bool:
        return not self.nans and not self.infinities

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "?"


@dataclass(frozen=True, slots=True)
class Recording:
    """The rows that were kept; ``dropped`` others were not, because a place had enough or there was no more room."""

    rows: tuple[Recorded, ...] = ()
    dropped: int = 0

    @property
    def first_not_finite(self) -> Recorded | None:
        """Where a NaN or an infinity is seen first."""
        return next((row for row in self.rows if not row.finite), None)

    def first_difference(self, other: Recording) -> tuple[Recorded | None, Recorded | None] | None:
        """The first instruction that wrote something else here than in ``other`` (both of the same input), by core,
        place and iteration; None on one side where only the other one has it. None when all are the same.
        """
        mine, theirs = _by_instruction(self), _by_instruction(other)
        for key, row in mine.items():
            match = theirs.get(key)
            if match is None or _values(match) != _values(row):
                return row, match
        missing = next((row for key, row in theirs.items() if key not in mine), None)
        return (None, missing) if missing else None


def _by_instruction(recording: Recording) -> dict[tuple[Any, ...], Recorded]:
    found: dict[tuple[Any, ...], Recorded] = {}
    for row in recording.rows:
        key: tuple[Any, ...] = (row.launch, row.core, row.api, row.file, row.line, row.iteration)
        while key in found:  # another output of the same instruction
            key = (*key, "again")
        found[key] = row
    return found


def _values(row: Recorded) -> str:
    """Everything it wrote; as text, so that a NaN is itself."""
    return repr((row.dtype, row.count, row.least, row.most, row.mean, row.nans, row.infinities, row.first))


def read_recording(raw: dict[str, Any] | None, launches: list[dict[str, Any]], places: Places) -> Recording:
    """From what the candidate's process left (its `recording`); malformed rows are dropped."""
    if raw is None:
        return Recording()
    listed = [place if isinstance(place, dict) else {} for place in _list(raw.get("places"))]
    where = places.locate_all([[f for f in _list(place.get("frames")) if isinstance(f, list)] for place in listed])
    rows = tuple(_rows(_list(raw.get("records")), listed, where, launches))
    dropped = raw.get("dropped")
    return Recording(rows, dropped if isinstance(dropped, int) else 0)


def _rows(
    records: list[Any], listed: list[dict[str, Any]], where: list[Location | None], launches: list[dict[str, Any]]
) -> Iterator[Recorded]:
    for record in records:
        try:
            place, launch = int(record["place"]), int(record["launch"])
            at = where[place]
            yield Recorded(
                launch=launch,
                kernel=str(launches[launch].get("kernel", "?"))[:200],
                order=int(record["order"]),
                api=str(listed[place].get("api", "?"))[:100],
                file=at.file if at else None,
                line=at.line if at else None,
                core=int(record["core"]),
                iteration=int(record["iteration"]),
                dtype=str(record["dtype"])[:20],
                count=int(record["count"]),
                least=_number(record["min"]),
                most=_number(record["max"]),
                mean=_number(record["mean"]),
                nans=int(record["nans"]),
                infinities=int(record["infinities"]),
                first=tuple(float(value) for value in record["first"][:8]),
            )
        except (KeyError, IndexError, TypeError, ValueError):
            continue


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
