"""Built things by the hash of everything they were made from, so that a change rebuilds what depends on it and
nothing else.

An entry is a directory ``<root>/<kind>/<key>``. It is made in a scratch directory and renamed into place when
complete: a killed build leaves scratch, never half an entry, and two builders of the same entry agree on whichever
came first.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from adapters import scratch

__all__ = ["BuildCache", "digest_of", "digest_tree"]

_SCHEMA = "1"


class BuildCache:
    """The entries under ``root`` (created when missing)."""

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        self._scratch = self.root / "scratch"
        self._scratch.mkdir(parents=True, exist_ok=True)
        scratch.remove_orphans(self._scratch)

    def scratch(self) -> tempfile.TemporaryDirectory[str]:
        """A directory on the cache's own file system that is removed on exit."""
        return tempfile.TemporaryDirectory(prefix=scratch.prefix("build"), dir=self._scratch)

    def find(self, kind: str, key: str) -> Path | None:
        """The directory of an entry, or None."""
        entry = self.root / kind / key
        return entry if entry.is_dir() else None

    def get_or_make(self, kind: str, key: str, make: Callable[[Path], None]) -> tuple[Path, bool]:
        """The entry's directory, and whether it was there already; ``make`` fills an empty directory and raises if it
        cannot.
        """
        found = self.find(kind, key)
        if found:
            return found, True
        target = self.root / kind / key
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=scratch.prefix("entry"), dir=self._scratch))
        try:
            make(fresh)
            try:
                fresh.rename(target)
            except OSError:
                if not target.is_dir():  # somebody else's entry is as good
                    raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return target, False


def digest_of(parts: Iterable[str | bytes]) -> str:
    """A hex sha256 over length-prefixed parts (so that no two lists of parts collide by concatenation)."""
    digest = hashlib.sha256(_SCHEMA.encode())
    for part in parts:
        data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def digest_tree(*roots: Path) -> str:
    """The digest of all files under ``roots``: their relative names and contents."""
    parts: list[str | bytes] = []
    for root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_file():
                parts += [str(path.relative_to(root)), path.read_bytes()]
    return digest_of(parts)
