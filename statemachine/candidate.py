"""A candidate: a content-addressed set of kernel source files, and the arithmetic on such sets (digest, diff).

Paths are POSIX, relative to the task's `kernel/` folder. A candidate holds only what a patch may change (law 2): C++
sources. The wrapper, the reference and the cases belong to the task and never appear here.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import orjson


def digest_bytes(data: bytes) -> str:
    """`sha256:<hex>` of `data`, the only form of digest in the project."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


@dataclass(frozen=True)
class Candidate:
    """Kernel sources by relative path. Two candidates with the same bytes have the same digest."""

    files: Mapping[str, str]

    @cached_property
    def manifest(self) -> bytes:
        """Canonical JSON `{path: sha256 of the file}`; its own digest names the candidate."""
        return orjson.dumps(
            {path: digest_bytes(text.encode()) for path, text in self.files.items()}, option=orjson.OPT_SORT_KEYS
        )

    @cached_property
    def digest(self) -> str:
        return digest_bytes(self.manifest)

    def with_files(self, changes: Mapping[str, str]) -> Candidate:
        """This candidate with `changes` written over it (new or replaced files; nothing is deleted)."""
        return Candidate({**self.files, **changes})

    def diff_from(self, base: Candidate) -> str:
        """Unified diff from `base` to this candidate, paths prefixed with `kernel/`; empty if equal."""
        parts: list[str] = []
        for path in sorted({*self.files, *base.files}):
            old, new = base.files.get(path, ""), self.files.get(path, "")
            if old == new:
                continue
            lines = difflib.unified_diff(
                old.splitlines(), new.splitlines(), f"a/kernel/{path}", f"b/kernel/{path}", lineterm=""
            )
            parts.extend(lines)
        return "\n".join(parts) + "\n" if parts else ""

    def changed_from(self, base: Candidate) -> tuple[str, ...]:
        """Paths whose text differs from `base`, sorted."""
        return tuple(p for p in sorted({*self.files, *base.files}) if self.files.get(p) != base.files.get(p))
