"""From addresses in the device's report to lines of the user's kernel.

The device names the frames of a finding as (module path, offset). ``addr2line`` gives each offset its chain of
inlined calls, innermost first; the place to show is the first one, going outwards, that lies in the candidate's own
kernel folder.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from adapters import sandbox
from adapters.ascendc.cpu.build import DEBUG_ROOT

__all__ = ["Location", "Symboliser"]

_KERNEL_ROOT = f"{DEBUG_ROOT}/kernel/"
_LIMITS = sandbox.Limits(wall_seconds=60, memory_bytes=4 << 30, output_bytes=16 << 20)
_ADDRESS = re.compile(r"^0x[0-9a-f]+$")
_PLACE = re.compile(r"^(?P<file>.*):(?P<line>\d+)(?: \(discriminator \d+\))?$")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the user's sources: ``file`` relative to the kernel folder, 1-based ``line``, and the function's
    name.
    """

    file: str
    line: int
    function: str


class Symboliser:
    """Places addresses of one built module; remembers what it has looked up."""

    def __init__(self, so_path: Path) -> None:
        self._so = so_path
        self._known: dict[int, Location | None] = {}
        self._lock = threading.Lock()  # cases run side by side ask the same one

    def locate(self, frames: Iterable[Sequence[str]]) -> Location | None:
        """The innermost place in the candidate's kernel folder of one call stack (innermost frame first), or None."""
        return self.locate_all([list(frames)])[0]

    def locate_all(self, stacks: Sequence[Sequence[Sequence[str]]]) -> list[Location | None]:
        """The same for many stacks, with one run of ``addr2line``. Frames that are malformed or of other modules are
        passed over.

        Raises:
            sandbox.SandboxError: ``addr2line`` is not installed.
        """
        offsets = [[offset for frame in stack if (offset := self._offset(frame)) is not None] for stack in stacks]
        with self._lock:
            unknown = sorted({offset for stack in offsets for offset in stack} - self._known.keys())
            for start in range(0, len(unknown), _BATCH):
                self._look_up(unknown[start : start + _BATCH])
        return [next((place for offset in stack if (place := self._known[offset])), None) for stack in offsets]

    def _offset(self, frame: Sequence[str]) -> int | None:
        if len(frame) != 2 or not all(isinstance(part, str) for part in frame) or Path(frame[0]).name != self._so.name:
            return None
        try:
            offset = int(frame[1], 16)
        except ValueError:
            return None
        return offset if 0 <= offset < 1 << 48 else None

    def _look_up(self, offsets: list[int]) -> None:
        self._known.update(dict.fromkeys(offsets))
        done = sandbox.run(["addr2line", "-e", str(self._so), "-a", "-i", "-f", "-C", *map(hex, offsets)], _LIMITS)
        current, function = -1, ""
        for line in done.stdout.splitlines():
            place = _PLACE.match(line)
            if _ADDRESS.match(line):
                current = int(line, 16)
            elif place is None:
                function = line
            elif place["file"].startswith(_KERNEL_ROOT) and self._known.get(current) is None and current in self._known:
                self._known[current] = Location(place["file"].removeprefix(_KERNEL_ROOT), int(place["line"]), function)
