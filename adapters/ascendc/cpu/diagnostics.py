"""What the compiler said, made short and pointed at the user's own file."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["SourceError", "first_error", "looks_like_a_clash", "shorten", "strip_root"]

_KERNEL = "kernel/"
_ERROR = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<message>.*)$", re.MULTILINE
)
_PLACE = re.compile(r"(?:^|\s)kernel/(?P<file>[^:\n]+):(?P<line>\d+)")
_ROOT = re.compile(r"(?<![\w/.-])kernel/")
_LINKER = re.compile(
    r"(?:ld: |^)(?P<message>.*(?:multiple definition|undefined reference|cannot find).*)$", re.MULTILINE
)
_OTHER = re.compile(r"^.*?(?:fatal )?error: (?P<message>.*)$", re.MULTILINE)
_CLASH = re.compile(
    r"redefinition|redeclar|conflicting|ambiguous|previously d|previous d|multiple definition"
    r"|already (?:been )?d(?:efined|eclared)|different type|differs? in"
)


@dataclass(frozen=True, slots=True)
class SourceError:
    """The first thing wrong: ``file`` relative to the kernel folder and 1-based ``line``, both None where no place is
    to blame.
    """

    file: str | None
    line: int | None
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.file and self.line else f"{self.file}: " if self.file else ""
        return place + self.message


def first_error(log: str) -> SourceError:
    """The first error of a g++ log. An error inside a header of ours is placed where the user's code led to it."""
    match = _ERROR.search(log)
    if match:
        message = match["message"].removeprefix("static assertion failed: ").strip()
        if match["file"].startswith(_KERNEL):
            return SourceError(match["file"].removeprefix(_KERNEL), int(match["line"]), message)
        before = log[: match.start()]
        places = list(_PLACE.finditer(before)) or list(_PLACE.finditer(log))[:1]
        if places:
            return SourceError(places[-1]["file"], int(places[-1]["line"]), message)
        return SourceError(None, None, message)
    for pattern in (_LINKER, _OTHER):
        found = pattern.search(log)
        if found:
            return SourceError(None, None, found["message"].strip())
    return SourceError(
        None, None, log.strip().splitlines()[-1] if log.strip() else "the compiler failed without a message"
    )


def looks_like_a_clash(log: str) -> bool:
    """Whether the errors may come from files that were never meant to be one translation unit."""
    return any(_CLASH.search(line) for line in log.splitlines() if "error:" in line or "multiple definition" in line)


def strip_root(log: str) -> str:
    """The log with the user's files named relative to the kernel folder."""
    return _ROOT.sub("", log)


def shorten(log: str, limit: int = 8000) -> str:
    """At most ``limit`` characters: the head, and the tail, where something had to go."""
    if len(log) <= limit:
        return log
    head = limit * 3 // 4
    return f"{log[:head]}\n[... {len(log) - limit} characters left out ...]\n{log[-(limit - head) :]}"
